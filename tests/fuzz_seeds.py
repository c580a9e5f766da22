"""Inputs for the fuzzers to start from, made from the golden vectors: fuzz_seeds.py FOLDER

A fuzzer that starts from nothing spends its time on finding out what a track name looks like. The
vectors know, those that must be refused too.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "docs" / "reference" / "vectors"
LARGEST = 4096  # What the fuzzers are told to try at most.
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


SEEDS = {
    "cache_track_fuzz": lambda: inputs("track_naming", "wire") + [b";l=0-3", b";l=1-2;h=0-7"],
    "catalog_fuzz": lambda: [data[:-CATALOG_CHECK_BYTES] for data in inputs("catalog", "objects")],
    "golden_file_fuzz": vector_files,
    "json_fuzz": lambda: inputs("canonical", "json") + inputs("model", "config"),
    "kv_file_fuzz": lambda: inputs("kv_file", "file"),
    "model_config_fuzz": lambda: inputs("model", "config"),
    "model_files_fuzz": lambda: [b'{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}'],
    "properties_fuzz": lambda: inputs("properties", "wire", "first_object"),
    "token_list_fuzz": lambda: [b"1 2 3", b"[4, 5,6]\n", b"4294967295 4294967296"],
    "track_name_fuzz": lambda: inputs("track_name", "wire", "rendered"),
}


def main() -> None:
    folder = Path(sys.argv[1])
    for fuzzer, seeds in SEEDS.items():
        (folder / fuzzer).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seed for seed in seeds() if len(seed) <= LARGEST):
            (folder / fuzzer / f"{number:04}").write_bytes(data)


if __name__ == "__main__":
    main()
