"""Whatever an account answers, an audit ends soon, without a traceback, and passes nothing that did not pass before.

The answers about a small estate are recorded from the emulator. First each member of each answer is dropped, nulled and
retyped, once each; then several at once, and with other values of the same type, as text that steers a terminal. What
fails is told with its number: the same seed and number make the same answers again.

    python -m benchmarks.fuzz_answers --seconds 60 --seed 1
    python -m benchmarks.fuzz_answers --seed 1 --only 1234      (one again)
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/library")]

from recorded import ODD, Judge, Oddity, members, oddities  # noqa: E402

SECONDS = 10.0  # of CPU, for one audit and all of its formats
FAILURES = 10  # after which it stops


def several(every: Sequence[Oddity], chosen: random.Random) -> list[Oddity]:
    """Some oddities of any kind; "changed" ones may be good answers, of another account."""
    found = []
    for one in chosen.sample(every, chosen.choice([1, 2, 2, 4, 8])):
        how = chosen.choice(["dropped", "nulled", "retyped", "changed"])
        found.append(Oddity(one.asked, one.path, how, None if how == "nulled" else chosen.choice(ODD)))
    return found


def why(judge: Judge, odd: Sequence[Oddity]) -> str:
    """What is wrong with the audit of these answers."""
    began = time.process_time()
    try:
        new = judge.judge(*odd, written=True)
    except Exception:
        return traceback.format_exc(limit=-12)
    if new and all(o.how != "changed" for o in odd):
        return f"passes now: {sorted(map(str, new))[:5]}"
    took = time.process_time() - began
    return f"took {took:.1f} s" if took > SECONDS else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Make recorded answers odd, and audit what they say.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one input, to see it again")
    arguments = parser.parse_args()
    judge, singles = Judge(), list(oddities(arguments.seed))
    every = [Oddity(asked, path, "changed") for asked, path, _ in members()]
    order = random.Random(arguments.seed).sample(range(len(singles)), len(singles))
    until, failed, done, refused = time.monotonic() + arguments.seconds, 0, 0, 0
    for number in itertools.count() if arguments.only is None else [arguments.only]:
        if failed >= FAILURES or (arguments.only is None and time.monotonic() > until):
            break
        done += 1
        if number < len(order):
            odd = [singles[order[number]]]
            if not judge.gets_through(odd[0]) and number % 20:
                refused += 1  # all of an operation say the same: it is unknown
                continue
        else:
            odd = several(every, random.Random(f"{arguments.seed}/{number}"))
        if wrong := why(judge, odd):
            failed += 1
            print(f"--- answers {number}: {'; '.join(map(str, odd))}\n{wrong}", flush=True)
    print(f"seed {arguments.seed}: {done} odd answers, {refused} refused, {len(singles)} single ones; {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
