"""Inputs for the fuzzers to start from, made from the golden vectors: fuzz_seeds.py FOLDER

A fuzzer that starts from nothing spends its time on finding out what a track name looks like. The
vectors know, those that must be refused too.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "docs" / "reference" / "vectors"
LARGEST = 65536  # What any fuzzer is told to try at most.
CATALOG_CHECK_BYTES = 8  # The catalog fuzzer mends the check itself.


def inputs(topic: str, *members: str) -> list[bytes]:
    """The values of these members of the cases' inputs, as bytes: hex is decoded, text encoded."""
    found = []
    for case in json.loads((VECTORS / f"{topic}.json").read_text())["cases"]:
        for member in members:
            values = case["in"].get(member, [])
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, str):
                    text = member in ("config", "json", "rendered")
                    found.append(value.encode() if text else bytes.fromhex(value))
    return found


def vector_files() -> list[bytes]:
    """Small files of vectors: the first case of each, and the first that is refused."""
    found = []
    for path in sorted(VECTORS.glob("*.json")):
        file = json.loads(path.read_text())
        refused = [case for case in file["cases"] if "error" in case]
        file["cases"] = file["cases"][:1] + refused[:1]
        found.append(json.dumps(file).encode())
    return found


def catalog_objects() -> list[bytes]:
    """Objects without their check, and those of an epoch as one, which comes to the same."""
    count_at, records_at = 16, 20
    found = []
    for case in json.loads((VECTORS / "catalog.json").read_text())["cases"]:
        objects = [bytes.fromhex(each)[:-CATALOG_CHECK_BYTES] for each in case["in"].get("objects", [])]
        found += objects
        whole = [each for each in objects if len(each) >= records_at]
        if len(whole) > 1:
            count = sum(int.from_bytes(each[count_at:records_at], "little") for each in whole)
            found.append(whole[0][:8] + bytes([0, 0, 0, 0, 1, 0, 0, 0]) + (count % 2**32).to_bytes(4, "little")
                         + b"".join(each[records_at:] for each in whole))
    return found


# By how moqt's fuzzers choose a place from their second byte, and what parameters stand in from
# their first.
REQUESTS = ("SUBSCRIBE", "PUBLISH", "FETCH", "TRACK_STATUS", "PUBLISH_NAMESPACE",
            "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS")
PLACES = {
    "SETUP": 14, "GOAWAY on the control stream": 14, "GOAWAY on a request": 0, "PUBLISH_OK": 2,
    "REQUEST_UPDATE_OK": 128 + 16, "TRACK_STATUS_OK": 6, "SUBSCRIBE_NAMESPACE_OK": 10,
    "SUBSCRIBE_TRACKS_OK": 12, "PUBLISH_NAMESPACE_OK": 8, "REQUEST_ERROR": 4, "SUBSCRIBE_OK": 0,
    "REQUEST_UPDATE of a subscription": 0, "REQUEST_UPDATE of a fetch": 4,
    "REQUEST_UPDATE of a prefix": 12, "PUBLISH_DONE": 2, "FETCH_OK": 4, "NAMESPACE": 10,
    "NAMESPACE_DONE": 10, "PUBLISH_BLOCKED": 12,
}
PARAMETERS_AFTER = {
    "SETUP": (0, 0), "SUBSCRIBE": (1, 15), "TRACK_STATUS": (2, 15), "PUBLISH": (3, 17),
    "PUBLISH_NAMESPACE": (5, 15), "SUBSCRIBE_NAMESPACE": (6, 15), "SUBSCRIBE_TRACKS": (7, 15),
    "SUBSCRIBE_OK": (8, 1), "FETCH_OK": (9, 3), "PUBLISH_OK": (10, 0), "TRACK_STATUS_OK": (11, 0),
    "REQUEST_UPDATE_OK": (12, 0), "REQUEST_UPDATE of a subscription": (13, 1),
    "REQUEST_UPDATE of a fetch": (14, 1), "REQUEST_UPDATE of a prefix": (15, 1),
}


def moqt(topic: str) -> list[tuple[dict, bytes]]:
    """Cases of a topic of MoQT's, and the bytes that each has on the wire."""
    cases = json.loads((VECTORS / f"{topic}.json").read_text())["cases"]
    return [
        (case["in"], bytes.fromhex(case["in"].get("read") or case["out"]["wire"]))
        for case in cases
        if "write" in case["in"] or case["in"]["read"]
    ]


def named(given: dict) -> str:
    return given["write"]["message"] if "write" in given else given["as"]


def messages() -> list[bytes]:
    found = []
    for given, wire in moqt("moqt_message"):
        first = named(given) in REQUESTS
        found.append(bytes([0, 16 if first else PLACES[named(given)]]) + wire)
    return found + [bytes([3, 0]) + wire for _, wire in moqt("moqt_datagram")]


def parameters() -> list[bytes]:
    found = []
    for given, wire in moqt("moqt_message"):
        if named(given) in PARAMETERS_AFTER:
            which, skip = PARAMETERS_AFTER[named(given)]
            head = 4 if named(given) == "SETUP" else 3
            found.append(bytes([which]) + wire[head + skip :])
    return found


