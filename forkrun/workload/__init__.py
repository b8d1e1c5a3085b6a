"""Synthetic replay files with the statistics of real ones."""

from forkrun.workload.fit import fit
from forkrun.workload.generate import Wishes, generate
from forkrun.workload.presets import PRESETS
from forkrun.workload.statistics import Statistics

__all__ = ["PRESETS", "Statistics", "Wishes", "fit", "generate"]
