"""A signed request to an S3 server, for tests that have to make a bucket or to look into one."""

import datetime
import hashlib
import hmac
import os
import re
import urllib.parse
import urllib.request

ENDPOINT = os.environ.get("KVCAST_S3_ENDPOINT", "")
BUCKET = os.environ.get("KVCAST_S3_BUCKET", "")
ACCESS_KEY = os.environ.get("KVCAST_S3_ACCESS_KEY", "")
SECRET_KEY = os.environ.get("KVCAST_S3_SECRET_KEY", "")
REGION = "us-east-1"


def call(method: str, key: str = "", query: str = "", body: bytes = b"") -> bytes:
    """What the server answers; its refusal is raised."""
    path = "/" + BUCKET + ("/" + urllib.parse.quote(key) if key else "")
    now = datetime.datetime.now(datetime.timezone.utc)
    day, moment = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    host = urllib.parse.urlsplit(ENDPOINT).netloc
    signed = f"host:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{moment}\n"
    names = "host;x-amz-content-sha256;x-amz-date"
    asked = "\n".join([method, path, query, signed, names, digest])
    scope = f"{day}/{REGION}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(asked.encode()).hexdigest()])
    secret = ("AWS4" + SECRET_KEY).encode()
    for word in scope.split("/"):
        secret = hmac.new(secret, word.encode(), hashlib.sha256).digest()
    signature = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
    request = urllib.request.Request(ENDPOINT + path + ("?" + query if query else ""), method=method,
                                     data=body or None, headers={
        "x-amz-content-sha256": digest, "x-amz-date": moment,
        "Authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, "
                         f"SignedHeaders={names}, Signature={signature}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return answer.read()


def keys(prefix: str) -> list[str]:
    """The first thousand."""
    listed = call("GET", query="list-type=2&prefix=" + urllib.parse.quote(prefix, safe=""))
    return re.findall("<Key>([^<]*)</Key>", listed.decode())
