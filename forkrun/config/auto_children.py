"""`children = "auto"`: as many as the CPUs that the job may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forkrun.base.cpus import usable_cpus

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
