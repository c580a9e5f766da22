#!/usr/bin/env python3
"""A test client that somebody else wrote, against our node: test_client.py KVCAST CLIENT [OPTION...]

CLIENT is a program with the interface of moq-interop-runner's test clients, such as moq5's moq-interop-client or imquic's
imquic-moq-interop-test. Every case runs against a node of its own. Without a client it says that it is skipped. Not part of the
suite, as it needs what is not in this repository.
"""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "road"))

from node_process import Node  # noqa: E402

PATIENCE_S = 60
TRIES = 3
CASES = ["setup-only", "announce-only", "publish-namespace-done", "subscribe-error",
         "announce-subscribe", "subscribe-before-announce"]


def passes(kvcast: str, client: list[str], case: str) -> tuple[bool, str]:
    with Node(kvcast) as node:
        port = node.address.split("#")[0].rsplit(":", 1)[1]
        try:
            ran = subprocess.run(
                [*client, "--relay", f"moqt://localhost:{port}", "--test", case,
                 "--tls-disable-verify"],
                capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            return False, "(no end)"
        # A client may name the steps of a test where only one is run, so names say nothing.
        ok = re.search(r"^ok \d+(?!.*# SKIP)", ran.stdout, re.MULTILINE)
        return (ran.returncode == 0 and bool(ok) and "not ok" not in ran.stdout,
                ran.stdout + ran.stderr)


def main() -> int:
    if len(sys.argv) < 3 or not Path(sys.argv[2]).exists():
        print("skipped: no built test client was named (test_client.py KVCAST CLIENT)")
        return 0
    kvcast, client = str(Path(sys.argv[1]).resolve()), [str(Path(sys.argv[2]).resolve()), *sys.argv[3:]]
    failed = 0
    for case in CASES:
        for attempt in range(1, TRIES + 1):
            passed, said = passes(kvcast, client, case)
            if passed:
                break
        print(f"{'passed' if passed else 'FAILED'}  {case}" +
              (f"  (attempt {attempt})" if attempt > 1 and passed else ""))
        if not passed:
            failed += 1
            print("\n".join("    " + line for line in said.splitlines()[-30:]))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
