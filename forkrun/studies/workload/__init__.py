"""Synthetic replay files with the statistics of real ones."""

from forkrun.studies.workload.fit import fit
from forkrun.studies.workload.generate import Wishes, generate
from forkrun.studies.workload.presets import PRESETS
from forkrun.studies.workload.statistics import Statistics

__all__ = ["PRESETS", "Statistics", "Wishes", "fit", "generate"]
