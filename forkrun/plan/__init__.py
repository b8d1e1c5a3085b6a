"""Which child processes which events: a pure function of the index and the settings."""

from forkrun.plan.lumi_mask import LumiMask, read_lumi_mask, within
from forkrun.plan.make import make_plan, plan_selected, select_events
from forkrun.plan.model import ANY_CHILD, EntryRange, Plan, Stretch, Unit, Units
from forkrun.plan.select import Selected, Selection

__all__ = [
    "ANY_CHILD",
    "EntryRange",
    "LumiMask",
    "Plan",
    "Selected",
    "Selection",
    "Stretch",
    "Unit",
    "Units",
    "make_plan",
    "plan_selected",
    "read_lumi_mask",
    "select_events",
    "within",
]
