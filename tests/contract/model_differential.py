"""Asks both implementations of the contract for the fingerprints of mutated configs.

    model_differential.py --oracle PROGRAM [--configs N] [--seed SEED]

The golden vectors hold what somebody thought of; this finds what nobody did. The oracle is the
C++ implementation as a program (model_oracle.cc), the other one is docs/reference in Python.
"""

import argparse
import hashlib
import secrets
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/reference"))

import kvcast_model as model  # noqa: E402
from config_mutations import Mutator  # noqa: E402
from kvcast_canonical import read_json  # noqa: E402
from kvcast_names import Refused  # noqa: E402

AT_A_TIME = 2000
SHOWN = 10
NO_DIGEST = bytes(32)


def dtype_of(config: dict) -> str:
    try:
        return model.usual_kv_dtype(config)
    except Refused:
        return "to be told"


def python_answer(config: bytes) -> str:
    try:
        read = read_json(config)
        description = model.describe(read, NO_DIGEST, NO_DIGEST, None, "bf16", 128)
        return f"{hashlib.sha256(description).hexdigest()} {dtype_of(read)}"
    except Refused:
        return "refused"
    except Exception as error:  # Neither an answer nor a refusal: a difference in any case.
        return f"{type(error).__name__}: {error}"


def oracle_answers(oracle: str, configs: list[bytes]) -> list[str]:
    asked = "".join(config.hex() + "\n" for config in configs)
    ran = subprocess.run([oracle], input=asked, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--configs", type=int, default=AT_A_TIME)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = secrets.randbits(32) if asked.seed is None else asked.seed
    mutator = Mutator(seed)
    accepted = differing = 0
    for begun in range(0, asked.configs, AT_A_TIME):
        configs = [mutator.config() for _ in range(min(AT_A_TIME, asked.configs - begun))]
        answers = oracle_answers(asked.oracle, configs)
        if len(answers) != len(configs):
            raise SystemExit(f"seed {seed}: {len(configs)} configs, {len(answers)} answers")
        for config, cpp in zip(configs, answers):
            python = python_answer(config)
            accepted += python != "refused"
            if cpp != python:
                differing += 1
                if differing <= SHOWN:
                    print(f"{config!r}\n  C++:    {cpp}\n  Python: {python}")
    print(f"seed {seed}: {asked.configs} configs, {accepted} accepted, {differing} differ")
    if accepted * 10 < asked.configs:
        print("So few are accepted that the mutations no longer try anything.")
        return 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
