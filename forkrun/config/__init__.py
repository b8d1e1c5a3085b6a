"""The job's description: one validated, frozen value."""

from forkrun.config.model import (
    ConditionConfig,
    Distribution,
    Executor,
    ForkingConfig,
    JobConfig,
    JobSection,
    LimitsConfig,
    MergeConfig,
    MergeOrder,
    ModuleConfig,
    MonitoringConfig,
    OnBadEvent,
    OutputConfig,
    RecoveryConfig,
    SourceConfig,
    ThreadsConfig,
)
from forkrun.config.read import default_config, read_config, validate

__all__ = [
    "ConditionConfig",
    "Distribution",
    "Executor",
    "ForkingConfig",
    "JobConfig",
    "JobSection",
    "LimitsConfig",
    "MergeConfig",
    "MergeOrder",
    "ModuleConfig",
    "MonitoringConfig",
    "OnBadEvent",
    "OutputConfig",
    "RecoveryConfig",
    "SourceConfig",
    "ThreadsConfig",
    "default_config",
    "read_config",
    "validate",
]