def streams() -> list[bytes]:
    """Subgroups whole, fetches without their header."""
    found = []
    for given, wire in moqt("moqt_stream"):
        order = given.get("write", given).get("order")
        header = 0 if order is None else 2 if wire[1:2] < b"\x80" else 10
        found.append(bytes([2, 0 if order is None else 127 + order]) + wire[header:])
    return found


def disk_pieces() -> list[bytes]:
    """Blocks, bodies of records and of a footer; the first byte says which."""
    found = []
    for case in json.loads((VECTORS / "disk.json").read_text())["cases"]:
        for _, piece in case["in"].get("read", []) or case["out"]["parts"]:
            data = bytes.fromhex(piece)
            found += [bytes([0]) + data, bytes([2]) + data, bytes([3]) + data]
    return found + [bytes([1, kind]) + bytes(range(40)) for kind in range(4)]


def pack_pieces() -> list[bytes]:
    """Keys, trailers and indexes; the first byte says which."""
    found = []
    for case in json.loads((VECTORS / "bucket.json").read_text())["cases"]:
        key = case["in"].get("key") or case["out"]["key"]
        found.append(bytes([0]) + key.replace("kvcast/", "kv/").encode())
        for _, piece in case["in"].get("read", []) or case.get("out", {}).get("parts", []):
            data = bytes.fromhex(piece)
            found += [bytes([1]) + data[-64:-4], bytes([2]) + data[:-64]]
    return found


def catalog_names() -> list[bytes]:
    """Of a catalog, of what was forgotten, and how a node says who it is."""
    def name(*fields: bytes) -> bytes:
        return b"".join(bytes([len(field)]) + field for field in fields)
    scope = (b"moq://kvcache.moq.arpa/v1/", b"public/a@0123456789abcdef")
    return [bytes([4]) + name(*scope, b"catalog", bytes(range(32)), b"v1"),
            bytes([4]) + name(scope[0], b"public", b"catalog", bytes(range(32)), b"forgotten"),
            b"kvcast 0.1 node/" + b"0f" * 16]


CODEC_RUNGS = ("BF16", "FP8", "Int8", "FP4", "Int4", "FP16", "BF16-lossless", "FP16-lossless")


def coded_objects() -> list[bytes]:
    """Bodies of objects, for the fuzzer to write a header before; the first byte says which rung."""
    found = []
    for case in json.loads((VECTORS / "codec.json").read_text())["cases"]:
        rung = case["name"].replace(":", " ").split()[0]
        data = bytes.fromhex(case["in"].get("object", ""))
        if rung in CODEC_RUNGS and data:
            found.append(bytes([CODEC_RUNGS.index(rung)]) + data[8:])
    return found


SEEDS = {
    "acknowledgement_fuzz": lambda: inputs("durability", "properties", "object"),
    "cache_track_fuzz": lambda: inputs("track_naming", "wire") + [b";l=0-3", b";l=1-2;h=0-7"],
    "calibration_fuzz": lambda: [data[:-32] for data in inputs("coded_file", "calibration")],
    "catalog_fuzz": catalog_objects,
    "catalog_track_fuzz": catalog_names,
    "codec_fuzz": coded_objects,
    "control_fuzz": messages,
    "data_stream_fuzz": streams,
    "disk_format_fuzz": disk_pieces,
    "forget_list_fuzz": lambda: [data[:-8] for data in inputs("forgotten", "object")],
    "golden_file_fuzz": vector_files,
    "json_fuzz": lambda: inputs("canonical", "json") + inputs("model", "config"),
    "kv_file_fuzz": lambda: inputs("kv_file", "file"),
    "kvc_file_fuzz": lambda: inputs("coded_file", "kvc"),
    "model_config_fuzz": lambda: inputs("model", "config"),
    "model_files_fuzz": lambda: [b'{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}'],
    "node_files_fuzz": lambda: [
        b'{"token": "a", "sha256": "' + b"0f" * 32 + b'", "tenants": ["a"], "may": ["publish"], "expires": "2031-05-04T03:02:01Z"}\n',
        b'{"certificate": "CN=a", "tenants": ["*"], "may": ["fetch"]}\n', b'{"hash_ids": [1, 2, "c"]}\n{"hash_ids": [1]}\n',
        b"30d", b"90min"],
    "pack_format_fuzz": pack_pieces,
    "parameters_fuzz": parameters,
    "properties_fuzz": lambda: inputs("properties", "wire", "first_object"),
    "s3_credentials_fuzz": lambda: [
        b"[default]\naws_access_key_id = a\naws_secret_access_key=b\n", b"[a]\n# c\naws_session_token=d\n"],
    "token_list_fuzz": lambda: [b"1 2 3", b"[4, 5,6]\n", b"4294967295 4294967296"],
    "track_format_fuzz": lambda: inputs("codec", "format"),
    "track_name_fuzz": lambda: inputs("track_name", "wire", "rendered"),
    "value_piece_fuzz": lambda: inputs("value", "piece"),
}


def main() -> None:
    folder = Path(sys.argv[1])
    for fuzzer, seeds in SEEDS.items():
        (folder / fuzzer).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seed for seed in seeds() if len(seed) <= LARGEST):
            (folder / fuzzer / f"{number:04}").write_bytes(data)


if __name__ == "__main__":
    main()
