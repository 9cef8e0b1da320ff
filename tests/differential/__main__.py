"""Comparison of a real Kafka with kohort: both get the same random sequences of requests.

    python -m tests.differential                                   # 200 sequences of each kind
    python -m tests.differential --kind log --sequences 10000 --seed 7

A difference is played again to be sure, made as short as it can be, and written down as a conversation with Kafka's
answers, which `tests/talk` can play. Intended differences are in tests/differential/known.py. In the end each
other one is played five times alone; exit status 1 when one differs then. Without Java, Maven or
../shared nothing is played.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
from pathlib import Path

from kohort.protocol.releases import CURRENT
from tests.differential.brokers import kohort, real_kafka, warm_up, why_not
from tests.differential.kinds import KINDS
from tests.differential.running import Run
from tests.differential.stage import Brokers


def main() -> None:
    """Compare the brokers, and exit with 1 if there is a new difference; 0 also without a Kafka to compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder that has `conformance`")
    parser.add_argument("--sequences", type=int, default=200, help="of each kind; 200 unless said")
    parser.add_argument("--seed", type=int, help="of the first sequence; made up unless said")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only these; may be repeated")
    parser.add_argument("--at-a-time", type=int, default=24, help="sequences of a kind played together; 24 unless said")
    parser.add_argument("--write", type=Path, default=Path("build/differential"), help="where conversations go")
    parser.add_argument(
        "--kafka",
        metavar="HOST:PORT",
        help="a Kafka of that release that runs already, with the settings of tests/differential/brokers.py",
    )
    parser.add_argument("--release", default=CURRENT, choices=("4.3", "4.4"), help="of Kafka; 4.4 unless said")
    parser.add_argument("--kohort", metavar="HOST:PORT", help="address of a running kohort")
    options = parser.parse_args()
    script: Path = options.shared / "conformance" / "kafka"
    reason = None if options.kafka else why_not(script)
    if reason:
        print(f"nothing is compared: {reason}")
        return
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6) * 10**4
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        print("starting both brokers …", flush=True)
        brokers = Brokers(
            options.kafka or stack.enter_context(real_kafka(script, options.release)),
            options.kohort or stack.enter_context(kohort(folder, options.release)),
        )
        for address in brokers:
            warm_up(address)
        run = Run(brokers, options.write, options.at_a_time, options.release)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run.play_kinds(options.kind or KINDS, seed, options.sequences))
        logged = (folder / "log").read_text() if not options.kohort else ""
    run.summarise()
    if "Traceback" in logged or "[error" in logged:
        print(f"kohort logged errors, the last of them:\n{logged[-3_000:]}")
    sys.exit(1 if run.failed or "Traceback" in logged else 0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
