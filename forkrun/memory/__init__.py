"""What children share with the parent: kept shared, and kept unchanged."""

from forkrun.memory.guard import ConditionGuard
from forkrun.memory.prepare import PreparedMemory, prepare_memory

__all__ = ["ConditionGuard", "PreparedMemory", "prepare_memory"]
