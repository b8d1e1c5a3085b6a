"""`make remote-faults`: servers of the input fail while a job runs; what becomes of it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.remote_faults.faults import KINDS
from tests.remote_faults.rounds import Bench, Plan, Round, draw_plan, run_round, tally


def main() -> int:
    """Exit code 1 if something went wrong that must not."""
    options = _options()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="forkrun-remote-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(folder.resolve())
    seeds = options.repeat or range(options.seed, options.seed + options.rounds)
    plans = [draw_plan(seed, options.only) for seed in seeds]
    rounds = []
    with ThreadPoolExecutor(options.at_once) as pool:
        for done in pool.map(lambda plan: _run(bench, plan), plans):
            rounds.append(done)
            outcome = "; ".join(line.splitlines()[0] for line in done.violations) or done.outcome
            number = f"{len(rounds)}/{len(plans)}"
            print(f"{number} {done.plan}: {outcome}, {done.wall_s:.0f} s", flush=True)
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps({**vars(done), "plan": vars(done.plan)}) + "\n")
    print(tally(rounds))
    is_good = not any(done.violations for done in rounds)
    if is_good and not options.folder:
        shutil.rmtree(folder)
    else:
        print(f"everything is in {folder}")
    return 0 if is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first round")
    parser.add_argument("--only", choices=KINDS, help="only faults of this kind")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="rounds at a time")
    parser.add_argument("--repeat", type=int, action="append", metavar="SEED")
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--log", type=Path, help="append each round as a line of JSON")
    return parser.parse_args()


def _run(bench: Bench, plan: Plan) -> Round:
    name = f"round-{plan.seed}"
    try:
        done = run_round(bench, plan, name)
    except pytest.skip.Exception as why:
        return Round(plan, f"not here: {why}")
    if not done.violations:
        shutil.rmtree(bench.folder / name)
    return done


if __name__ == "__main__":
    sys.exit(main())
