"""Recomputes every golden vector in vectors/ with the Python implementation beside this file.

    python3 check_vectors.py

Exits with 1 and names the cases that differ. vectors/README.md tells what the members mean; the
functions below are that meaning in code, one per topic: each turns a case's `in` into its `out`.
"""

import json
import sys
from pathlib import Path

import kvcast_bucket
import kvcast_catalog as catalog
import kvcast_codec
import kvcast_coded_file
import kvcast_disk
import kvcast_durability
import kvcast_forgotten
import kvcast_kv_file as kv_file
import kvcast_model as model
import kvcast_model_files as model_files
import kvcast_moqt as moqt
import kvcast_moqt_streams as moqt_streams
import kvcast_names as names
import kvcast_value
import kvcast_views as view
from kvcast_canonical import canonical, read_json
from kvcast_names import Refused

FOLDER = Path(__file__).resolve().parent / "vectors"
FORMAT = "kvcast-vectors/1"


def vi64(given: dict) -> dict:
    if "value" in given:
        return {"bytes": names.vi64(given["value"]).hex()}
    reader = names.Reader(bytes.fromhex(given["bytes"]))
    return {"value": reader.vi64(), "used": reader.at}


def track_name_of(given: dict) -> names.TrackName:
    """A name is given in one of three forms."""
    if "wire" in given:
        return names.track_name_from_wire(bytes.fromhex(given["wire"]))
    if "rendered" in given:
        return names.track_name_from_rendered(given["rendered"])
    fields = tuple(map(bytes.fromhex, given["fields"]))
    return names.TrackName(fields, bytes.fromhex(given["name"]))


def track_name(given: dict) -> dict:
    name = track_name_of(given)
    return {
        "fields": [field.hex() for field in name.fields],
        "name": name.name.hex(),
        "rendered": name.rendered(),
        "wire": name.wire().hex(),
    }


def properties(given: dict) -> dict:
    if "block_hash" in given:
        return {"wire": names.block_hash_properties(bytes.fromhex(given["block_hash"])).hex()}
    if "first_object" in given:
        return {"block_hash": names.block_hash_of(bytes.fromhex(given["first_object"])).hex()}
    if "properties" in given:
        listed = [
            (item["type"], bytes.fromhex(item["bytes"]) if "bytes" in item else item["value"])
            for item in given["properties"]
        ]
        return {"wire": names.write_properties(listed).hex()}
    return {
        "properties": [
            {"type": kind, "bytes": value.hex()}
            if isinstance(value, bytes)
            else {"type": kind, "value": value}
            for kind, value in names.read_properties(bytes.fromhex(given["wire"]))
        ]
    }


def canonical_value(given: dict) -> dict:
    return {"value": canonical(read_json(given["json"])).hex()}


def file_digest(given: dict) -> dict:
    folder = {name: content.encode("utf-8") for name, content in given["files"].items()}
    select = {
        "weights": lambda files: model_files.weight_files(files, given.get("adapter", False)),
        "tokenizer": model_files.tokenizer_files,
        "adapter": model_files.adapter_files,
    }
    return {"digest": model_files.files_digest(folder, select[given["use"]](folder)).hex()}


def model_description(given: dict) -> dict:
    config = read_json(given["config"])
    description = model.describe(
        config,
        bytes.fromhex(given["weights"]),
        bytes.fromhex(given["tokenizer"]),
        None if given["adapter"] is None else bytes.fromhex(given["adapter"]),
        given["kv_dtype"],
        given["block_tokens"],
    )
    return {
        "groups": [
            {
                "attention": group.kind.attention,
                "layers": group.layers,
                "kv_heads": group.kind.kv_heads,
                "key_size": group.kind.key_size,
                "value_size": group.kind.value_size,
                "rotary_size": group.kind.rotary_size,
                "window_kind": group.kind.window_kind,
                "window": group.kind.window,
                "rope": group.kind.rope.hex(),
            }
            for group in model.layer_groups(config)
        ],
        "config_digest": model.config_digest(config).hex(),
        "description": description.hex(),
        "model_fp": model.sha256(description).hex(),
    }


def prefix_chain(given: dict) -> dict:
    if given.get("tenant", names.PUBLIC) != names.PUBLIC:
        raise Refused("only the public tenant's key is known")
    key = bytes.fromhex(given["key"]) if "key" in given else names.PUBLIC_KEY
    chain = names.PrefixChain(
        key, bytes.fromhex(given["model_fp"]), bytes.fromhex(given["salt"])
    )
    root = chain.last
    if "hashes" in given:
        blocks = [chain.add_hash(bytes.fromhex(item)) for item in given["hashes"]]
    else:
        inputs = [
            (item["position"], bytes.fromhex(item["digest"])) for item in given["inputs"]
        ]
        blocks = names.prompt_blocks(chain, given["block_tokens"], given["tokens"], inputs)
    return {"root": root.hex(), "blocks": [block.hex() for block in blocks]}


