"""What a merge takes from the plan of a job, or of a node's part of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from forkrun.base.destinations import split_tree
from forkrun.formats import EventSource, format_named
from forkrun.formats.events import NO_IDS, Identity, first_file
from forkrun.merge.order import PlannedUnits
from forkrun.rundir.output_content import OutputContents

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config import IdBranches

_MOST_KEPT_BYTES = 1 << 30
"""What the merge keeps unpacked of an input whose entries it takes in another order."""
Carried = tuple[int, str, str, int]
"""Number, path, UUID and bytes of a file whose rows beside events are carried to outputs."""


class InputFiles(NamedTuple):
    """Files of a dataset, or of all, but for those that are left out. `numbers`; `carried`: those
    whose rows beside events outputs have; `first`: that whose tree gives outputs their structure,
    `tree`: its tree."""

    numbers: Sequence[int]
    carried: Sequence[Carried]
    first: str
    tree: str


class Planned(Struct, frozen=True, dict=True):
    """What the merge takes from the plan. `n_events`, `digest`: of all events to be read;
    `is_whole`: every unit has to be there, else what is there is merged. Of a node's part paths of
    files that others read are ""."""

    units: PlannedUnits
    files: Sequence[str]
    n_events: int
    digest: str | None
    identities: Sequence[Identity]
    """UUID, bytes and time of the last change of each file, as it was indexed."""
    contents: OutputContents
    ids: IdBranches
    is_whole: bool = True
    datasets: Sequence[int] = ()
    """(n_files,) number of the dataset of each file; none: the job has no datasets."""
    trees: Sequence[str] = ()
    """(n_files,) tree of events of each file; none: source.tree in all."""
    output_tree: str = ""
    """The tree of events in outputs."""
    left_out: Collection[int] = ()
    """Numbers of files that cannot be read."""
    carries: Sequence[Carried] | None = None
    """Files whose rows beside events a node's outputs have; None: the plan is of the whole job."""

    @property
    def is_part(self) -> bool:
        """Whether this is of a node, whose outputs are joined with those of others."""
        return self.carries is not None

    @cached_property
    def inputs(self) -> dict[int | None, InputFiles]:
        """By number of a dataset its files; None: all."""
        return {each: self._files(each) for each in self._datasets}

    @cached_property
    def sources(self) -> dict[int | None, EventSource]:
        """The input, from which whole entries are taken: no column of it is asked for. By number of
        a dataset its files alone, if they have events; None: all."""
        return {each: self._source(each) for each in self._datasets}

    @cached_property
    def sources_with_events(self) -> dict[tuple[str, int | None], EventSource]:
        """The same for trees that go with the events, by path of the tree as well."""
        return {
            (tree, each): self._source_with_events(tree, each)
            for tree in self.contents.with_events
            for each in self._datasets
        }

    @cached_property
    def paths_with_events(self) -> list[str]:
        """Trees that go with the events, wherever files have them."""
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
        return self.sources[dataset]._replace(tree=tree, ids=NO_IDS, clusters=clusters, trees=trees)

    def _paths_of(self, tree: str) -> list[str]:
        """Where each file has it; nothing if all have it in the same place."""
        _, name = split_tree(tree)
        return [split_tree(of_events)[0] + name for of_events in self.trees]

    def _source(self, dataset: int | None) -> EventSource:
        tree, ids = self.ids.tree, self.ids[1:]
        clusters = self._clusters(dataset, self.contents.clusters)
        n_kept_bytes = _MOST_KEPT_BYTES if self.units.go_back else 0
        return EventSource(
            files=self.files, tree=tree, ids=ids, columns=(), clusters=clusters,
            identities=self.identities, fills={}, friends=(), friend_columns={},
            n_kept_bytes=n_kept_bytes, form=format_named(self.contents.input_format),
            trees=self.trees,
        )  # fmt: skip

    def _clusters(self, dataset: int | None, known: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        own = {n for n in self._numbers(dataset) if len(known[n]) > 1}
        return [each if n in own or not own else () for n, each in enumerate(known)]

    def _numbers(self, dataset: int | None) -> list[int]:
        numbers = [n for n, path in enumerate(self.files) if path and n not in self.left_out]
        if dataset is None or not self.datasets:
            return numbers
        return [n for n in numbers if self.datasets[n] == dataset]
