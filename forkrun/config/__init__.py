"""The job's description: one validated, frozen value."""

from forkrun.config.batch import BatchConfig, BatchSystem
from forkrun.config.branches import FilledBranches
from forkrun.config.conditions import ArrayConfig, ConditionConfig, IovConfig, PrefetchConfig
from forkrun.config.friends import FriendConfig
from forkrun.config.model import (
    CheckConditions,
    Distribution,
    Executor,
    ForkingConfig,
    JobConfig,
    JobSection,
    LimitsConfig,
    MemoryConfig,
    MonitoringConfig,
    OnBadEvent,
    RecoveryConfig,
    ThreadsConfig,
)
from forkrun.config.modules import AxisConfig, ModuleConfig
from forkrun.config.outputs import MergeConfig, OutputConfig, OutputMode
from forkrun.config.read import default_config, read_config, validate, with_settings
from forkrun.config.source import Duplicates, EventOrder, IdBranches, SourceConfig

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
