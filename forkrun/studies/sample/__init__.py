"""NanoAOD-like samples of any size, for trials without a network."""

from forkrun.studies.sample.events import clusters, make_cluster
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import column_types, write_sample

__all__ = ["SampleSettings", "clusters", "column_types", "make_cluster", "write_sample"]
