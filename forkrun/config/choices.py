"""Words of which a setting takes one: also for commands that read no configuration; and
`children = "auto"`: as many as the CPUs that the job may use."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from forkrun.base.cpus import usable_cpus


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


AUTO = "auto"
_BY_CHILDREN = ("round-robin", "contiguous")
"""Distributions that deal events to a number of children: what they give depends on it."""


def children_for(n_threads: int) -> int:
    """Children of so many threads each that use all CPUs."""
    return max(usable_cpus() // max(n_threads, 1), 1)


def with_children(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with a number of children where it has "auto" or none. Raises ValueError if
    the distribution needs a number of the user's."""
    forking, threads = raw.get("forking", {}), raw.get("threads", {})
    if not isinstance(forking, Mapping) or forking.get("children", AUTO) != AUTO:
        return dict(raw)
    if (distribution := forking.get("distribution")) in _BY_CHILDREN:
        raise ValueError(
            f'forking.children: give a number: with distribution = "{distribution}"'
            " what each does depends on it, and so would the output on this machine's CPUs:"
            ' forking = { children = 4 }, in Python forking={"children": 4}, or --children 4'
        )
    n_threads = threads.get("per_child", 1) if isinstance(threads, Mapping) else 1
    n_children = children_for(n_threads if isinstance(n_threads, int) else 1)
    return {**raw, "forking": {**forking, "children": n_children}}
