"""Conditions: calibrations, corrections, models. Loaded once, in the parent; shared by children."""

from forkrun.conditions.binned_table import BinnedTable
from forkrun.conditions.iov import Iov
from forkrun.conditions.prefetch import prefetch_conditions
from forkrun.conditions.provider import ConditionsProvider
from forkrun.conditions.providers.files import OnnxModel
from forkrun.conditions.snapshots import Conditions, ModuleConditions

__all__ = [
    "BinnedTable",
    "Conditions",
    "ConditionsProvider",
    "Iov",
    "ModuleConditions",
    "OnnxModel",
    "prefetch_conditions",
]
