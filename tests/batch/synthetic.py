"""Run directories of jobs on many nodes, without a job: ledgers of any length.

python tests/batch/synthetic.py --nodes 1000 --units 1000
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from forkrun.base.durable import write_json
from forkrun.batch.course import note_start
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, CutCount, OutputPart, SumsPart
from forkrun.rundir.nodes import NodeRanges
from tests.support.jobs import environment

_CHILDREN = 8
_EVENTS = 20


def write_run(path: Path, n_nodes: int, n_units: int, together: int = 1) -> None:
    """Every node has committed all its units but one, some together."""
    folder = RunDirectory(path)
    folder.batch.mkdir(parents=True)
    (folder.batch / "ends").mkdir()
    first = tuple(range(0, n_nodes * n_units + 1, n_units))
    NodeRanges(first, (n_units * _EVENTS,) * n_nodes, _CHILDREN).write(folder)
    write_json(folder.fingerprint, {"units of work": ""})
    lines = [
        commit(unit, n_units=min(together, n_units - 1 - unit)).to_line()
        for unit in range(0, n_units - 1, together)
    ]
    for number in range(n_nodes):
        note_start(folder, number, 0, "host", "")
        node = folder.node(number)
        node.ledger.mkdir(parents=True)
        for child in range(_CHILDREN):
            own = lines[child::_CHILDREN]
            (node.ledger / f"child-{child:03d}.jsonl").write_text("".join(own))


def commit(unit: int, **changes: object) -> Commit:
    """One unit with two outputs, histograms, a cutflow and accumulators."""
    parts = {
        label: OutputPart(f"units/{unit:06d}/{label}.fragment", 7, f"{unit:032x}", 4321, 1234567890)
        for label in ("skim", "all")
    }
    values: dict[str, object] = {
        "unit": unit, "child": unit % _CHILDREN, "pid": 4242, "run": 1, "lumi": unit,
        "n_events": _EVENTS, "digest": f"{unit:032x}", "skipped": (), "skipped_digest": "0" * 32,
        "outputs": parts, "histograms": SumsPart(f"units/{unit:06d}/histograms.bin", 400, 1),
        "start_s": 1e9 + unit, "end_s": 1e9 + unit + 0.5, "wall_s": 0.5, "cpu_s": 0.4,
        "read_calls": 4, "read_bytes": 10_000,
        "cutflow": {"skim": [CutCount("", _EVENTS), CutCount("jets", 7)]},
        "accumulators": SumsPart(f"units/{unit:06d}/accumulators.json", 90, 1),
    }  # fmt: skip
    return Commit(**{**values, **changes})  # type: ignore[arg-type]


def main() -> None:
    """Prints time and memory of `forkrun status`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--units", type=int, default=1000, help="of each node")
    parser.add_argument("--together", type=int, default=10, help="units of a commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="forkrun-status-") as folder:
        run = Path(folder, "run")
        write_run(run, options.nodes, options.units, options.together)
        command = [sys.executable, "-m", "forkrun", "status", str(run)]
        for _ in range(3):
            begin_s, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                command, env=environment(), capture_output=True, text=True, check=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            wall_s, n_bytes = time.monotonic() - begin_s, 1024 * after.ru_maxrss
            print(f"{wall_s:.2f} s, {cpu_s:.2f} s of CPU, {n_bytes / 1e6:.0f} MB")
        print(done.stdout)


if __name__ == "__main__":
    main()
