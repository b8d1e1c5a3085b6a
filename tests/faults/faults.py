"""`make faults`: calls of the system fail while a job runs; what becomes of it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.faults.bench import KINDS, Bench
from tests.faults.rounds import Plan, Round, draw_plan, run_round


def main() -> int:
    """Exit code 1 if something went wrong that must not."""
    options = _options()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="forkrun-faults-"))
    bench = Bench.make(folder.resolve())
    if options.repeat:
        plans = [Plan.parse(text) for text in options.repeat]
    else:
        seeds = range(options.seed, options.seed + options.rounds)
        plans = [draw_plan(bench, seed, options.only) for seed in seeds]
    rounds = []
    with ThreadPoolExecutor(options.jobs) as pool:
        names = [f"round-{number}" for number in range(len(plans))]
        for done in pool.map(lambda p, n: run_round(bench, p, n), plans, names):
            rounds.append(done)
            _report(done, len(rounds), len(plans))
            if not done.violations and not options.folder:
                shutil.rmtree(folder / names[len(rounds) - 1])
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps({**vars(done), "plan": str(done.plan)}) + "\n")
    print(table(rounds))
    is_good = not any(done.violations for done in rounds)
    if is_good and not options.folder:
        shutil.rmtree(folder)
    else:
        print(f"everything is in {folder}")
    return 0 if is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first round")
    parser.add_argument("--only", choices=KINDS, help="only calls of this kind fail")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="rounds at a time")
    parser.add_argument("--repeat", action="append", metavar="PLAN", help="as printed")
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--log", type=Path, help="append each round as a line of JSON")
    return parser.parse_args()


def _report(done: Round, n: int, n_rounds: int) -> None:
    codes = ", ".join(map(str, done.codes))
    outcome = "; ".join(line.splitlines()[0] for line in done.violations) or "ok"
    print(f"{n}/{n_rounds} {done.plan}: exit codes {codes}: {outcome}", flush=True)


def table(rounds: list[Round]) -> str:
    """Rounds, what failed in them, how they ended, and what must not be."""
    injected = Counter(" ".join(line.split()[1::-1]) for done in rounds for line in done.injected)
    met = sum(bool(done.injected) for done in rounds)
    outcomes = Counter(_outcome(done) for done in rounds)
    lines = [f"{len(rounds)} rounds, {met} of them with calls that failed", "", "calls that failed"]
    lines += [f"  {what:20} {n:7}" for what, n in sorted(injected.items())]
    lines += ["", "the command that met them"]
    lines += [f"  {what:44} {n:7}" for what, n in outcomes.most_common()]
    bad = [done for done in rounds if done.violations]
    lines += ["", f"{len(bad)} rounds with violations"]
    for done in bad:
        lines.append(f"  make faults FAULTS_ARGS='--repeat \"{done.plan}\"'")
        lines += [f"    {text}" for what in done.violations for text in what.splitlines()[:12]]
    return "\n".join(lines)


def _outcome(done: Round) -> str:
    if not done.injected:
        return "no call came so far"
    code = done.codes[0]
    return {0: "was done", None: "hung", -9: "was killed"}.get(code, f"ended with exit code {code}")


if __name__ == "__main__":
    sys.exit(main())
