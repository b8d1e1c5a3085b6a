"""What a merge takes from the plan of a job, or of a node's part of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

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
    """Of a node's part of the plan, the files whose rows beside events its outputs have; None: the
    plan is of the whole job."""

    @property
    def is_part(self) -> bool:
        """Whether this is of a node, whose outputs are joined with those of others."""
        return self.carries is not None

    def carried(self, dataset: int | None) -> list[Carried]:
        """The files of this dataset, or of all, whose rows beside events outputs have."""
        if self.carries is None:
            own = self.files_of(dataset)
            return [(n, self.files[n], *self.identities[n][:2]) for n in own]
        return [
            each
            for each in self.carries
            if each[0] not in self.left_out
            if dataset is None or not self.datasets or self.datasets[each[0]] == dataset
        ]

    @cached_property
    def sources(self) -> dict[int | None, EventSource]:
        """The input, from which whole entries are taken: no column of it is asked for. By number of
        a dataset its files alone, if they have events; None: all."""
        return {
            each: self._source(each) for each in (None, *range(1 + max(self.datasets, default=0)))
        }

    def source_with_events(self, tree: str, dataset: int | None) -> EventSource:
        """The entries of a tree that goes with the events."""
        clusters = self._clusters(dataset, self.contents.with_events[tree])
        trees = self.paths_of(tree) if self.trees else ()
        return replace(self.sources[dataset], tree=tree, ids=NO_IDS, clusters=clusters, trees=trees)

    def paths_of(self, tree: str) -> list[str]:
        """Where each file has a tree that goes with the events."""
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
        own = {n for n in self.files_of(dataset) if len(known[n]) > 1}
        return [each if n in own or not own else () for n, each in enumerate(known)]

    def files_of(self, dataset: int | None) -> list[int]:
        """Numbers of the files of this dataset, or of all, but for those that are left out."""
        numbers = [n for n, path in enumerate(self.files) if path and n not in self.left_out]
        if dataset is None or not self.datasets:
            return numbers
        return [n for n in numbers if self.datasets[n] == dataset]

    def first_file(self, dataset: int | None) -> str:
        """That whose tree gives outputs of this dataset their structure."""
        return self.files[first_file(self._clusters(dataset, self.contents.clusters))]

    def first_tree(self, dataset: int | None) -> str:
        """The tree of that file."""
        first = first_file(self._clusters(dataset, self.contents.clusters))
        return self.trees[first] if self.trees else self.ids.tree
