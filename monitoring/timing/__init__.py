"""Timing of modules: records of children, merged into tables and traces."""

from forkrun.monitoring.timing.merge import read_timing, write_run_timing
from forkrun.monitoring.timing.model import ModuleTiming, Stall, Timing
from forkrun.monitoring.timing.record import write_timing

__all__ = ["ModuleTiming", "Stall", "Timing", "read_timing", "write_run_timing", "write_timing"]
