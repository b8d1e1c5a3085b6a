"""`make bench-memory`: what keeps the parent's memory shared, and what that costs.

Every figure is that of a process of its own, which prepares something, forks, and measures what a
child makes private. Prints a table and writes the figures as JSON; plot_memory.py draws them."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from command_line import parse, write_figures

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Runs the chosen cases."""
    args = parse_arguments()
    from forkrun.monitoring.host import describe_host

    with tempfile.TemporaryDirectory(prefix="forkrun-bench-", dir=args.folder) as name:
        results = {case: CASES[case](args, Path(name)) for case in args.cases}
    figures = {"host": describe_host(), "results": results}
    write_figures(args.json, figures)
    print(f"All figures: {args.json}")


def parse_arguments() -> Any:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=32)
    parser.add_argument("--gb", type=float, default=1.0, help="of conditions, for forks (1)")
    return parse(parser, CASES, "memory.json")


def measured(kind: str, **settings: Any) -> dict[str, Any]:
    """Figures of memory_process.py in a process of its own."""
    command = [sys.executable, "-W", "ignore", str(HERE / "memory_process.py"), kind]
    done = subprocess.run(
        [*command, json.dumps(settings)], capture_output=True, text=True, check=True
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    shown = ", ".join(f"{key} {value}" for key, value in (settings | figures).items())
    print(f"{kind}: {shown}", flush=True)
    return settings | figures


def bench_reading(_args: argparse.Namespace, _folder: Path) -> list[dict[str, Any]]:
    """Private memory after a pass over a million Python objects."""
    return [
        measured("reading", freeze=freeze, immortal=immortal, passes=passes)
        for freeze, immortal in ((False, False), (True, False), (True, True))
        for passes in range(3)
    ]


def bench_holes(_args: argparse.Namespace, _folder: Path) -> list[dict[str, Any]]:
    """Private memory of a child that makes 8 MB of objects, by what the parent had freed."""
    return [
        measured("holes", kept=kept, fill_holes=fill)
        for kept in (0.0, 0.5, 0.75, 0.9375, 0.98)
        for fill in (False, True)
    ]


def bench_fork(args: argparse.Namespace, _folder: Path) -> list[dict[str, Any]]:
    """Time of a fork, with objects and with arrays."""
    return [
        measured("fork", what=what, gigabytes=gigabytes, huge_pages=huge)
        for what, huge in (
            ("objects", "no"),
            ("objects", "joined"),
            ("objects", "first"),
            ("arrays", "no"),
        )
        for gigabytes in (0.0, args.gb / 4, args.gb / 2, args.gb)
    ]


def bench_start(args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A whole job: from the first fork to the first event of the last child. Without immortal
    objects children that read them would copy them: more memory than most machines have."""
    from forkrun import _core
    from forkrun.studies.sample.settings import SampleSettings
    from forkrun.studies.sample.write import write_sample

    settings = SampleSettings(args.children * 64, n_runs=1, lumis_per_run=args.children)
    (sample,) = write_sample(folder / "sample.root", settings)
    modules = ["ReadsNothing", *(["ReadsAll"] if _core.HAS_IMMORTAL_OBJECTS else [])]
    return [
        run_job(args.children, sample, folder, module, warm, huge)
        for module in modules
        for warm, huge in ((False, False), (True, False), (True, True))
    ]


def run_job(
    children: int, sample: Path, folder: Path, module: str, warm_up: bool, huge_pages: bool
) -> dict[str, Any]:
    """Times [s] and private memory of children."""
    home = f"python:{HERE / 'memory_conditions.py'}"
    job = {
        "source": {"files": [str(sample)]},
        "forking": {"children": children, "distribution": "lumi"},
        "memory": {"warm_up": warm_up, "huge_pages": huge_pages},
        "conditions": [{"label": "big", "type": f"{home}:half_a_gb_of_each"}],
        "modules": [{"label": "reader", "type": f"{home}:{module}"}],
        "paths": {"all": ["reader"]},
    }
    (folder / "job.json").write_text(json.dumps(job))
    command = [sys.executable, "-W", "ignore", "-m", "forkrun", "run", str(folder / "job.json")]
    run, first_events = folder / "run", Path(tempfile.mkdtemp(dir=folder))
    environment = os.environ | {"FIRST_EVENTS": str(first_events)}
    subprocess.run(
        [*command, "-o", str(run), "--force", "--no-plots", "-q"], check=True, env=environment
    )
    figures = {
        "module": module, "warm_up": warm_up, "huge_pages": huge_pages,
        **_figures(run, sorted(float(file.read_text()) for file in first_events.iterdir())),
    }  # fmt: skip
    print(f"start: {figures}", flush=True)
    return figures


def _figures(run: Path, first_events_s: list[float]) -> dict[str, Any]:
    lines = (run / "monitoring" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    times = {
        name: sorted(e["time_s"] for e in events if e["event"] == name)
        for name in ("modules_built", "fork")
    }
    report = json.loads((run / "report.json").read_text())
    private = [child["end_uss_bytes"] for child in report["children"]]
    return {
        "before_fork_s": round(times["fork"][0] - times["modules_built"][0], 3),
        "n_with_events": len(first_events_s),
        "median_first_event_s": round(statistics.median(first_events_s) - times["fork"][0], 3),
        "last_first_event_s": round(first_events_s[-1] - times["fork"][0], 3),
        "private_mb": round(sum(private) / len(private) / 1e6, 2),
    }


CASES: dict[str, Callable[[argparse.Namespace, Path], list[dict[str, Any]]]] = {
    "reading": bench_reading,
    "holes": bench_holes,
    "fork": bench_fork,
    "start": bench_start,
}

if __name__ == "__main__":
    main()
