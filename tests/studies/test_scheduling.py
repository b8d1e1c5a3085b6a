"""`forkrun measure scheduling`: ratios of ways to run the same modules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from forkrun.studies.frame.plot import write_plot
from forkrun.studies.replay.model import ReplaySettings
from forkrun.studies.replay.read import parse_replay
from forkrun.studies.replay.run import run_replay
from forkrun.studies.scheduling import Sizes, empty_job, measure_scheduling, ratios
from forkrun.studies.workload.generate import PRESETS, WorkloadOptions, generate

SMALL = Sizes(
    n_empty=100, n_without_work=10, n_busy=4, busy_scale=0.001, n_alone=1, alone_scale=0.002,
    n_in_flight=2, in_flight_scale=0.002,
)  # fmt: skip


@pytest.mark.slow
def test_all_ways_run_and_nothing_is_better_than_the_critical_path(tmp_path: Path) -> None:
    file = generate(PRESETS["hipileup"], WorkloadOptions(n_modules=30, n_events=4))
    study = measure_scheduling(parse_replay(file, "small"), SMALL, 1, quiet=True)
    found = ratios(study.rows)
    assert len(study.rows) == 18
    assert len(found) == 12 == len(study.conclusions)
    assert 0 < found["one sleeping: of the critical path"].value <= 1
    row = study.rows["one sleeping: 40 threads"]
    assert row["speedup"] / row["of_path"] >= 1
    assert study.rows["busy: serial"]["cpu"] <= 1
    lines = [figure["line"] for figure in json.loads(json.dumps(study.to_json()))["figures"]]
    assert lines == ["P4.4", "P4.4", "P4.4", "P2.1", "P2.1", "P2.4", "P4.2", "P4.2"]
    assert study.plot is not None
    write_plot(study.plot, tmp_path / "scheduling.svg")
    assert "published" in (tmp_path / "scheduling.svg").read_text()


def test_empty_modules_do_the_same_on_all_threads() -> None:
    serial = ReplaySettings(mode="none", n_events=1000, executor="serial")
    two = replace(serial, executor="tbb", n_threads=2, events_in_flight=2)
    results = [run_replay(empty_job(), settings) for settings in (serial, two)]
    assert [result.n_modules for result in results] == [4, 4]
    assert results[0].checksum == results[1].checksum != f"{0:016x}"