def track_naming(given: dict) -> dict:
    if "tenant" in given:
        fingerprint = names.exactly(32, bytes.fromhex(given["model_fp"]), "a fingerprint")
        track = names.Track(
            given["tenant"],
            given["model_name"],
            fingerprint[:8],
            bytes.fromhex(given["prefix"]),
            bytes.fromhex(given["generation"]),
            given["rung"],
            tuple(given["layers"]) if given["layers"] is not None else None,
            tuple(given["heads"]) if given["heads"] is not None else None,
        )
        if names.parse_track(track.name()) != track:
            raise AssertionError("a track does not survive its name")
        return track_name({"wire": track.name().wire().hex()})
    track = names.parse_track(track_name_of(given))
    return {
        "tenant": track.tenant,
        "model_name": track.model_name,
        "model_tag": track.model_tag.hex(),
        "prefix": track.prefix.hex(),
        "generation": track.generation.hex(),
        "rung": track.rung,
        "layers": list(track.layers) if track.layers is not None else None,
        "heads": list(track.heads) if track.heads is not None else None,
    }


def record_of(item: dict) -> catalog.Record:
    op, id = item["op"], item["id"]
    if op == "track":
        return catalog.Define(id, names.track_name_from_rendered(item["name"]))
    if op == "add":
        return catalog.Add(id, item["group"], item["bytes"], bytes.fromhex(item["key"]))
    return catalog.Remove(id, item["group"]) if op == "remove" else catalog.Drop(id)


def record_members(record: catalog.Record) -> dict:
    if isinstance(record, catalog.Define):
        return {"op": "track", "id": record.id, "name": record.name.rendered()}
    if isinstance(record, catalog.Add):
        return {"op": "add", "id": record.id, "group": record.group, "bytes": record.bytes,
                "key": record.key.hex()}
    if isinstance(record, catalog.Remove):
        return {"op": "remove", "id": record.id, "group": record.group}
    return {"op": "drop", "id": record.id}


def catalogs(given: dict) -> dict:
    if "objects" in given:
        return holdings(given)
    if "a" in given:
        merged = catalog.merge(*([record_of(item) for item in given[side]] for side in "ab"))
        return {"merged": [record_members(record) for record in merged]}
    if "kind" in given:
        kind = {"snapshot": catalog.SNAPSHOT, "delta": catalog.DELTA}[given["kind"]]
        records = tuple(record_of(item) for item in given["records"])
        made = catalog.CatalogObject(kind, given["part"], given["parts"], records)
        data = made.encode()
        if catalog.decode(data) != made:
            raise AssertionError("an object does not survive its bytes")
        return {"object": data.hex()}
    if "tenant" in given:
        fingerprint = names.exactly(32, bytes.fromhex(given["model_fp"]), "a fingerprint")
        node, boot = bytes.fromhex(given["node"]), bytes.fromhex(given["boot"])
        made = catalog.catalog_track(
            given["tenant"], given["model_name"], fingerprint[:8], node, boot
        )
        return track_name({"wire": made.wire().hex()})
    tenant, model_name, *rest = catalog.parse_catalog_track(track_name_of(given))
    tag, node, boot = (value.hex() for value in rest)
    return {
        "tenant": tenant, "model_name": model_name, "model_tag": tag, "node": node, "boot": boot
    }


def holdings(given: dict) -> dict:
    room = {name: given[name] for name in ("max_tracks", "max_blocks") if name in given}
    held = catalog.Holdings(**room)
    for index, data in enumerate(given["objects"]):
        try:
            held.apply(index, bytes.fromhex(data))
        except Refused as refusal:
            refusal.where = {"at": index}
            raise
    return {
        "holdings": [
            {"track": name.rendered(), "group": group, "bytes": size, "key": key.hex()}
            for name, group, size, key in held.listed()
        ]
    }


def kv_files(given: dict) -> dict:
    if "file" in given:
        read = kv_file.read(bytes.fromhex(given["file"]))
        return {
            "tokens": read.tokens,
            "dtype": read.dtype,
            "layers": [vars(layer) for layer in read.layers],
        }
    members = ("kind", "kv_heads", "key_size", "value_size")
    made = kv_file.KvFile(
        given["dtype"],
        given["tokens"],
        [kv_file.Layer(*(layer[name] for name in members)) for layer in given["layers"]],
        [
            {end: bytes.fromhex(layer[end]) for end in ("k", "v", "kv") if end in layer}
            for layer in given["layers"]
        ],
        given["metadata"],
    )
    content = kv_file.write(made)
    if kv_file.read(content) != made:
        raise AssertionError("a file does not survive its bytes")
    return {"file": content.hex()}


