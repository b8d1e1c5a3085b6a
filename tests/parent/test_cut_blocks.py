"""Blocks stay large where a module has callbacks of lumis: it alone gets them lumi by lumi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.parent.test_stretches import blocks
from tests.support.files import Lumi, write_events
from tests.support.jobs import environment, forkrun, output_digests, sha256, write_job

MODULES = Path(__file__).with_name("cut_modules.py")
LUMIS: list[Lumi] = [(run, lumi, 3 + (5 * lumi) % 17) for run in (1, 2) for lumi in range(1, 21)]
N_EVENTS = sum(n for _, _, n in LUMIS)


def job_of(folder: Path, **sections: Any) -> None:
    half = len(LUMIS) // 2 + 3
    first = sum(n for _, _, n in LUMIS[:half])
    files = [
        write_events(folder / "a.root", LUMIS[:half]),
        write_events(folder / "b.root", LUMIS[half:], first + 1),
    ]
    names = {"rates": "Rates", "calibrated": "Calibrated", "some": "Prescaled", "blocks": "Blocks"}
    names.update(sections.pop("names", {}))
    job = {
        "source": {"files": [str(file) for file in files]},
        "modules": [
            {"label": label, "type": f"python:{MODULES}:{name}"} for label, name in names.items()
        ],
        "paths": {"p": ["blocks", "some", "rates"]},
        "outputs": [
            {"label": "skim", "paths": ["p"], "decisions": True},
            {"label": "lumis", "paths": ["p"], "per_lumi": True, "keep": ["event", "Good_pt"]},
        ],
        **sections,
    }
    job["modules"][-1]["params"] = {"notes": str(folder / "notes")}
    write_job(folder, job)


def run(folder: Path, name: str, *options: object, **kwargs: Any) -> Path:
    ended = forkrun("run", "job.json", "-o", name, "-q", *options, cwd=folder, **kwargs)
    assert ended.code == 0, ended.err
    return folder / name


def selected() -> list[tuple[int, int, int]]:
    """(run, lumi, event) of those that the filter accepts."""
    events, event = [], 0
    for run_number, lumi, n in LUMIS:
        for _ in range(n):
            event += 1
            if event % lumi != 1 and lumi % 5:
                events.append((run_number, lumi, event))
    return events


@pytest.mark.slow
def test_a_module_with_callbacks_leaves_the_blocks_of_others_large(tmp_path: Path) -> None:
    job_of(tmp_path)
    folder = run(tmp_path, "run", "--children", 1)
    seen = blocks(tmp_path)
    assert sum(n for n, _ in seen) == N_EVENTS
    assert len(seen) <= 6
    accumulated = json.loads((folder / "output/accumulators.json").read_text())["rates"]
    assert accumulated["order"] == [event for _, _, event in selected()]
    counts = {f"{run_number}:{lumi}": 0 for run_number, lumi, _ in LUMIS}
    for run_number, lumi, _ in selected():
        counts[f"{run_number}:{lumi}"] += 1
    assert accumulated["events"] == counts


def results(folder: Path) -> dict[str, str]:
    """Digests of files of outputs, of histograms and of accumulators."""
    accumulators = folder / "output/accumulators.json"
    return {**output_digests(folder), "accumulators.json": sha256(accumulators)}


WAYS: dict[str, list[object]] = {
    "here": ["--children", 0],
    "small blocks": ["--children", 1, "--set", "threads.block_size=7"],
    "a block an event": ["--children", 2, "--set", "threads.block_size=1"],
    "many": ["--children", 3, "--set", "forking.max_unit_events=6"],
    "read ahead": ["--children", 1, "--set", "threads.read_ahead=true"],
    "threads": ["--children", 2, "--threads", 2, "--set", "threads.block_size=30"],
    "other threads": ["--children", 1, "--threads", 3, "--set", "threads.executor=tbb"],
    "turns": ["--children", 3, "--distribution", "round-robin", "--events-per-turn", 25],
    "lumis": ["--children", 2, "--distribution", "lumi"],
}


QUICK = ("a block an event", "turns")


@pytest.mark.slow
@pytest.mark.parametrize("ways", [QUICK, pytest.param(tuple(WAYS), marks=pytest.mark.long)])
def test_outputs_are_the_same_bytes_whoever_sees_what(
    tmp_path: Path, ways: tuple[str, ...]
) -> None:
    job_of(tmp_path)
    whole = results(run(tmp_path, "whole", "--children", 1))
    assert len(whole) == 3 + len(LUMIS)
    for name in ways:
        found = results(run(tmp_path, name.replace(" ", "-"), *WAYS[name]))
        if name == "turns":  # children take parts of a lumi in turns, and lists are joined by child
            found["accumulators.json"] = whole["accumulators.json"]
        assert found == whole, name


@pytest.mark.long
def test_what_is_counted_until_a_lumi_ends_is_committed_with_its_events(tmp_path: Path) -> None:
    """Also of a lumi of which a child had committed a part before it was killed."""
    job_of(tmp_path, forking={"min_unit_events": 1})
    whole = results(run(tmp_path, "whole", "--children", 1))
    faults = json.dumps([{"fault": "SIGKILL", "at": "before_rename", "unit": 5}])
    killed = run(tmp_path, "killed", "--children", 2, env=environment(FORKRUN_CHAOS=faults))
    assert results(killed) == whole


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("moment", ["before_rename", "after_ledger"])
def test_a_child_that_is_killed_changes_nothing(tmp_path: Path, moment: str) -> None:
    job_of(tmp_path)
    whole = run(tmp_path, "whole", "--children", 1)
    faults = json.dumps([{"fault": "SIGKILL", "at": moment, "unit": 5}])
    killed = run(tmp_path, "killed", "--children", 2, env=environment(FORKRUN_CHAOS=faults))
    assert results(killed) == results(whole)


@pytest.mark.slow
def test_a_module_with_callbacks_that_runs_again_for_variations_gets_blocks_of_one_lumi(
    tmp_path: Path,
) -> None:
    job_of(tmp_path, names={"calibrated": "Varied"})
    run(tmp_path, "run", "--children", 1)
    seen = blocks(tmp_path)
    assert {n_lumis for _, n_lumis in seen} == {1}


def test_the_lumi_in_which_a_callback_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(
        "import forkrun\n"
        "class Fails(forkrun.Analyzer):\n"
        "    consumes = ('event',)\n"
        "    def begin_lumi(self, run, lumi):\n"
        "        if (run, lumi) == (1, 15):\n"
        "            raise ValueError('no table')\n"
        "    def analyze(self, block):\n"
        "        if self.bad == (block.run, block.lumi):\n"
        "            raise ValueError('no rate')\n"
        "    bad = (1, 12)\n"
    )
    job = {
        "source": {"files": [str(write_events(tmp_path / "a.root", LUMIS))]},
        "modules": [{"label": "m", "type": "python:fails.py:Fails"}],
        "paths": {"p": ["m"]},
        "threads": {"block_size": 10_000},
    }
    write_job(tmp_path, job)
    first = sum(n for run, lumi, n in LUMIS if run == 1 and lumi < 12) + 1
    ended = forkrun("run", "job.json", "-o", "run", "--children", 0, cwd=tmp_path)
    assert ended.code == 5
    assert f'module "m" failed at 1:12, events {first}…' in ended.err
    text = (tmp_path / "fails.py").read_text()
    (tmp_path / "fails.py").write_text(text.replace("(1, 12)", "(3, 1)"))
    ended = forkrun("run", "job.json", "-o", "again", "--children", 0, cwd=tmp_path)
    assert 'module "m" failed in begin_lumi of 1:15: ValueError: no table' in ended.err
    assert "failed at" not in ended.err
