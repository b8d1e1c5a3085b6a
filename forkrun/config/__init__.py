"""The job's description: one validated, frozen value."""

from forkrun.config.model import (
    ConditionConfig,
    Distribution,
    Executor,
    ForkingConfig,
    JobConfig,
    JobSection,
    MergeConfig,
    MergeOrder,
    ModuleConfig,
    OutputConfig,
    SourceConfig,
    ThreadsConfig,
)
from forkrun.config.read import read_config, validate

__all__ = [
    "ConditionConfig",
    "Distribution",
    "Executor",
    "ForkingConfig",
    "JobConfig",
    "JobSection",
    "MergeConfig",
    "MergeOrder",
    "ModuleConfig",
    "OutputConfig",
    "SourceConfig",
    "ThreadsConfig",
    "read_config",
    "validate",
]
