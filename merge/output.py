"""Makes the file of an output, or its files by lumi, from the events that children selected."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.cpus import merge_threads
from forkrun.base.destinations import NAMES, TOGETHER, Destination
from forkrun.base.durable import published, published_folder, write_json
from forkrun.base.quantities import plural
from forkrun.config.choices import Distribution
from forkrun.errors import VerificationError
from forkrun.formats import Format, OutputToMake, format_named
from forkrun.formats.events import COMPRESSION
from forkrun.formats.parquet import PARQUET
from forkrun.formats.ttree import TTREE
from forkrun.merge.made_parts import MadeParts
from forkrun.merge.parts import check_part
from forkrun.merge.planned import Planned
from forkrun.merge.positions import Entries
from forkrun.merge.verify import check_merged, total_digest
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.output_content import OutputContents

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config.model import JobConfig
    from forkrun.config.outputs import OutputConfig

Progress = Callable[[str, int], None]


class MergedOutput(Struct, frozen=True):
    """`label`: for events of one dataset LABEL/DATASET; `file`: or a folder with a file for each
    lumi; `digest`: read back; None if the output has no event ids."""

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
    parts: MadeParts,
) -> list[MergedOutput]:
    """Makes the outputs from `commits`, which are in the order of the plan, or from `parts` where
    there are any. Outputs of the same datasets are made together, so that their input is read once.
    `progress` gets an output's name and the number of units whose events it has; `on_open` the
    number of each input file just before it is opened. Raises VerificationError, InputError or
    OutputError; then no output has its final name."""
    if not commits or not config.outputs:
        return []
    with ExitStack() as files:
        makings = [
            files.enter_context(_making(folder, config, each, form, commits, planned, progress))
            for each in config.destinations
            for form in _formats(config.output_of[each.label])
            if _is_wanted(each, form, planned, parts)
        ]
        of_fragments = [making for making in makings if not parts.holds(making.names)]
        made = _make(of_fragments, config, planned, on_open)
        for making in makings:
            if parts.holds(making.names):
                made[making.key] = _join(making, parts, config, planned)
        _add_trees(of_fragments if parts.are_of_nodes else makings, made, config, planned, on_open)
        merged = [_finished(m, made[m.key], config, planned, parts) for m in makings]
    return _with_sizes_of_parquet(merged)


def _make(
    makings: Sequence[_Making],
    config: JobConfig,
    planned: Planned,
    on_open: Callable[[int], None] | None,
) -> dict[tuple[str, str], list[int]]:
    """Makes files from fragments and the input; returns the number of events in each, by key."""
    made: dict[tuple[str, str], list[int]] = {}
    for form, dataset in dict.fromkeys(making.made_with for making in makings):
        own = [making for making in makings if making.made_with == (form, dataset)]
        n_events = form.make_outputs(
            [making.to_make for making in own],
            planned.sources[dataset],
            merge_threads(config.forking.children, config.threads.per_child),
            config.merge.verify,
            on_open,
            of_input=format_named(planned.contents.input_format),
        )
        made |= {making.key: n for making, n in zip(own, n_events, strict=True)}
    return made


def _is_wanted(destination: Destination, form: Format, planned: Planned, parts: MadeParts) -> bool:
    """Whether the file is made: by a node that has files of the dataset; when parts of some nodes
    are joined, if one of them has made it."""
    if planned.is_part:
        files = planned.inputs.get(destination.dataset)
        return files is not None and bool(files.numbers)
    is_partial = parts.are_of_nodes and not planned.is_whole
    return not is_partial or parts.has_parts_of(destination.name, form.suffix)


def _join(making: _Making, parts: MadeParts, config: JobConfig, planned: Planned) -> list[int]:
    """Joins the parts of an output's files; returns the number of events of each."""
    contents, trees = planned.contents, [planned.output_tree]
    if parts.are_of_nodes:
        trees += [tree for tree in contents.with_events if making.has_tree(tree, contents)]
    n_events = []
    for name, target in zip(making.names, making.targets, strict=True):
        if making.output.per_lumi and (n := parts.copy_only(name, target.path)) is not None:
            n_events.append(n)
            continue
        of_trees = parts.join(name, target.path, making.form, trees, verify=config.merge.verify)
        if len(set(of_trees)) > 1:
            raise VerificationError(f"{making.final}: trees with events have entries {of_trees}")
        n_events.append(of_trees[0])
    if any(n_events):
        making.to_make.progress(sum(n_events))
    return n_events


