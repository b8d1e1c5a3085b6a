"""Simulated jobs: nothing is lost, no bound is broken, and the published case comes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.cli import main
from forkrun.config import Distribution, ForkingConfig, JobConfig
from forkrun.errors import ConfigError
from forkrun.index import FileIndex, LumiRange
from forkrun.plan import make_plan
from forkrun.studies.simulation import (
    CostModel,
    Costs,
    Settings,
    Simulated,
    SyntheticInput,
    compare,
    costs,
    draw_costs,
    layout_of,
    parse_cost_model,
    read_costs,
    synthetic_index,
)
from forkrun.studies.simulation.costs import Shape
from forkrun.studies.simulation.hand_out import busy_times, take_turns, unit_times
from forkrun.studies.simulation.reading import cluster_reads, mean_read_entries

LARGE_EVENTS_FIRST = CostModel(first_fraction=0.0303, first_factor=10)
"""What `contiguous` makes of it with 8 children: utilization 0.4."""


@st.composite
def jobs(draw: st.DrawFn) -> tuple[JobConfig, list[FileIndex]]:
    files, lumis, events, cluster = (draw(st.integers(1, n)) for n in (4, 5, 60, 70))
    shape = SyntheticInput(files, lumis, events, cluster)
    forking = ForkingConfig(
        distribution=draw(st.sampled_from(list(Distribution))),
        children=draw(st.integers(1, 9)),
        events_per_turn=draw(st.integers(1, 20)),
        balance_for=draw(st.integers(1, 9)),
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


@given(jobs(), models, st.sampled_from([0.0, 0.005]))
def test_busy_times_are_the_events_costs_and_the_units_overhead(
    job: tuple[JobConfig, list[FileIndex]], model: CostModel, overhead_s: float
) -> None:
    config, index = job
    plan, layout = make_plan(config, index), layout_of(index)
    drawn = draw_costs(model, layout, 1)
    unit_s = unit_times(plan, layout, drawn, overhead_s)
    busy_s = busy_times(plan, unit_s)
    expected_s = drawn.before_s[-1] + len(plan.units) * overhead_s
    assert len(busy_s) == config.forking.children
    assert busy_s.sum() == pytest.approx(expected_s)
    assert busy_s.max() * (1 + 1e-9) >= expected_s / config.forking.children
    assert busy_s.max() * (1 + 1e-9) >= unit_s.max()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 9))
def test_a_free_child_takes_the_next_unit_and_nobody_waits(times: list[int], children: int) -> None:
    ends = [0] * children
    for time in times:
        ends[ends.index(min(ends))] += time
    busy_s = take_turns(np.array(times, dtype=np.float64), children)
    assert sorted(busy_s.tolist()) == sorted(ends)
    assert busy_s.max() <= sum(times) / children + max(times)


@given(jobs())
def test_cluster_reads_are_counted_unit_by_unit(job: tuple[JobConfig, list[FileIndex]]) -> None:
    config, index = job
    plan = make_plan(config, index)
    pairs = set()
    for unit in plan.units:
        for r in unit.ranges:
            begins = index[r.file].clusters[:-1]
            ends = index[r.file].clusters[1:]
            for cluster, (begin, end) in enumerate(zip(begins, ends, strict=True)):
                if begin < r.last and r.first < end:
                    pairs.add((unit.number, r.file, cluster))
    clusters = {pair[1:] for pair in pairs}
    assert cluster_reads(plan, layout_of(index)) == pytest.approx(len(pairs) / len(clusters))


def test_round_robin_reads_event_by_event() -> None:
    index = synthetic_index(SyntheticInput(2, 5, 40))
    forking = ForkingConfig(children=4, distribution="round-robin", events_per_turn=1)
    assert mean_read_entries(make_plan(JobConfig(forking=forking), index)) == 1.0
    whole = ForkingConfig(children=4, distribution="lumi")
    assert mean_read_entries(make_plan(JobConfig(forking=whole), index)) == 40.0


def simulated(
    shape: SyntheticInput,
    children: int,
    model: CostModel = LARGE_EVENTS_FIRST,
    **forking: int,
) -> dict[str, Simulated]:
    """By distribution."""
    index = synthetic_index(shape)
    drawn = draw_costs(model, layout_of(index), 1)
    config = JobConfig(forking=ForkingConfig(events_per_turn=1, **forking))
    rows = compare(config, index, drawn, Settings((children,), 0.005))
    return {row.distribution: row for row in rows}


def test_the_published_case_comes_out_and_guided_mends_it() -> None:
    """4,000 events of which the first 3 % are ten times larger: reconstruction, 10 s an event."""
    model = CostModel(mean_s=10, spread=0.5, first_fraction=0.0303, first_factor=10)
    rows = simulated(SyntheticInput(1, 100, 40, cluster=40), 8, model)
    assert rows["contiguous"].utilization == pytest.approx(0.4, abs=0.02)
    assert rows["round-robin 1"].utilization == pytest.approx(0.95, abs=0.02)
    assert (rows["guided"].utilization or 0) >= 0.98
    assert rows["guided"].mean_read_entries >= 10 * rows["round-robin 1"].mean_read_entries


@pytest.mark.parametrize(
    ("shape", "children", "balance_for"),
    [
        (SyntheticInput(10, 200, 200), 8, 32),
        (SyntheticInput(10, 200, 200), 32, 32),
        (SyntheticInput(20, 500, 100), 256, 32),
        (SyntheticInput(100, 100, 100), 256, 256),
    ],
)
@pytest.mark.parametrize("fraction", [0.0303, 1 / 3])
def test_guided_uses_its_children_and_reads_as_much_at_a_time_as_contiguous(
    shape: SyntheticInput, children: int, balance_for: int, fraction: float
) -> None:
    model = CostModel(first_fraction=fraction, first_factor=10)
    rows = simulated(shape, children, model, balance_for=balance_for)
    guided, contiguous = rows["guided"], rows["contiguous"]
    assert (guided.utilization or 0) >= 0.98
    assert guided.efficiency >= 0.97
    assert guided.mean_read_entries >= 0.95 * contiguous.mean_read_entries
    assert (contiguous.utilization or 1) <= 0.41


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
    assert "10 000 events in 20 lumis of 2 files" in text
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
        ["--synthetic", "1x1x1", "--simulate", "--per-lumi", "-1"],
        ["--synthetic", "1x1x1", "--simulate", "--costs", "none.npy"],
        ["--synthetic", "1x1x1", "--set", "forking.childs=3"],
    ],
)
def test_wrong_wishes_are_errors(arguments: list[str]) -> None:
    assert main(["plan", *arguments]) == 2
