"""Plan of a job, or of a node's part, for a merge; order of its commits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from msgspec import Struct

from forkrun.base.destinations import split_tree
from forkrun.base.quantities import plural
from forkrun.errors import VerificationError
from forkrun.formats import EventSource
from forkrun.formats.events import NO_IDS, Identity, first_file
from forkrun.rundir.ledger import Commit
from forkrun.rundir.output_content import OutputContents

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config.source import IdBranches

_MOST_KEPT_BYTES = 1 << 30
"""Unpacked input that the merge keeps if it takes entries in another order."""
Carried = tuple[int, str, str, int]
"""Number, path, UUID and bytes of a file whose other trees and objects are carried to outputs."""


class InputFiles(NamedTuple):
    """Files of a dataset, or of all datasets, except those left out, by `numbers`. `carried`: files
    whose other trees and objects go to outputs; `first`: file whose `tree` gives outputs their
    structure."""

    numbers: Sequence[int]
    carried: Sequence[Carried]
    first: str
    tree: str


class Planned(Struct, frozen=True, dict=True):
    """Plan for a merge. `n_events`, `digest`: of all events to be read; `is_whole`: every unit must
    be committed, else the committed ones are merged. In a node's part, paths of files that other
    nodes read are ""."""

    units: PlannedUnits
    files: Sequence[str]
    n_events: int
    digest: str | None
    identities: Sequence[Identity]
    """UUID, bytes and modification time of each file when it was indexed."""
    contents: OutputContents
    ids: IdBranches
    is_whole: bool = True
    datasets: Sequence[int] = ()
    """(n_files,) dataset number of each file; empty: the job has no datasets."""
    trees: Sequence[str] = ()
    """(n_files,) tree of events of each file; empty: source.tree in all."""
    output_tree: str = ""
    """The tree of events in outputs."""
    left_out: Collection[int] = ()
    """Numbers of files that cannot be read."""
    carries: Sequence[Carried] | None = None
    """Files whose other trees and objects go to a node's outputs; None: for the whole job."""

    @property
    def is_part(self) -> bool:
        """Whether this is a node's part, whose outputs are joined with those of other nodes."""
        return self.carries is not None

    @cached_property
    def inputs(self) -> dict[int | None, InputFiles]:
        """Files by dataset number; None: all files."""
        return {each: self._files(each) for each in self._datasets}

    @cached_property
    def sources(self) -> dict[int | None, EventSource]:
        """Input whose whole entries are taken, without columns, by dataset number: only its files,
        if they have events; None: all files."""
        return {each: self._source(each) for each in self._datasets}

    @cached_property
    def sources_with_events(self) -> dict[tuple[str, int | None], EventSource]:
        """The same for trees that accompany the events, by path of the tree and dataset number."""
        return {
            (tree, each): self._source_with_events(tree, each)
            for tree in self.contents.with_events
            for each in self._datasets
        }

    @cached_property
    def paths_with_events(self) -> list[str]:
        """Paths of trees that accompany the events, in all files."""
        of_files = (path for tree in self.contents.with_events for path in self._paths_of(tree))
        return list(dict.fromkeys([*self.contents.with_events, *of_files]))

    @property
    def _datasets(self) -> list[int | None]:
        return [None, *range(1 + max(self.datasets, default=0))]

    def _files(self, dataset: int | None) -> InputFiles:
        files = self._numbers(dataset)
        first = first_file(self._clusters(dataset, self.contents.clusters))
        tree = self.trees[first] if self.trees else self.ids.tree
        return InputFiles(files, self._carried(dataset, files), self.files[first], tree)

    def _carried(self, dataset: int | None, files: Sequence[int]) -> list[Carried]:
        if self.carries is None:
            return [(n, self.files[n], *self.identities[n][:2]) for n in files]
        return [
            each
            for each in self.carries
            if each[0] not in self.left_out
            if dataset is None or not self.datasets or self.datasets[each[0]] == dataset
        ]

    def _source_with_events(self, tree: str, dataset: int | None) -> EventSource:
        clusters = self._clusters(dataset, self.contents.with_events[tree])
        trees = self._paths_of(tree)
        events = copy(self.sources[dataset])
        events.tree, events.ids, events.clusters, events.trees = tree, NO_IDS, clusters, trees
        return events

    def _paths_of(self, tree: str) -> list[str]:
        """Path of the tree in each file; empty if it is the same in all."""
        _, name = split_tree(tree)
        return [split_tree(of_events)[0] + name for of_events in self.trees]

    def _source(self, dataset: int | None) -> EventSource:
        tree, ids = self.ids.tree, self.ids[1:]
        clusters = self._clusters(dataset, self.contents.clusters)
        n_kept_bytes = _MOST_KEPT_BYTES if self.units.are_out_of_order else 0
        return EventSource(
            files=self.files, tree=tree, ids=ids, clusters=clusters, identities=self.identities,
            n_kept_bytes=n_kept_bytes, format=self.contents.input_format, trees=self.trees,
        )  # fmt: skip

    def _clusters(self, dataset: int | None, known: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        own = {n for n in self._numbers(dataset) if len(known[n]) > 1}
        return [each if n in own or not own else () for n, each in enumerate(known)]

    def _numbers(self, dataset: int | None) -> list[int]:
        numbers = [n for n, path in enumerate(self.files) if path and n not in self.left_out]
        if dataset is None or not self.datasets:
            return numbers
        return [n for n in numbers if self.datasets[n] == dataset]


Integers = np.ndarray[tuple[int], np.dtype[np.int64]]


class PlannedUnit(Protocol):
    """A unit of the plan, as a merge sees it."""

    @property
    def number(self) -> int:
        """Number of the unit, in merge order."""

    @property
    def run(self) -> int:
        """Run number of its lumi."""

    @property
    def lumi(self) -> int:
        """Number of its lumi in the run."""

    @property
    def ranges(self) -> Sequence[tuple[int, int, int]]:
        """File, first and last of each range of entries."""


class PlannedUnits(Protocol):
    """Units of a plan in merge order. Unit u has the ranges [first_range[u], first_range[u + 1]) of
    entries; `file`, `first`, `last` : (n_ranges,)."""

    @property
    def first_range(self) -> Integers: ...
    @property
    def file(self) -> Integers: ...
    @property
    def first(self) -> Integers: ...
    @property
    def last(self) -> Integers: ...
    @property
    def are_out_of_order(self) -> bool:
        """Whether a file continues after another one, or an earlier entry follows a later one."""

    @property
    def n_events(self) -> Integers:
        """(n_units,) number of events to be read of each."""

    def joined_ranges(self, units: Integers) -> Any:
        """(n, 3) file, first and last of the entries of units."""

    def __iter__(self) -> Iterator[PlannedUnit]: ...


def merge_order(
    n_events: Integers, commits: Iterable[Commit], *, is_whole: bool = True
) -> list[Commit]:
    """Commits in plan order. `n_events` : (n_units,) of the units of the plan. Raises
    VerificationError unless each was committed exactly once, with all its events; not `is_whole`:
    some may be missing."""
    ordered = sorted(commits, key=lambda commit: commit.unit)
    n_units = len(n_events)
    n_times = np.zeros(max([n_units, *(c.places.stop for c in ordered)]), dtype=np.int64)
    for commit in ordered:
        n_times[commit.places] += 1
    twice = np.flatnonzero(n_times > 1)
    problems = [f"unit {n} was committed {plural(n_times[n], 'time')}" for n in twice]
    others = n_units + np.flatnonzero(n_times[n_units:])
    problems += [f"unit {number} is not in the plan" for number in others]
    missing = np.flatnonzero(n_times[:n_units] == 0)
    if is_whole and len(missing):
        shown = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        problems.append(f"{len(missing)} of {plural(n_units, 'unit')} not committed: {shown}")
    for commit in ordered:
        n_planned = int(n_events[commit.places].sum())
        n_read = commit.n_events + len(commit.skipped)
        if n_read != n_planned and commit.unit < n_units:
            problems.append(f"unit {commit.unit}: {plural(n_read, 'event')} read, not {n_planned}")
    if problems:
        raise VerificationError("\n".join(problems))
    return ordered
