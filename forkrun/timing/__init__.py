"""When modules were called: what children leave, put together, as tables and traces."""

from forkrun.timing.merge import read_timing, write_run_timing
from forkrun.timing.model import ModuleTiming, Stall, Timing
from forkrun.timing.record import write_timing

__all__ = ["ModuleTiming", "Stall", "Timing", "read_timing", "write_run_timing", "write_timing"]
