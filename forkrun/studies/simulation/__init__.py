"""How long children would take with each distribution: the planner's own units, with event costs
that were measured or drawn, handed out as a job does it."""

from forkrun.studies.simulation.compare import Settings, Simulated, compare
from forkrun.studies.simulation.cost_files import read_costs
from forkrun.studies.simulation.costs import CostModel, Costs, draw_costs, parse_cost_model
from forkrun.studies.simulation.layout import Layout, layout_of
from forkrun.studies.simulation.synthetic import SyntheticInput, synthetic_index

__all__ = [
    "CostModel",
    "Costs",
    "Layout",
    "Settings",
    "Simulated",
    "SyntheticInput",
    "compare",
    "draw_costs",
    "layout_of",
    "parse_cost_model",
    "read_costs",
    "synthetic_index",
]
