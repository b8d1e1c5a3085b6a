"""`make chaos`: many rounds, and how many of them the job survived."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.chaos.rounds import Bench, Round, run_round


def main() -> int:
    """Exit code 1 if a round was not survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, metavar="N")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="rounds at a time")
    parser.add_argument("--folder", type=Path, help="keep everything here")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="forkrun-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench.make(folder)
    seeds = range(options.first_seed, options.first_seed + options.rounds)
    with ThreadPoolExecutor(options.at_once) as pool:
        rounds = []
        for done in pool.map(lambda seed: run_round(bench, seed), seeds):
            rounds.append(done)
            _report(done, len(rounds), options.rounds)
            if not done.problem and not options.folder:
                shutil.rmtree(folder / f"round-{done.seed}")
    survived = [done for done in rounds if not done.problem]
    n_struck, n_met = sum(done.n_struck for done in rounds), sum(done.n_met for done in rounds)
    print(
        f"survived {len(survived)}/{len(rounds)} rounds with {n_struck} deaths of processes,"
        f" {n_met} of {sum(len(done.aims) for done in rounds)} where they were aimed at"
    )
    if len(survived) == len(rounds) and not options.folder:
        shutil.rmtree(folder)
    else:
        print(f"everything is in {folder}")
    return 0 if len(survived) == len(rounds) else 1


def _report(done: Round, n: int, n_rounds: int) -> None:
    stations = [f"kill at {aim}" for aim in done.aims]
    faults = ", ".join([*stations, *(f"{f['fault']} at {f['at']}" for f in done.faults)])
    outcome = done.problem or "survived"
    print(
        f"{n}/{n_rounds} seed {done.seed}, {done.kind}: {outcome} in {done.wall_s:.1f} s,"
        f" {done.n_sessions} sessions, {done.n_struck} deaths ({faults})",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
