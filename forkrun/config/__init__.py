"""The job's description: one validated, frozen value.

Names are imported when they are first used: of what reads no configuration, few need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forkrun.base.importing import names_on_demand

if TYPE_CHECKING:
    from forkrun.config.batch import BatchConfig
    from forkrun.config.branches import FilledBranches
    from forkrun.config.choices import (
        BatchSystem,
        CheckConditions,
        Distribution,
        Duplicates,
        EventOrder,
        Executor,
        OnBadEvent,
        OutputMode,
    )
    from forkrun.config.conditions import ArrayConfig, ConditionConfig, IovConfig, PrefetchConfig
    from forkrun.config.friends import FriendConfig
    from forkrun.config.model import (
        ForkingConfig,
        JobConfig,
        JobSection,
        LimitsConfig,
        MemoryConfig,
        MonitoringConfig,
        RecoveryConfig,
        ThreadsConfig,
    )
    from forkrun.config.modules import AxisConfig, ModuleConfig
    from forkrun.config.outputs import MergeConfig, OutputConfig
    from forkrun.config.read import default_config, read_config, validate, with_settings
    from forkrun.config.source import IdBranches, SourceConfig

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

__getattr__ = names_on_demand(
    __name__,
    {
        "forkrun.config.batch": ("BatchConfig",),
        "forkrun.config.branches": ("FilledBranches",),
        "forkrun.config.choices": (
            "BatchSystem",
            "CheckConditions",
            "Distribution",
            "Duplicates",
            "EventOrder",
            "Executor",
            "OnBadEvent",
            "OutputMode",
        ),
        "forkrun.config.conditions": (
            "ArrayConfig",
            "ConditionConfig",
            "IovConfig",
            "PrefetchConfig",
        ),
        "forkrun.config.friends": ("FriendConfig",),
        "forkrun.config.model": (
            "ForkingConfig",
            "JobConfig",
            "JobSection",
            "LimitsConfig",
            "MemoryConfig",
            "MonitoringConfig",
            "RecoveryConfig",
            "ThreadsConfig",
        ),
        "forkrun.config.modules": ("AxisConfig", "ModuleConfig"),
        "forkrun.config.outputs": ("MergeConfig", "OutputConfig"),
        "forkrun.config.read": ("default_config", "read_config", "validate", "with_settings"),
        "forkrun.config.source": ("IdBranches", "SourceConfig"),
    },
)
