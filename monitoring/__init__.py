"""Monitoring of a job: samples of memory, CPU and reads, and the report made from them.

Imports of this package are light: `forkrun.monitoring.report`, which writes the report, is not
loaded with it.
"""

from forkrun.monitoring.sampler import Sampler, SamplerSettings, sample_self
from forkrun.monitoring.timeline import Timeline, TimelineEvent

__all__ = [
    "Sampler",
    "SamplerSettings",
    "Timeline",
    "TimelineEvent",
    "sample_self",
]
