"""A job on many nodes: the units of each node, and the commits of all nodes as those of one run.

Each node has its own run directory, with units counted from 0. So no two nodes write the same file
or share a lock.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.durable import read_json, write_json
from forkrun.base.regular_file import read_regular
from forkrun.config.choices import OutputsMade
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, Place, StoredLedgers, read_ledgers, revoke

VERSION = 4
"""Version of the records in batch/ and of the numbering of units."""

_READ_AT_ONCE = 100
"""Number of nodes whose ledgers are read before decoding: alternating the two slows both by a
third."""


class NodeRanges(Struct, frozen=True):
    """`first_unit` : (n_nodes + 1,) in the plan, ending with the number of units; `n_events`:
    (n_nodes,); `children`: per node, numbered consecutively across nodes."""

    first_unit: tuple[int, ...]
    n_events: tuple[int, ...]
    children: int = 1

    def __len__(self) -> int:
        return len(self.n_events)

    def n_units(self, number: int) -> int:
        """Number of units of a node."""
        return self.first_unit[number + 1] - self.first_unit[number]

    def node_of(self, unit: int) -> int:
        """Number of the node that has a unit of the plan."""
        return bisect_right(self.first_unit, unit) - 1

    def write(self, folder: RunDirectory) -> None:
        """Writes the ranges into the run directory."""
        write_json(folder.node_ranges, {"version": VERSION, **asdict(self)}, indent=None)

    @classmethod
    def read(cls, folder: RunDirectory) -> NodeRanges:
        """Reads the ranges. Raises OutputError if the directory has another version, or is
        damaged."""
        place = folder.node_ranges
        try:
            data: dict[str, Any] = json.loads(read_regular(place))
            version = data.get("version")
            if version != VERSION:
                raise OutputError(
                    f"{folder.path}: this run directory is of version {version} and this forkrun"
                    f" works with version {VERSION}: use the forkrun that submitted it"
                )
            first, n_events = tuple(data["first_unit"]), tuple(data["n_events"])
            if len(first) != len(n_events) + 1 or any(a > b for a, b in pairwise(first)):
                raise ValueError("its numbers are not in order")
            return cls(first, n_events, int(data["children"]))
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ArithmeticError,
        ) as error:
            raise OutputError(f"{place}: cannot be read: {error}") from None


def is_on_nodes(folder: RunDirectory) -> bool:
    """Whether the job was fully prepared for many nodes: the fingerprint is written last."""
    return folder.batch.exists() and folder.fingerprint.exists()


def makes_outputs_on_nodes(folder: RunDirectory) -> bool:
    """Whether each node makes its part of the outputs. Reads only this setting: modules of the
    configuration may no longer exist."""
    return bool(read_json(folder.config).get("batch", {}).get("outputs") == OutputsMade.ON_NODES)


def read_commits(folder: RunDirectory, damaged: list[str] | None = None) -> list[Commit]:
    """Every valid commit of a run, of all its nodes if any, with units numbered as in the plan and
    files relative to the run directory. `damaged` gets a text for each invalid line."""
    if not is_on_nodes(folder):
        return read_ledgers(folder.ledger, damaged)
    ranges = NodeRanges.read(folder)
    problems = [] if damaged is None else damaged
    commits: list[Commit] = []
    for begin in range(0, len(ranges), _READ_AT_ONCE):
        numbers = range(begin, min(begin + _READ_AT_ONCE, len(ranges)))
        stored = [StoredLedgers.read(folder.node(number).ledger, problems) for number in numbers]
        for number, ledgers in zip(numbers, stored, strict=True):
            commits += _of_node(ledgers, ranges, number, problems)
    return commits


def _of_node(
    stored: StoredLedgers, ranges: NodeRanges, number: int, damaged: list[str]
) -> Iterator[Commit]:
    first, end = ranges.first_unit[number : number + 2]
    at = Place(RunDirectory.name_of_node(number), first, ranges.children * number)
    for commit in stored.commits(damaged, at):
        if first <= commit.unit and commit.units.stop <= end:
            yield commit
        else:
            damaged.append(f"{number:04d}: unit {commit.unit - first} is not one of this node's")


def revoke_commits(folder: RunDirectory, commits: Iterable[tuple[Commit, str]]) -> None:
    """Revokes commits given by `read_commits`, each with its reason."""
    if not is_on_nodes(folder):
        revoke(folder.ledger, commits)
        return
    ranges = NodeRanges.read(folder)
    by_node: dict[int, list[tuple[Commit, str]]] = {}
    for commit, why in commits:
        number = ranges.node_of(commit.unit)
        own = replace(commit, unit=commit.unit - ranges.first_unit[number])
        by_node.setdefault(number, []).append((own, why))
    for number, found in by_node.items():
        revoke(folder.node(number).ledger, found)
