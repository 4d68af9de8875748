"""The longer job, `make fuzz`: the same bodies as the tests, guided by coverage (atheris) for as long as one wants; not part of the gate.

python tests/fuzz/job.py -max_total_time=300        libFuzzer's options; a failing input is written to a file, and is an argument to see it again
python tests/fuzz/job.py --seeds 20000 [--from N]   without atheris: numbered bodies; the number of a failing one is printed
"""

from __future__ import annotations

import importlib
import random
import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

OURS = ["headwater", "headwater_providers", "headwater_codecs"]
with nullcontext() if "--seeds" in sys.argv else importlib.import_module("atheris").instrument_imports(include=OURS):
    from fuzz.checks import check_body
    from fuzz.mutations import PROTOCOLS, bodies, mutated

    for name in PROTOCOLS:  # what is imported only when it is used
        for body in bodies(name)[:20]:
            check_body(name, body.data, body.content_type, body.options, random.Random(0))


def one_input(data: bytes) -> None:
    """The first byte is the protocol, the second how the body is made: by a seed from a fixture, or the bytes themselves."""
    if len(data) < 3:
        return
    protocol = PROTOCOLS[data[0] % len(PROTOCOLS)]
    random_ = random.Random(data[2:])
    if data[1] % 2:
        fixture, body = mutated(protocol, random_)
    else:
        fixture, body = random_.choice(bodies(protocol)), data[2:]
    check_body(protocol, body, fixture.content_type, fixture.options, random_)


def numbered(count: int, first: int) -> int:
    """Bodies by number for every protocol; the number of those that failed."""
    failed = 0
    for number in range(first, first + count):
        for protocol in PROTOCOLS:
            random_ = random.Random(number)
            fixture, body = mutated(protocol, random_)
            try:
                check_body(protocol, body, fixture.content_type, fixture.options, random_)
            except Exception as error:
                failed += 1
                print(f"{protocol} {number} ({fixture.name}): {type(error).__name__}: {str(error)[:200]}")
    return failed


def main(arguments: list[str]) -> int:
    """Run one of the two."""
    if "--seeds" in arguments:
        first = int(arguments[arguments.index("--from") + 1]) if "--from" in arguments else 0
        return 1 if numbered(int(arguments[arguments.index("--seeds") + 1]), first) else 0
    atheris = importlib.import_module("atheris")
    atheris.Setup([sys.argv[0], *arguments], one_input)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
