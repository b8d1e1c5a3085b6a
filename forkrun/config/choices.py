"""Words of which a setting takes one: also for commands that read no configuration."""

from __future__ import annotations

from enum import StrEnum


class Distribution(StrEnum):
    """How events are shared among children."""

    GUIDED = "guided"
    LUMI = "lumi"
    ROUND_ROBIN = "round-robin"
    CONTIGUOUS = "contiguous"


class Executor(StrEnum):
    """Executor of a child's tasks."""

    SERIAL = "serial"
    TBB = "tbb"
    DISPATCH = "dispatch"


class OnBadEvent(StrEnum):
    """Reaction to an event that crashes the child, or to a bad file."""

    STOP = "stop"
    SKIP = "skip"


class CheckConditions(StrEnum):
    """How often children compare conditions with what the parent loaded."""

    NEVER = "never"
    CHILD = "child"
    UNIT = "unit"
    CALL = "call"


class Duplicates(StrEnum):
    """Reaction to input that is there twice."""

    WARN = "warn"
    ERROR = "error"
    KEEP = "keep"
    DROP = "drop"


class EventOrder(StrEnum):
    """Order of events in the plan and in outputs."""

    AUTO = "auto"
    INPUT = "input"
    LUMI = "lumi"
    SORTED = "sorted"


class OutputMode(StrEnum):
    """Contents of an output."""

    FULL = "full"
    FRIEND = "friend"


class BatchSystem(StrEnum):
    """System that starts the parents of nodes."""

    LOCAL = "local"
    SLURM = "slurm"
    HTCONDOR = "htcondor"


class OutputsMade(StrEnum):
    """Where outputs of many nodes are made."""

    COLLECT = "collect"
    """By `forkrun collect`, which reads what outputs keep of the input."""
    ON_NODES = "on nodes"
    """Each node makes its part, and `forkrun collect` joins these."""


class Partner(StrEnum):
    """Which of several entries of a friend with the same keys goes with an event."""

    ERROR = "error"
    FIRST = "first"
