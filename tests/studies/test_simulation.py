"""Simulated jobs: nothing is lost, no bound is broken, and the published case comes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.cli import main
from forkrun.config.choices import Distribution
from forkrun.config.model import ForkingConfig, JobConfig
from forkrun.errors import ConfigError
from forkrun.index.model import FileIndex, LumiRange
from forkrun.plan.make import make_plan
from forkrun.plan.model import EntryRange, Plan
from forkrun.studies.simulation import layout as costs
from forkrun.studies.simulation.compare import (
    HandedOut,
    Overheads,
    Reads,
    Settings,
    Simulated,
    compare,
    hand_out,
    reads_of,
    unit_times,
)
from forkrun.studies.simulation.layout import (
    CostModel,
    Costs,
    Shape,
    SyntheticInput,
    draw_costs,
    layout_of,
    parse_cost_model,
    read_costs,
    synthetic_index,
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[JobConfig, list[FileIndex]]:
    files, lumis, events, cluster = (draw(st.integers(1, n)) for n in (4, 5, 60, 70))
    shape = SyntheticInput(files, lumis, events, cluster)
    forking = ForkingConfig(
        distribution=draw(st.sampled_from(list(Distribution))),
        children=draw(st.integers(1, 9)),
        events_per_turn=draw(st.integers(1, 20)),
        min_unit_events=draw(st.sampled_from([None, 1, 7])),
    )
    return JobConfig(forking=forking), synthetic_index(shape)


models = st.builds(
    CostModel,
    shape=st.sampled_from(list(Shape)),
    mean_s=st.sampled_from([1e-5, 0.01, 30.0]),
    spread=st.sampled_from([0.0, 0.5, 3.0]),
    first_fraction=st.sampled_from([0.0, 0.1, 1.0]),
    first_factor=st.sampled_from([0.1, 10.0]),
    per_lumi=st.sampled_from([0.0, 0.5]),
)


def handed_out(
    config: JobConfig,
    index: list[FileIndex],
    drawn: Costs | None = None,
    overheads: Overheads = Overheads(),  # noqa: B008 -- frozen
) -> tuple[Plan, HandedOut, Reads]:
    plan, layout = make_plan(config, index), layout_of(index)
    unit_s = unit_times(plan, layout, drawn or draw_costs(CostModel(), layout, 1))
    at_cluster = plan.units.at_cluster([file.clusters for file in index])
    out = hand_out(plan, unit_s, overheads, at_cluster)
    return plan, out, reads_of(plan, layout, out)


@given(jobs(), models, st.sampled_from([0.0, 0.005]), st.sampled_from([0.0, 0.02]))
def test_busy_times_are_what_events_stretches_and_calls_cost(
    job: tuple[JobConfig, list[FileIndex]], model: CostModel, stretch_s: float, call_s: float
) -> None:
    config, index = job
    drawn = draw_costs(model, layout_of(index), 1)
    _, out, _ = handed_out(config, index, drawn, Overheads(stretch_s, call_s))
    n_stretches = len(out.first_unit)  # no stretch has as many events as a first block
    expected_s = drawn.before_s[-1] + n_stretches * (stretch_s + call_s)
    assert len(out.busy_s) == config.forking.children
    assert out.busy_s.sum() == pytest.approx(expected_s)
    assert out.busy_s.max() * (1 + 1e-9) >= expected_s / config.forking.children


def test_blocks_of_a_given_size_are_calls() -> None:
    index = synthetic_index(SyntheticInput(1, 1, 10_000))
    config = JobConfig(forking=ForkingConfig(children=1))
    drawn = draw_costs(CostModel(Shape.CONSTANT, 1e-9), layout_of(index), 1)
    _, out, _ = handed_out(config, index, drawn, Overheads(0.0, 1.0, 10))
    sizes = np.diff(np.append(first_events(index, config)[out.first_unit], 10_000))
    assert out.busy_s.sum() == pytest.approx(sum(-(-n // 10) for n in sizes.tolist()), rel=1e-6)


def first_events(index: list[FileIndex], config: JobConfig) -> np.ndarray[tuple[int], Any]:
    """(n_units,) number of events before each."""
    n_events = make_plan(config, index).units.n_events
    return np.cumsum(n_events) - n_events


@given(jobs())
def test_no_child_is_idle_while_there_are_stretches(
    job: tuple[JobConfig, list[FileIndex]],
) -> None:
    """Where any child takes any: nobody ends sooner than another begins its last stretch."""
    config, index = job
    drawn = draw_costs(CostModel(Shape.CONSTANT, 1.0), layout_of(index), 1)
    plan, out, _ = handed_out(config, index, drawn)
    if plan.is_shared:
        n_events = np.diff(np.append(first_events(index, config)[out.first_unit], plan.n_events))
        busy_s = out.busy_s[: len(plan.busy_children())]
        assert busy_s.max() - busy_s.min() <= n_events.max() + 1e-6


@given(jobs())
def test_reads_are_counted_stretch_by_stretch_and_clusters_child_by_child(
    job: tuple[JobConfig, list[FileIndex]],
) -> None:
    config, index = job
    plan, out, reads = handed_out(config, index)
    layout = layout_of(index)
    pairs, n_reads = set(), 0
    ends = [*out.first_unit.tolist()[1:], len(plan.units)]
    stretches = zip(out.first_unit.tolist(), ends, out.child.tolist(), strict=True)
    for first, end, child in stretches:
        ranges = plan.units.stretch(first, end - first).ranges
        n_reads += len(ranges)
        for r in map(EntryRange, *ranges.T.tolist()):
            borders = pairwise(index[r.file].clusters)
            for cluster, (begin, last) in enumerate(borders):
                if begin < r.last and r.first < last:
                    pairs.add((child, r.file, cluster))
    clusters = {pair[1:] for pair in pairs}
    assert reads.per_cluster(layout) == pytest.approx(len(pairs) / len(clusters))
    assert reads.mean_entries == pytest.approx(plan.n_events / n_reads)


def test_round_robin_reads_event_by_event() -> None:
    index = synthetic_index(SyntheticInput(2, 5, 40, cluster=20))
    forking = ForkingConfig(children=4, distribution="round-robin", events_per_turn=1)
    _, _, reads = handed_out(JobConfig(forking=forking), index)
    assert (reads.mean_entries, reads.mean_clusters(layout_of(index))) == (1.0, 1 / 20)
    whole = ForkingConfig(children=4, distribution="lumi")
    _, _, reads = handed_out(JobConfig(forking=whole), index)
    assert (reads.mean_entries, reads.mean_clusters(layout_of(index))) == (40.0, 2.0)


def simulated(
    shape: SyntheticInput,
    children: int,
    model: CostModel,
) -> dict[str, Simulated]:
    """By distribution."""
    index = synthetic_index(shape)
    drawn = draw_costs(model, layout_of(index), 1)
    config = JobConfig(forking=ForkingConfig(events_per_turn=1))
    rows = compare(config, index, drawn, Settings((children,), 0.005))
    return {row.distribution: row for row in rows}


def test_the_published_case_comes_out_and_guided_mends_it() -> None:
    """4,000 events of which the first 3 % are ten times larger: reconstruction, 10 s an event."""
    model = CostModel(mean_s=10, spread=0.5, first_fraction=0.0303, first_factor=10)
    rows = simulated(SyntheticInput(1, 100, 40, cluster=40), 8, model)
    assert rows["contiguous"].utilization == pytest.approx(0.4, abs=0.02)
    assert rows["round-robin 1"].utilization == pytest.approx(0.95, abs=0.02)
    assert (rows["guided"].utilization or 0) >= 0.98


MINUTE_S = 60.0
"""Time that the events of a job take each child, without those that take longer."""


def job_of_a_minute(children: int, lumi: int | None, cluster: int = 500) -> SyntheticInput:
    """Events of a millisecond, in lumis of so many events or in one."""
    n_events = int(children * MINUTE_S / 1e-3)
    return SyntheticInput(1, n_events // (lumi or n_events), lumi or n_events, cluster)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    "children",
    [2, 8, pytest.param(32, marks=pytest.mark.long), pytest.param(256, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("lumi", [None, 500], ids=["one lumi", "small lumis"])
@pytest.mark.parametrize(
    ("fraction", "turned"),
    [(0.0, False), (0.03, False), (0.03, True), (1 / 3, False)],
    ids=["alike", "first", "last", "a third"],
)
def test_guided_uses_its_children_and_reads_whole_clusters(
    children: int, lumi: int | None, fraction: float, turned: bool
) -> None:
    index = synthetic_index(job_of_a_minute(children, lumi))
    config = JobConfig(forking=ForkingConfig(children=children))
    layout = layout_of(index)
    drawn = draw_costs(CostModel(mean_s=1e-3, first_fraction=fraction, first_factor=10), layout, 1)
    if turned:
        entry = drawn.entry[-1] - drawn.entry[::-1]
        drawn = Costs(drawn.name, entry, drawn.before_s[-1] - drawn.before_s[::-1])
    _, out, reads = handed_out(config, index, drawn, Overheads(0.007))
    assert out.busy_s.mean() / out.busy_s.max() >= 0.98
    assert reads.mean_clusters(layout) >= 0.95


@pytest.mark.slow
@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    ("shape", "n_children", "event_s"),
    [(job_of_a_minute(256, None), 256, 1e-3), (SyntheticInput(1, 80, 500), 8, 3e-3)],
    ids=["256 children", "20 seconds"],
)
@pytest.mark.parametrize("place", [0.3, 0.5, 0.75, 0.85, 0.94])
def test_events_that_take_long_anywhere_are_no_obstacle_to_guided(
    shape: SyntheticInput, n_children: int, event_s: float, place: float
) -> None:
    index = synthetic_index(shape)
    config = JobConfig(forking=ForkingConfig(children=n_children))
    n_entries = layout_of(index).n_entries
    fractions = np.array([0.0, place, place + 0.03, 1.0])
    cost_s = np.diff(fractions) * n_entries * event_s * np.array([1, 10, 1])
    entry = (fractions * n_entries).astype(np.int64)
    costs = Costs("an island", entry, np.concatenate(([0.0], np.cumsum(cost_s))))
    _, out, _ = handed_out(config, index, costs, Overheads(0.007))
    assert out.busy_s.mean() / out.busy_s.max() >= 0.98


@pytest.mark.parametrize("model", [CostModel(), CostModel(per_lumi=0.5)])
def test_one_large_lumi_is_no_obstacle_to_guided(model: CostModel) -> None:
    rows = simulated(SyntheticInput(1, 1, 200_000, cluster=1_000), 32, model)
    assert (rows["guided"].utilization or 0) >= 0.98
    assert rows["lumi"].utilization == pytest.approx(1 / 32, rel=0.01)


def test_costs_have_the_mean_and_spread_that_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = layout_of(synthetic_index(SyntheticInput(4, 10, 5_000)))
    for shape, spread in ((Shape.LOGNORMAL, 0.5), (Shape.EXPONENTIAL, 1.0)):
        model = CostModel(shape, mean_s=2.0, spread=0.5)
        per_event = np.diff(draw_costs(model, layout, 3).before_s)
        assert per_event.mean() == pytest.approx(2.0, rel=0.01)
        assert per_event.std() / per_event.mean() == pytest.approx(spread, rel=0.03)
        monkeypatch.setattr(costs, "MAX_CELLS", 10_000)
        cells = np.diff(draw_costs(model, layout, 3).before_s)
        assert len(cells) == 10_000
        assert cells.mean() == pytest.approx(20 * 2.0, rel=0.01)
        assert cells.std() / cells.mean() == pytest.approx(spread / 20**0.5, rel=0.05)
        monkeypatch.undo()


def test_the_first_events_and_whole_lumis_cost_more() -> None:
    layout = layout_of(synthetic_index(SyntheticInput(2, 50, 10)))
    first = draw_costs(CostModel(Shape.CONSTANT, 1.0, 0, 0.1, 10), layout, 1)
    assert np.diff(first.before_s).tolist() == [10.0] * 100 + [1.0] * 900
    lumis = np.diff(draw_costs(CostModel(Shape.CONSTANT, 1.0, 0, per_lumi=0.3), layout, 1).before_s)
    by_lumi = lumis.reshape(100, 10)
    assert (np.ptp(by_lumi, axis=1) < 1e-9).all()
    assert by_lumi[:, 0].std() == pytest.approx(0.3, rel=0.3)


INDEX = [
    FileIndex(
        path=f"{name}.root",
        uuid=name,
        n_entries=5,
        clusters=(0, 3, 5),
        ranges=(LumiRange(1, lumi, 0, 2, "0" * 32), LumiRange(1, lumi + 1, 2, 5, "0" * 32)),
        branches=(),
    )
    for lumi, name in ((1, "a"), (2, "b"))
]


def write_costs(folder: Path, suffix: str, values: Sequence[float]) -> Path:
    path = folder / f"costs.{suffix}"
    if suffix == "npy":
        np.save(path, np.array(values))
    elif suffix == "json":
        path.write_text(json.dumps(values))
    else:
        path.write_text("\n".join(map(str, values)))
    return path


@pytest.mark.parametrize("suffix", ["npy", "json", "txt"])
def test_costs_are_read_by_entry_or_by_range(tmp_path: Path, suffix: str) -> None:
    def read(values: Sequence[float]) -> Costs:
        return read_costs(write_costs(tmp_path, suffix, values), layout_of(INDEX), ["a", "b"])

    by_entry = read(list(range(10)))
    first, last = np.array([0, 4, 9]), np.array([10, 6, 10])
    assert by_entry.of(first, last).tolist() == [45.0, 9.0, 9.0]
    by_range = read([2.0, 3.0, 4.0, 6.0])
    assert by_range.of(first, last).tolist() == [15.0, 1.0 + 2.0, 2.0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([1.0] * 7, r"has 7 costs; the input has 10 entries in 4 ranges"),
        ([1.0] * 9 + [-1.0], "none of them negative"),
        ([1.0] * 9 + [float("nan")], "a list of costs in seconds"),
    ],
)
def test_costs_that_do_not_fit_say_so(
    tmp_path: Path, values: Sequence[float], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_costs(write_costs(tmp_path, "npy", values), layout_of(INDEX), ["a", "b"])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("gauss:1", None),
        ("constant", None),
        ("constant:1:2", None),
        ("lognormal:0.01:-1", None),
        ("exponential:inf", None),
        ("constant:1", "2:10"),
        ("constant:1", "0.1"),
    ],
)
def test_models_that_are_none_say_what_to_write(text: str, first: str | None) -> None:
    with pytest.raises(ConfigError, match="for example"):
        parse_cost_model(text, first)


def test_models_are_read_from_the_command_line() -> None:
    assert parse_cost_model("lognormal:0.2:0.7") == CostModel(Shape.LOGNORMAL, 0.2, 0.7)
    expected = CostModel(Shape.CONSTANT, 3.0, first_fraction=0.1, first_factor=5, per_lumi=0.2)
    assert parse_cost_model("constant:3", "0.1:5", 0.2) == expected


def test_the_command_prints_a_table_and_json_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plan", "--synthetic", "2x10x500", "--simulate", "--with-children", "2,4"]
    plot = tmp_path / "plot.svg"
    assert main([*arguments, "--plot", str(plot)]) == 0
    text = capsys.readouterr().out
    assert "10,000 events in 20 lumis of 2 files" in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip()
            and line.split()[0] in ("guided", "lumi", "contiguous", "round-robin")] == [
        "guided", "lumi", "contiguous", "round-robin", "round-robin",
    ] * 2  # fmt: skip
    assert "round-robin 100" in plot.read_text()
    assert main([*arguments, "--json", "--set", "forking.events_per_turn=1"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert [(row["distribution"], row["children"]) for row in written["rows"]] == [
        (name, n) for name in ("guided", "lumi", "contiguous", "round-robin 1") for n in (2, 4)
    ]
    ideals = {n: {r["ideal_s"] for r in written["rows"] if r["children"] == n} for n in (2, 4)}
    assert all(max(ideal) == pytest.approx(min(ideal)) for ideal in ideals.values())


def test_a_plan_needs_no_input_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--synthetic", "2x3x40", "--distribution", "lumi"]) == 0
    assert "240 events, 6 lumis, 6 units (lumi)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--simulate"],
        ["--synthetic", "10x10"],
        ["--synthetic", "0x1x1"],
        ["--synthetic", "1x1x1", "--cluster", "0"],
        ["--synthetic", "1x1x1", "--simulate", "--with-children", "0"],
        ["--synthetic", "1x1x1", "--simulate", "--overhead", "-1"],
        ["--synthetic", "1x1x1", "--simulate", "--per-call", "-1"],
        ["--synthetic", "1x1x1", "--simulate", "--per-lumi", "-1"],
        ["--synthetic", "1x1x1", "--simulate", "--costs", "none.npy"],
        ["--synthetic", "1x1x1", "--set", "forking.childs=3"],
        ["--synthetic", "1x1x1", "--set", "forking.balance_for=3"],
    ],
)
def test_wrong_wishes_are_errors(arguments: list[str]) -> None:
    assert main(["plan", *arguments]) == 2
