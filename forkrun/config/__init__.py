"""The job's description: one validated, frozen value."""

from forkrun.config.batch import BatchConfig, BatchSystem
from forkrun.config.branches import FilledBranches
from forkrun.config.conditions import ArrayConfig, ConditionConfig, IovConfig, PrefetchConfig
from forkrun.config.friends import FriendConfig
from forkrun.config.model import (
    CheckConditions,
    Distribution,
    Duplicates,
    EventOrder,
    Executor,
    ForkingConfig,
    IdBranches,
    JobConfig,
    JobSection,
    LimitsConfig,
    MemoryConfig,
    MergeConfig,
    MonitoringConfig,
    OnBadEvent,
    OutputConfig,
    OutputMode,
    RecoveryConfig,
    SourceConfig,
    ThreadsConfig,
)
from forkrun.config.modules import AxisConfig, ModuleConfig
from forkrun.config.read import default_config, read_config, validate, with_settings

__all__ = [
    "ArrayConfig",
    "AxisConfig",
    "BatchConfig",
    "BatchSystem",
    "CheckConditions",
    "ConditionConfig",
    "Distribution",
    "Duplicates",
    "EventOrder",
    "Executor",
    "FilledBranches",
    "ForkingConfig",
    "FriendConfig",
    "IdBranches",
    "IovConfig",
    "JobConfig",
    "JobSection",
    "LimitsConfig",
    "MemoryConfig",
    "MergeConfig",
    "ModuleConfig",
    "MonitoringConfig",
    "OnBadEvent",
    "OutputConfig",
    "OutputMode",
    "PrefetchConfig",
    "RecoveryConfig",
    "SourceConfig",
    "ThreadsConfig",
    "default_config",
    "read_config",
    "validate",
    "with_settings",
]
