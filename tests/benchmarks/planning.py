"""What the start and a plan of a million lumis cost, and what the constants of the guided
distribution are worth: worst utilization over several shapes of input, by simulation."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from forkrun.config.choices import Distribution
from forkrun.config.model import ForkingConfig, JobConfig
from forkrun.index.model import FileIndex, LumiRanges
from forkrun.index.whole_input import input_digests
from forkrun.plan import make
from forkrun.plan.make import make_plan, select_events
from forkrun.plan.select import count_lumis
from forkrun.studies.simulation.compare import Overheads, hand_out, unit_times
from forkrun.studies.simulation.layout import (
    CostModel,
    Costs,
    Layout,
    SyntheticInput,
    draw_costs,
    layout_of,
    synthetic_index,
)

MILLION = SyntheticInput(files=100_000, lumis=10, events=100)
SHAPES = (
    SyntheticInput(1, 1, 100_000, cluster=50),
    SyntheticInput(10, 20, 500, cluster=50),
    SyntheticInput(100, 10, 1_000, cluster=50),
    SyntheticInput(30, 7, 1_300, cluster=200),
    SyntheticInput(20, 37, 1_300, cluster=50),
)
FIRST_3 = CostModel(first_fraction=0.0303, first_factor=10)
FIRST_33 = CostModel(first_fraction=1 / 3, first_factor=10)
MODELS: dict[str, tuple[CostModel, bool]] = {  # whether they are turned around
    "alike": (CostModel(), False),
    "first 3 %": (FIRST_3, False),
    "first 33 %": (FIRST_33, False),
    "last 3 %": (FIRST_3, True),
    "last 33 %": (FIRST_33, True),
    "lumis ± 50 %": (CostModel(per_lumi=0.5), False),
}
CONSTANTS = ((1024, 1 / 32), (2048, 1 / 32), (3072, 1 / 8), (3072, 1 / 32), (3072, 1 / 128),
             (6144, 1 / 32))  # fmt: skip
"""Units of the present size in what is left, part of a job left with its last units."""
TIME_PER_CHILD_S = 60.0
"""Time that the events of the job would take each child."""


def main() -> None:
    """Prints both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=32)
    options = parser.parse_args()
    million_lumis()
    constants(options.children)


def million_lumis() -> None:
    """Times the planning of 100,000 files, for 256 children."""
    index = timed("index", lambda: synthetic_index(MILLION))
    remote = [replace(file, path=f"root://site/{file.path}") for file in index]  # never opened
    ranges = timed("ranges as columns", lambda: LumiRanges.of(remote))
    timed("lumis counted", lambda: count_lumis(ranges, None))
    timed("events selected", lambda: select_events(JobConfig(), ranges))
    timed("fingerprint of input", lambda: input_digests(remote, ranges))
    layout = timed("layout", lambda: layout_of(index))
    costs = timed("costs", lambda: draw_costs(FIRST_3, layout, 1))
    for way in Distribution:
        config = JobConfig(forking=ForkingConfig(distribution=way, children=256))
        plan = timed(f"plan, {way.value}", partial(make_plan, config, index))
        unit_s = timed("  times of units", partial(unit_times, plan, layout, costs))
        timed("  handed out", partial(hand_out, plan, unit_s, Overheads(0.007)))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{'peak memory of all':<22}{peak_mb:8.0f} MB\n")


def timed(name: str, work: Callable[[], Any]) -> Any:
    """What `work` gives, and how long it took."""
    start_s = time.perf_counter()
    result = work()
    print(f"{name:<22}{time.perf_counter() - start_s:8.2f} s")
    return result


def constants(children: int) -> None:
    """A row for each choice."""
    inputs = [(index, layout_of(index)) for index in map(synthetic_index, SHAPES)]
    print(f"worst utilization of {children} children:", ", ".join(MODELS))
    print("of left  last part  units")
    for of_left, last_part in CONSTANTS:
        make._UNITS_LEFT, make._LAST_PART = of_left, last_part
        rows = [worst(inputs, model, turned, children) for model, turned in MODELS.values()]
        found = "  ".join(f"{u:.3f}" for u, _ in rows)
        print(f"{of_left:7}  {last_part:9.4f}  {rows[0][1]:5}  {found}")


def worst(
    inputs: list[tuple[list[FileIndex], Layout]], model: CostModel, turned: bool, children: int
) -> tuple[float, int]:
    """Utilization, and the number of units of the first input."""
    found = []
    for index, layout in inputs:
        plan = make_plan(JobConfig(forking=ForkingConfig(children=children)), index)
        of_event = replace(model, mean_s=TIME_PER_CHILD_S * children / layout.n_entries)
        costs = draw_costs(of_event, layout, 1)
        costs = turn_around(costs) if turned else costs
        at_cluster = plan.units.at_cluster([file.clusters for file in index])
        unit_s = unit_times(plan, layout, costs)
        busy_s = hand_out(plan, unit_s, Overheads(), at_cluster).busy_s
        found.append((float(busy_s.mean() / busy_s.max()), len(plan.units)))
    return min(u for u, _ in found), found[0][1]


def turn_around(costs: Costs) -> Costs:
    """The last event costs what the first did."""
    return Costs(costs.name, np.sort(costs.entry[-1] - costs.entry),
                 costs.before_s[-1] - costs.before_s[::-1])  # fmt: skip


if __name__ == "__main__":
    main()
