"""Which child processes which events: a pure function of the index and the settings."""

from forkrun.plan.lumi_mask import LumiMask, read_lumi_mask
from forkrun.plan.make import Selection, make_plan
from forkrun.plan.model import EntryRange, Plan, Unit

__all__ = [
    "EntryRange",
    "LumiMask",
    "Plan",
    "Selection",
    "Unit",
    "make_plan",
    "read_lumi_mask",
]