def _add_trees(
    makings: Sequence[_Making],
    made: Mapping[tuple[str, str], Sequence[int]],
    config: JobConfig,
    planned: Planned,
    on_open: Callable[[int], None] | None,
) -> None:
    """Adds the trees that accompany the events, one tree of all outputs at a time. `made`: events
    in each file. Raises VerificationError, InputError or OutputError."""
    contents = planned.contents
    dataset_of = {making.key: making.destination.dataset for making in makings}
    for tree in contents.with_events:
        for dataset in dict.fromkeys(dataset_of.values()):
            own = [
                making
                for making in makings
                if making.destination.dataset == dataset and making.has_tree(tree, contents)
            ]
            if not own:
                continue
            found = TTREE.make_outputs(
                [making.of_tree(tree, contents) for making in own],
                planned.sources_with_events[tree, dataset],
                merge_threads(config.forking.children, config.threads.per_child),
                config.merge.verify,
                on_open,
            )
            for making, n_entries in zip(own, found, strict=True):
                if n_entries != made[making.key]:
                    raise VerificationError(
                        f'{making.final}: tree "{tree}" has {plural(sum(n_entries), "entry")} for'
                        f" {plural(sum(made[making.key]), 'event')}"
                    )


def _formats(output: OutputConfig) -> list[Format]:
    """Formats of an output: its own, and Parquet if also requested."""
    return [format_named(output.format), *([PARQUET] if output.parquet else [])]


def _with_sizes_of_parquet(merged: Sequence[MergedOutput]) -> list[MergedOutput]:
    """One output for each label, with the size of its Parquet file."""
    by_label: dict[str, MergedOutput] = {}
    for output in merged:
        if first := by_label.get(output.label):
            output = replace(first, n_bytes_parquet=output.n_bytes)
        by_label[output.label] = output
    return list(by_label.values())


class _Making(Struct, frozen=True):
    """An output being made. `names`: of its files in output/; `written`: events that children
    selected for it."""

    output: OutputConfig
    destination: Destination
    form: Format
    final: Path
    names: list[str]
    targets: list[_Target]
    written: _core.EventDigest
    to_make: OutputToMake

    @property
    def key(self) -> tuple[str, str]:
        return self.destination.name, self.form.name

    def has_tree(self, tree: str, contents: OutputContents) -> bool:
        """Whether this tree accompanies its events."""
        return self.form is TTREE and tree in contents.of(self.destination).trees

    def of_tree(self, tree: str, contents: OutputContents) -> OutputToMake:
        """The same output for a tree that accompanies its events."""
        making = copy(self.to_make)
        making.progress = lambda _: None  # it was shown for the tree of events
        content = making.content
        content.branches, content.products = contents.of(self.destination).trees[tree], []
        content.tree, content.goes_with_events = tree, True
        return making

    @property
    def made_with(self) -> tuple[Format, int | None]:
        """Key of outputs that are made together."""
        return self.form, self.destination.dataset


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
        making = to_make(folder, config, destination, own, planned, files, show)
        name = str(final.relative_to(RunDirectory(folder).output))
        names = [f"{name}/{t.path.name}" for t in targets] if output.per_lumi else [name]
        yield _Making(output, destination, form, final, names, targets, written, making)


def to_make(
    folder: Path,
    config: JobConfig,
    destination: Destination,
    commits: Sequence[Commit],
    planned: Planned,
    files: Sequence[tuple[str, Entries]],
    show: Callable[[int], None],
    first: int = 0,
) -> OutputToMake:
    """Description of an output for the core, or of a part: of `commits`, the first of which is
    number `first` among all of its datasets. `files`: paths, with the entries whose events they
    get; `show` gets the number of events written, after each cluster."""
    output = config.output_of[destination.label]
    takes_turns = config.forking.distribution is Distribution.ROUND_ROBIN
    groups = _groups(output.label, commits, takes_turns)

    def check(number: int) -> None:
        for part in groups[number][1]:
            check_part(folder, part)

    kept = planned.contents.of(destination)
    content = _core.OutputContent(
        branches=kept.branches,
        members=kept.members,
        products=kept.products,
        compression=output.compression or COMPRESSION,
        recompresses=output.compression is not None,
        tree=planned.output_tree,
        has_flat_names=output.flat_names,
    )
    return _core.OutputToMake(
        fragments=[
            (first + number, [str(folder / p.file) for p in parts]) for number, parts in groups
        ],
        files=files,
        content=content,
        n_events=sum(commit.outputs[output.label].n_events for commit in commits),
        before_group=check,
        progress=show,
    )