def views(given: dict) -> dict:
    members = ("kv_heads", "key_size", "value_size")
    formed = view.PageFormat(
        *(given[name] for name in ("order", "placement", "page_tokens", "value_bytes"))
    )
    seen = view.BlockView(
        [view.LayerShape(*(layer[name] for name in members)) for layer in given["layers"]],
        formed,
        *(given[name] for name in ("pages", "table", "first_token", "tokens")),
        *(given["slice"][name] for name in ("layers", "heads")),
    )
    return seen.row(*(given[name] for name in ("token", "layer", "plane", "head")))


def index(given: dict) -> dict:
    members = ("node", "track", "group", "key", "bytes")
    known = view.Index()
    for source in given["sources"]:
        known.add(*(source[name] for name in members))
    for removed in given["removed"]:
        known.remove(*(removed[name] for name in members[:3] if name in removed))
    return known.longest_match(given["prompt"])


def moqt_message(given: dict) -> dict:
    if "write" in given:
        made = moqt.write_message(given["write"])
        if moqt.read_message(made, given["write"]["message"], "client") != given["write"]:
            raise AssertionError("a message does not survive its bytes")
        return {"wire": made.hex()}
    wire = bytes.fromhex(given["read"])
    return {"message": moqt.read_message(wire, given["as"], given["sender"])}


def moqt_stream(given: dict) -> dict:
    if "write" in given:
        made = moqt_streams.write_stream(given["write"])
        if moqt_streams.read_stream(made, given["write"].get("order")) != given["write"]:
            raise AssertionError("a stream does not survive its bytes")
        return {"wire": made.hex()}
    return {"stream": moqt_streams.read_stream(bytes.fromhex(given["read"]), given.get("order"))}


def moqt_datagram(given: dict) -> dict:
    if "write" in given:
        made = moqt_streams.write_datagram(given["write"])
        if moqt_streams.read_datagram(made) != given["write"]:
            raise AssertionError("a datagram does not survive its bytes")
        return {"wire": made.hex()}
    return {"datagram": moqt_streams.read_datagram(bytes.fromhex(given["read"]))}


TOPICS = {
    "vi64": vi64,
    "track_name": track_name,
    "properties": properties,
    "canonical": canonical_value,
    "file_digest": file_digest,
    "model": model_description,
    "prefix_chain": prefix_chain,
    "track_naming": track_naming,
    "catalog": catalogs,
    "kv_file": kv_files,
    "bucket": kvcast_bucket.bucket,
    "disk": kvcast_disk.disk,
    "durability": kvcast_durability.durability,
    "forgotten": kvcast_forgotten.forgotten,
    "codec": kvcast_codec.codec,
    "coded_file": kvcast_coded_file.coded_file,
    "bands": kvcast_coded_file.band_object,
    "value": kvcast_value.value,
    "views": views,
    "index": index,
    "moqt_message": moqt_message,
    "moqt_stream": moqt_stream,
    "moqt_datagram": moqt_datagram,
}


def outcome(topic: str, given: dict) -> dict:
    """What a case says besides its name and `in`."""
    try:
        return {"out": TOPICS[topic](given)}
    except Refused as refusal:
        return {"error": True, **getattr(refusal, "where", {})}


def differing(topic: str) -> tuple[int, list[str]]:
    """How many cases a topic has, and the names of those that differ."""
    document = json.loads((FOLDER / f"{topic}.json").read_text(encoding="utf-8"))
    if document["format"] != FORMAT or document["topic"] != topic:
        return 0, ["(the file's head)"]
    cases = document["cases"]
    if len({case["name"] for case in cases}) != len(cases):
        return 0, ["(two cases have one name)"]
    if not cases:
        return 0, ["(there are no cases)"]
    bad = [
        case["name"]
        for case in cases
        if {"name": case["name"], "in": case["in"], **outcome(topic, case["in"])} != case
    ]
    return len(cases), bad


def main() -> int:
    stray = {path.stem for path in FOLDER.glob("*.json")} ^ set(TOPICS)
    if stray:
        print(f"vector files and topics do not match: {sorted(stray)}")
        return 1
    failures = 0
    for topic in TOPICS:
        count, bad = differing(topic)
        print(f"{topic}: {count} cases, {len(bad)} differ")
        for name in bad:
            print(f"  DIFFERS {topic}: {name}")
        failures += len(bad)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
