"""NanoAOD-like samples of any size: something to try everything on, offline."""

from forkrun.sample.events import clusters, make_cluster
from forkrun.sample.settings import SampleSettings
from forkrun.sample.write import column_types, write_sample

__all__ = ["SampleSettings", "clusters", "column_types", "make_cluster", "write_sample"]
