"""What a job's times and dependencies allow: parallelism, critical path, speed-up."""

from forkrun.studies.estimate.graph import EstimateGraph, graph_of_replay, graph_of_timing
from forkrun.studies.estimate.parallelism import (
    Parallelism,
    critical_path_speedup,
    measure_parallelism,
)
from forkrun.studies.estimate.scaling import Scaling, scale
from forkrun.studies.estimate.simulate import Execution, simulate
from forkrun.studies.estimate.steady_state import SteadyState, steady_state

__all__ = [
    "EstimateGraph",
    "Execution",
    "Parallelism",
    "Scaling",
    "SteadyState",
    "critical_path_speedup",
    "graph_of_replay",
    "graph_of_timing",
    "measure_parallelism",
    "scale",
    "simulate",
    "steady_state",
]
