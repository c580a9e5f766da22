"""Writes vectors/*.json from the case definitions in cases/.

    python3 make_vectors.py

A definition is (name, in) for a case that has a result and (name, in, REFUSED) for one that has
none; a definition whose outcome is the other is a mistake, and nothing is written.
"""

import json
import sys

import check_vectors
from cases import REFUSED, all_cases


def make(topic: str, definitions: list[tuple]) -> str:
    cases = []
    for name, given, *expected in definitions:
        result = check_vectors.outcome(topic, given)
        if ("error" in result) != (expected == [REFUSED]):
            raise SystemExit(f"{topic}: {name}: unexpected outcome {result}")
        cases.append(json.dumps({"name": name, "in": given, **result}))
    head = f'{{"format": "{check_vectors.FORMAT}", "topic": "{topic}", "cases": [\n'
    return head + ",\n".join(cases) + "\n]}\n"


def main() -> int:
    if sys.argv[1:]:
        print(f"{sys.argv[0]} takes no arguments: it writes the vectors anew.", file=sys.stderr)
        return 2
    texts = {topic: make(topic, definitions) for topic, definitions in all_cases().items()}
    for topic, text in texts.items():
        (check_vectors.FOLDER / f"{topic}.json").write_text(text, encoding="utf-8")
        print(f"{topic}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
