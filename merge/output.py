"""Makes the file of an output, or its files by lumi, from what children have selected."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.cpus import merge_threads
from forkrun.base.destinations import NAMES, TOGETHER, Destination, split_tree
from forkrun.base.durable import published, published_folder, write_json
from forkrun.errors import VerificationError
from forkrun.formats import EventSource, Format, OutputToMake, format_named
from forkrun.formats.events import NO_IDS, first_file
from forkrun.formats.parquet import PARQUET
from forkrun.formats.ttree import TTREE
from forkrun.merge.order import PlannedUnits
from forkrun.merge.parts import check_part
from forkrun.merge.positions import Entries
from forkrun.merge.verify import branches_of, check_merged, total_digest
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.output_content import OutputContents

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config import IdBranches, JobConfig, OutputConfig

Progress = Callable[[str, int], None]
_MOST_KEPT_BYTES = 1 << 30
"""What the merge keeps unpacked of an input whose entries it takes in another order."""


class Planned(Struct, frozen=True, dict=True):
    """What the merge takes from the plan. `n_events`, `digest`: of all events to be read;
    `is_whole`: every unit has to be there, else what is there is merged."""

    units: PlannedUnits
    files: Sequence[str]
    n_events: int
    digest: str | None
    identities: Sequence[tuple[str, int, int]]
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
        numbers = [n for n in range(len(self.files)) if n not in self.left_out]
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


class MergedOutput(Struct, frozen=True):
    """`label`: or LABEL/DATASET, of the events of one dataset; `file`: or a folder of files, one
    for each lumi; `digest`: read back; None if the output does not hold the event ids."""

    label: str
    file: str
    n_events: int
    digest: str | None
    n_bytes: int
    written_anew: list[str]
    """Branches of objects whose entries could not be copied as bytes."""
    n_bytes_parquet: int = 0
    """Size of the same rows in Parquet; 0: not written."""


def merge_outputs(
    folder: Path,
    config: JobConfig,
    commits: Sequence[Commit],
    planned: Planned,
    progress: Progress | None,
    on_open: Callable[[int], None] | None,
    joined: Mapping[str, Sequence[Path]],
) -> list[MergedOutput]:
    """Makes the outputs of the events in `commits`, which are in the order of the plan: all that
    have the same datasets at the same time, so that what they take from the input is read once;
    those in `joined` of their parts, by name. `progress` gets an output's name and the number of
    units whose events it has, `on_open` the number of each input file just before it is opened.
    Raises VerificationError, InputError or OutputError; no output then has its name."""
    if not commits or not config.outputs:
        return []
    with ExitStack() as files:
        makings = [
            files.enter_context(_making(folder, config, each, form, commits, planned, progress))
            for each in config.destinations
            for form in _formats(config.output_of[each.label])
        ]
        made: dict[tuple[str, str], Sequence[int]] = {}
        for form, dataset in dict.fromkeys(making.goes_with for making in makings):
            own = [m for m in makings if m.goes_with == (form, dataset)]
            anew = [making for making in own if not _is_joined(making, joined)]
            n_events = form.make_outputs(
                [making.to_make for making in anew],
                planned.sources[dataset],
                merge_threads(config.forking.children, config.threads.per_child),
                config.merge.verify,
                on_open,
            )
            made |= {making.key: n for making, n in zip(anew, n_events, strict=True)}
        for making in makings:
            if _is_joined(making, joined):
                parts = joined[making.destination.name]
                made[making.key] = [_join(parts, making.targets[0].path, config, planned)]
        _add_trees(makings, made, config, planned, on_open)
        merged = [_finished(making, made[making.key], config, planned) for making in makings]
    return _with_sizes_beside(merged)


def _add_trees(
    makings: Sequence[_Making],
    made: Mapping[tuple[str, str], Sequence[int]],
    config: JobConfig,
    planned: Planned,
    on_open: Callable[[int], None] | None,
) -> None:
    """Adds the trees that go with the events to the files of these, one tree of all outputs at a
    time. `made`: events in each file. Raises VerificationError, InputError or OutputError."""
    contents = planned.contents
    dataset_of = {making.key: making.destination.dataset for making in makings}
    for tree in contents.with_events:
        for dataset in dict.fromkeys(dataset_of.values()):
            own = [
                making
                for making in makings
                if making.destination.dataset == dataset and making.has_tree(tree, contents)
            ]
            found = TTREE.make_outputs(
                [making.of_tree(tree, contents) for making in own],
                planned.source_with_events(tree, dataset),
                merge_threads(config.forking.children, config.threads.per_child),
                config.merge.verify,
                on_open,
            )
            for making, n_entries in zip(own, found, strict=True):
                if n_entries != made[making.key]:
                    raise VerificationError(
                        f'{making.final}: tree "{tree}" has {sum(n_entries):,} entries, but there'
                        f" are {sum(made[making.key]):,} events"
                    )


def _formats(output: OutputConfig) -> list[Format]:
    """Its format, and Parquet if that was asked for as well."""
    return [format_named(output.format), *([PARQUET] if output.parquet else [])]


def _is_joined(making: _Making, joined: Mapping[str, Sequence[Path]]) -> bool:
    return making.form is TTREE and bool(joined.get(making.destination.name))


def _with_sizes_beside(merged: Sequence[MergedOutput]) -> list[MergedOutput]:
    """One for each label, which knows the size of the Parquet file beside it."""
    by_label: dict[str, MergedOutput] = {}
    for output in merged:
        if first := by_label.get(output.label):
            output = replace(first, n_bytes_parquet=output.n_bytes)
        by_label[output.label] = output
    return list(by_label.values())


def _join(parts: Sequence[Path], target: Path, config: JobConfig, planned: Planned) -> int:
    """Puts together the parts of an output, by copying their baskets; gives its events."""
    tree, verify = planned.output_tree, config.merge.verify
    files = [str(part) for part in parts]
    entries = TTREE.merge(files, str(target), trees=[tree], verify=verify, recluster="never")
    return entries[tree]


class _Making(Struct, frozen=True):
    """An output while it is made. `written`: events that children have selected for it."""

    output: OutputConfig
    destination: Destination
    form: Format
    final: Path
    targets: list[_Target]
    written: _core.EventDigest
    to_make: OutputToMake

    @property
    def key(self) -> tuple[str, str]:
        return self.destination.name, self.form.name

    def has_tree(self, tree: str, contents: OutputContents) -> bool:
        """Whether such a tree goes with its events."""
        return self.form is TTREE and tree in contents.by_label[self.output.label].trees

    def of_tree(self, tree: str, contents: OutputContents) -> OutputToMake:
        """The tree that goes with its events."""
        branches = contents.by_label[self.output.label].trees[tree]
        return replace(
            self.to_make, branches=branches, products=(), progress=_quiet, goes_with_events=True,
            tree=tree,
        )  # fmt: skip

    @property
    def goes_with(self) -> tuple[Format, int | None]:
        """Others that have the same are made at the same time."""
        return self.form, self.destination.dataset


def _quiet(_: int) -> None:
    """Shows nothing: the events were shown when their own tree was made."""


@contextmanager
def _making(
    folder: Path,
    config: JobConfig,
    destination: Destination,
    form: Format,
    commits: Sequence[Commit],
    planned: Planned,
    progress: Progress | None,
) -> Iterator[_Making]:
    output = config.output_of[destination.label]
    own = [commit for commit in commits if destination.has(commit.dataset)]
    parts = [commit.outputs[output.label] for commit in own]
    written = total_digest((part.n_events, part.digest) for part in parts)
    n_units = sum(commit.n_units for commit in own)

    def show(n_events: int) -> None:
        if progress is not None and form.name == output.format:
            progress(destination.name, n_units * n_events // written.count)

    final = RunDirectory(folder).merged(destination.name, output.per_lumi, form.suffix)
    with _files_to_make(final, output, form.suffix, own, planned) as targets:
        files = [(str(target.path), target.entries) for target in targets]
        making = to_make(folder, config, output, own, planned, files, show)
        yield _Making(output, destination, form, final, targets, written, making)


def to_make(
    folder: Path,
    config: JobConfig,
    output: OutputConfig,
    commits: Sequence[Commit],
    planned: Planned,
    files: Sequence[tuple[str, Entries]],
    show: Callable[[int], None],
    first: int = 0,
) -> OutputToMake:
    """What the core is told of an output, or of a part of it: that of `commits`, the first of which
    is number `first` of all of its datasets. `files`: paths with the entries whose events they get;
    `show` gets the number of events written, after each cluster."""
    groups = _groups(output.label, commits, config.forking.distribution.value)

    def check(number: int) -> None:
        for part in groups[number][1]:
            check_part(folder, part)

    content = planned.contents.by_label[output.label]
    return OutputToMake(
        [(first + number, [str(folder / p.file) for p in parts]) for number, parts in groups],
        files,
        content.branches,
        content.products,
        output.compression,
        sum(commit.outputs[output.label].n_events for commit in commits),
        check,
        show,
        members=content.members,
        tree=planned.output_tree,
    )


def _finished(
    making: _Making, n_events: Sequence[int], config: JobConfig, planned: Planned
) -> MergedOutput:
    """Adds to the files what is not of events, and verifies them."""
    output, written, form = making.output, making.written, making.form
    dataset = making.destination.dataset
    of_input = planned.sources[dataset].form
    files = [target.path for target in making.targets]
    if output.per_lumi:
        write_json(files[0].parent / "files.json", _list_of(making.targets, n_events))
    elif output.label in config.carrying and form.is_of(planned.first_file(dataset)):
        _carry(form, files[0], config, planned, dataset)
    if output.datasets == TOGETHER:
        form.add_text(str(files[0]), NAMES, json.dumps([each.name for each in config.datasets]))
    digest = check_merged(
        making.final, files, sum(n_events), written, config.source, planned.output_tree, form
    )
    anew = _written_anew(form, files[0], config, planned, dataset) if form is of_input else []
    n_bytes = sum(file.stat().st_size for file in files)
    name = making.destination.name
    return MergedOutput(name, str(making.final), written.count, digest, n_bytes, anew)


class _Target(Struct, frozen=True):
    """A file to make. `entries`: of the input, whose events it has; empty: all."""

    path: Path
    entries: Entries
    run: int = 0
    lumi: int = 0


@contextmanager
def _files_to_make(
    final: Path, output: OutputConfig, suffix: str, commits: Sequence[Commit], planned: Planned
) -> Iterator[list[_Target]]:
    """Files under temporary names, which become final if the body ends well."""
    if not output.per_lumi:
        with published(final) as temporary:
            yield [_Target(temporary, [])]
        return
    with published_folder(final) as temporary:
        yield [
            _Target(temporary / f"run{run:06d}_lumi{lumi:05d}{suffix}", entries, run, lumi)
            for run, lumi, entries in _lumis(planned, commits)
        ]


def _lumis(planned: Planned, commits: Iterable[Commit]) -> Iterator[tuple[int, int, Entries]]:
    """Run, lumi and entries of each lumi of committed units, in the order of the plan."""
    committed = {number for commit in commits for number in commit.units}
    units = (unit for unit in planned.units if unit.number in committed)
    for (run, lumi), of_lumi in groupby(units, lambda unit: (unit.run, unit.lumi)):
        yield run, lumi, [(r[0], r[1], r[2]) for unit in of_lumi for r in unit.ranges]


def _list_of(targets: Sequence[_Target], n_events: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {"run": target.run, "lumi": target.lumi, "file": target.path.name, "n_events": n}
        for target, n in zip(targets, n_events, strict=True)
    ]


def _groups(
    label: str, commits: Sequence[Commit], distribution: str
) -> list[tuple[int, list[OutputPart]]]:
    """Fragments with events, in the order of the plan, numbered alike for all outputs; together
    those whose events alternate: where children take turns, all of a lumi."""
    if distribution != "round-robin":
        groups = [[commit.outputs[label]] for commit in commits]
    else:
        lumis = groupby(commits, lambda commit: (commit.dataset, commit.run, commit.lumi))
        groups = [[commit.outputs[label] for commit in of_lumi] for _, of_lumi in lumis]
    with_events = [[part for part in group if part.n_events] for group in groups]
    return [(number, group) for number, group in enumerate(with_events) if group]


def _carry(
    form: Format, file: Path, config: JobConfig, planned: Planned, dataset: int | None
) -> None:
    own, source = planned.files_of(dataset), config.source
    identities = {planned.files[n]: (*planned.identities[n][:2], 0) for n in own}  # copies will do
    inputs, same = list(identities), list(identities.values())
    by_entry = [*source.tree_names.of_entries(planned.trees), *planned.contents.with_events]
    by_entry += [each for tree in planned.contents.with_events for each in planned.paths_of(tree)]
    common = source.branches == "common"
    form.carry(inputs, str(file), by_entry, config.merge.keep_first, same, common)


def _written_anew(
    form: Format, file: Path, config: JobConfig, planned: Planned, dataset: int | None
) -> list[str]:
    kept = branches_of(str(file), planned.output_tree, form)
    first = planned.first_file(dataset), planned.first_tree(dataset)
    return [branch for branch in form.written_anew(*first) if branch in kept]