def _finished(
    making: _Making,
    n_events: Sequence[int],
    config: JobConfig,
    planned: Planned,
    parts: MadeParts,
) -> MergedOutput:
    """Adds lists and carried objects to the files, and verifies them."""
    output, written, form = making.output, making.written, making.form
    files = [target.path for target in making.targets]
    if output.per_lumi:
        write_json(files[0].parent / "files.json", _file_records(making.targets, n_events))
    elif output.label in config.carrying:
        _carry(making, config, planned, parts)
    if output.datasets == TOGETHER and not planned.is_part:
        form.add_text(str(files[0]), NAMES, json.dumps([each.name for each in config.datasets]))
    digest = check_merged(
        making.final, files, sum(n_events), written, config.source, planned.output_tree, form
    )
    name = making.destination.name
    if parts.are_of_nodes and parts.holds(making.names):
        rewritten = list(parts.written_anew.get(name, ()))
    elif form.name == planned.contents.input_format:
        rewritten = form.rewritten_branches(str(files[0]), planned.output_tree)
    else:
        rewritten = []
    n_bytes = sum(file.stat().st_size for file in files)
    return MergedOutput(name, str(making.final), written.count, digest, n_bytes, rewritten)


class _Target(Struct, frozen=True):
    """A file to make. `entries`: input entries whose events it gets; empty: all."""

    path: Path
    entries: Entries
    run: int = 0
    lumi: int = 0


@contextmanager
def _files_to_make(
    final: Path, output: OutputConfig, suffix: str, commits: Sequence[Commit], planned: Planned
) -> Iterator[list[_Target]]:
    """Files under temporary names, which become final if the body succeeds."""
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


def _file_records(targets: Sequence[_Target], n_events: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {"run": target.run, "lumi": target.lumi, "file": target.path.name, "n_events": n}
        for target, n in zip(targets, n_events, strict=True)
    ]


def _groups(
    label: str, commits: Sequence[Commit], takes_turns: bool
) -> list[tuple[int, list[OutputPart]]]:
    """Fragments with events, in the order of the plan, with the same numbers in all outputs. If
    children take turns, events alternate, and a group has all fragments of a lumi."""
    if not takes_turns:
        groups = [[commit.outputs[label]] for commit in commits]
    else:
        lumis = groupby(commits, lambda commit: (commit.dataset, commit.run, commit.lumi))
        groups = [[commit.outputs[label] for commit in of_lumi] for _, of_lumi in lumis]
    with_events = [[part for part in group if part.n_events] for group in groups]
    return [(number, group) for number, group in enumerate(with_events) if group]


def _carry(making: _Making, config: JobConfig, planned: Planned, parts: MadeParts) -> None:
    """Adds the input's other trees and objects: from parts made by nodes, and from files that no
    node has carried."""
    source, form, dataset = config.source, making.form, making.destination.dataset
    own = planned.inputs[dataset].carried
    inputs: list[str] = []
    if parts.are_of_nodes and parts.holds(making.names):
        inputs = [path for path in parts.paths(making.names[0]) if form.is_of(path)]
        own = [e for e in own if planned.is_whole and e[0] not in parts.carries]
    elif not form.is_of(planned.inputs[dataset].first):
        return
    identities = {path: (uuid, n_bytes, 0) for _, path, uuid, n_bytes in own}  # copies are accepted
    inputs += identities
    same = list(identities.values()) if len(inputs) == len(identities) else []
    by_entry = [*source.tree_names.of_entries(planned.trees), *planned.paths_with_events]
    common = source.branches == "common"
    file = str(making.targets[0].path)
    form.carry(inputs, file, by_entry, config.merge.keep_first, same, common)
