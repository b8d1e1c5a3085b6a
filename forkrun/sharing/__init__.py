"""What children share with the parent: kept shared, and kept unchanged."""

from forkrun.sharing.guard import ConditionGuard
from forkrun.sharing.prepare import PreparedMemory, expect_objects, prepare_memory

__all__ = ["ConditionGuard", "PreparedMemory", "expect_objects", "prepare_memory"]
