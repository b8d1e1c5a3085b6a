"""Times and traces of modules: what a job leaves, and what is made of it."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import to_builtins

from forkrun.base.quantities import duration
from forkrun.errors import InputError
from forkrun.monitoring.report.sections import modules
from forkrun.monitoring.tables import text_of
from forkrun.monitoring.timing.model import Timing, merge_timing, quantile, read_timing, to_json
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two children with two threads: three lumis of 40 events, in blocks of 10."""
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 4)])
    job = jets_job(
        [events],
        forking={"children": 2},
        threads={"per_child": 2, "block_size": 10},
        monitoring={"trace": True},
    )
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "CPU outside of modules" in (tmp_path / "run/report.txt").read_text()
    return tmp_path / "run"


def test_every_call_of_every_module_is_counted_and_timed(run: Path) -> None:
    timing = read_timing(run)
    modules = {module.label: module for module in timing.modules}
    assert timing.n_events == 120
    assert modules["jets"].count == modules["events"].count == 12
    assert modules["jets"].kind == "filter"
    assert modules["jets"].concurrency == "unsafe"
    assert "jets" not in modules["sums"].inputs
    assert timing.paths == {"skim": ("jets", "plots")}
    for module in timing.modules:
        assert 0 < module.mean_s <= module.max_s <= module.total_s
        assert module.p50_s <= module.p95_s <= module.max_s
        assert 0 <= module.cpu_s <= module.total_s
        assert module.total_s == pytest.approx(module.mean_s * module.count)
    assert timing.overhead_s_per_event is not None
    assert 0 <= timing.overhead_s_per_event * 120 <= timing.cpu_s
    assert Timing.from_json(json.loads(json.dumps(to_json(timing)))) == timing


def test_the_trace_has_every_call_once_and_none_overlap_on_a_thread(run: Path) -> None:
    events = json.loads((run / "trace.json").read_text())["traceEvents"]
    calls = [event for event in events if event["ph"] == "X"]
    counts = Counter(call["name"] for call in calls)
    assert counts == {module.label: module.count for module in read_timing(run).modules}
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {
        "child 0",
        "child 1",
    }
    assert {call["args"]["lumi"] for call in calls} == {1, 2, 3}
    assert min(call["ts"] for call in calls) == 0
    for _, same in itertools.groupby(
        sorted(calls, key=lambda c: (c["pid"], c["tid"], c["ts"])), lambda c: (c["pid"], c["tid"])
    ):
        for first, second in itertools.pairwise(same):
            assert first["ts"] + first["dur"] <= second["ts"] + 0.001


def test_a_trace_is_bounded_and_can_be_off(tmp_path: Path) -> None:
    events = write_events(tmp_path / "a.root", [(1, 1, 100)])
    job = jets_job([events], threads={"block_size": 1}, forking={"children": 1})
    job["monitoring"] = {"cutflow": False}  # its calls would be recorded, and not be shown
    path = write_job(tmp_path, job)
    few = forkrun(
        "run", path, "--trace", "--set", "monitoring.trace_calls=7", "-o", "few", cwd=tmp_path
    )
    assert few.code == 0, few.err
    trace = json.loads((tmp_path / "few/trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in trace) == 7
    timing = read_timing(tmp_path / "few")
    assert timing.n_not_traced == sum(module.count for module in timing.modules) - 7
    off = forkrun("run", path, "--set", "monitoring.timing=false", "-o", "off", cwd=tmp_path)
    assert off.code == 0, off.err
    assert not (tmp_path / "off/timing.json").exists()
    with pytest.raises(InputError, match=r"monitoring\.timing = false"):
        read_timing(tmp_path / "off")


def part(label: str, times_s: list[float], **values: Any) -> dict[str, Any]:
    """As a child writes it, with every time in a bin of its own."""
    module = {
        "label": label,
        "kind": "producer",
        "concurrency": "one",
        "inputs": ["x"],
        "count": len(times_s),
        "total_s": sum(times_s),
        "max_s": max(times_s),
        "cpu_s": sum(times_s) / 2,
        "wait_inputs_s": 0.0,
        "wait_queue_s": 1.0,
        "bins": [[time_s, 1] for time_s in times_s],
    }
    part = {"modules": [module], "stalls": [["a", "b", 2, 0.5]], "n_not_traced": 3}
    return {**part, "n_events": 10, "cpu_s": 5.0, "wall_s": 6.0, **values}


def test_children_are_summed() -> None:
    parts = [part("m", [1.0, 2.0]), part("m", [4.0], n_events=20, cpu_s=7.0, wall_s=8.0)]
    timing = merge_timing(parts, {})
    (module,) = timing.modules
    assert (module.count, module.total_s, module.max_s, module.cpu_s) == (3, 7.0, 4.0, 3.5)
    assert module.wait_queue_s == 2.0
    assert (timing.n_events, timing.cpu_s, timing.wall_s) == (30, 12.0, 14.0)
    assert timing.overhead_s_per_event == pytest.approx((12.0 - 3.5) / 30)
    assert timing.n_not_traced == 6
    (stall,) = timing.stalls
    assert (stall.count, stall.total_s) == (4, 1.0)
    text = text_of(modules(to_builtins(timing), 45))
    assert ["a", "b", "4", "1", "s"] in [line.split() for line in text.splitlines()]
    assert "Times are those of 30 of 45 events: a process that is killed leaves none" in text


def test_cpu_outside_of_modules_is_not_known_where_calls_contain_others() -> None:
    timing = merge_timing([part("m", [4.0], cpu_s=1.0)], {})
    assert timing.overhead_s_per_event is None
    assert "outside" not in text_of(modules(to_builtins(timing), 10))


def test_quantiles_of_bins_are_those_of_the_times_within_a_bin() -> None:
    times = np.random.default_rng(1).lognormal(-7, 1, 20_000)
    edges = np.array([(8 + i % 8) * 2.0 ** (i // 8) * 1e-9 for i in range(384)])
    counts = np.histogram(times, np.append(edges, np.inf))[0]
    bins = {float(edge): int(count) for edge, count in zip(edges, counts, strict=True) if count}
    for share in (0.5, 0.95):
        assert quantile(bins, share) == pytest.approx(np.quantile(times, share), rel=0.07)
    assert quantile({}, 0.5) == 0.0


@pytest.mark.parametrize(
    ("time_s", "text"),
    [(0.0, "0 s"), (1.5e-9, "1.5 ns"), (2.25e-5, "22.5 µs"), (0.5, "500 ms"), (12.0, "12 s")],
)
def test_durations_have_a_unit(time_s: float, text: str) -> None:
    assert duration(time_s) == text
