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
    """What runs the tasks of a child."""

    SERIAL = "serial"
    TBB = "tbb"
    DISPATCH = "dispatch"


class OnBadEvent(StrEnum):
    """What is done about an event that crashes the child."""

    STOP = "stop"
    SKIP = "skip"


class CheckConditions(StrEnum):
    """How often children compare conditions with what the parent loaded."""

    NEVER = "never"
    CHILD = "child"
    UNIT = "unit"
    CALL = "call"


class Duplicates(StrEnum):
    """What becomes of input that is there twice."""

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
    """What an output holds of its events."""

    FULL = "full"
    FRIEND = "friend"


class BatchSystem(StrEnum):
    """What starts the parents of nodes."""

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
