"""How a job went: samples of memory, CPU and reads, and the report made of them.

Imports of this package are light: plotting is loaded only by `write_report`.
"""

from forkrun.monitoring.report import write_report
from forkrun.monitoring.sampler import Sampler, SamplerSettings, sample_self
from forkrun.monitoring.timeline import Timeline, TimelineEvent

__all__ = [
    "Sampler",
    "SamplerSettings",
    "Timeline",
    "TimelineEvent",
    "sample_self",
    "write_report",
]
