"""Outputs of a run on many nodes in parts, each made by its own job: the clusters that begin with
events of certain nodes. Joined, they are the file that one process would have made."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from forkrun import _core
from forkrun.base.cpus import merge_threads
from forkrun.base.destinations import Destination
from forkrun.base.durable import published_folder, read_json, write_json
from forkrun.errors import LockedError, VerificationError
from forkrun.formats import OutputToMake
from forkrun.formats.ttree import TTREE
from forkrun.merge.made_parts import MadeParts
from forkrun.merge.output import to_make
from forkrun.merge.parts import check_part
from forkrun.merge.planned import Planned
from forkrun.merge.positions import Cut, Positions, commits_of, cuts
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, OutputPart
from forkrun.rundir.lock import RunLock
from forkrun.rundir.nodes import NodeRanges

if TYPE_CHECKING:  # slow to load, and `forkrun merge` of files needs none of it
    from forkrun.config.model import JobConfig

_LOOK_EVERY_S = 1.0
_RECORD = "made.json"
Cuts = Mapping[str, Sequence[Cut]]
"""Cuts of each output, by its name: one for each part."""


class Merging(Struct, frozen=True):
    """A run to merge: all its `commits`, in the order of the plan."""

    folder: RunDirectory
    config: JobConfig
    planned: Planned
    commits: Sequence[Commit]

    @property
    def destinations(self) -> list[Destination]:
        """Outputs that can be made in parts: trees in one file, without branches rewritten by
        ROOT."""
        outputs, kept = self.config.outputs, self.planned.contents.by_label
        trees = {o.label for o in outputs if o.format == TTREE.name and not o.per_lumi}
        inputs = self.planned.inputs
        found = [
            each
            for each in self.config.destinations
            if each.label in trees and self.planned.contents.input_format == TTREE.name
        ]
        by_root = {
            dataset: set(TTREE.rewritten_branches(inputs[dataset].first, inputs[dataset].tree))
            for dataset in {each.dataset for each in found}
        }
        return [
            each for each in found if not by_root[each.dataset] & set(kept[each.label].branches)
        ]

    def commits_to(self, destination: Destination) -> list[Commit]:
        """Commits whose events may go there."""
        return [commit for commit in self.commits if destination.has(commit.dataset)]


def make_part(
    merging: Merging, number: int, n_parts: int, on_open: Callable[[int], None] | None = None
) -> None:
    """Makes one part of the outputs, unless it exists. `on_open` gets the number of each input
    file just before it is opened. Raises VerificationError, InputError or OutputError."""
    of = _digest(merging, n_parts)
    if _record(merging.folder, number, of) is not None:
        return
    by_name = {name: each[number] for name, each in _cuts(merging, n_parts, of).items()}
    with published_folder(merging.folder.output_part(number)) as temporary:
        _make(merging, by_name, temporary, on_open)
        files = {
            name: _described(merging.folder, number, _file(temporary, name), len(cut.sizes))
            for name, cut in by_name.items()
        }
        write_json(temporary / _RECORD, {"of": of, "files": files})


def parts_to_join(merging: Merging, on_open: Callable[[int], None] | None = None) -> MadeParts:
    """Parts of outputs to join; empty if no job has made any. Makes missing and changed parts."""
    n_parts = read_json(merging.folder.output_cuts).get("n_parts", 0)
    if not n_parts or not merging.planned.is_whole:
        return MadeParts(merging.folder.path)
    of = _digest(merging, n_parts)
    records = []
    for number in range(n_parts):
        make_part(merging, number, n_parts, on_open)
        records.append(_record(merging.folder, number, of) or {})
    found = {}
    for output in records[0]:
        files = [record.get(output) for record in records]
        if None not in files and any(files):
            found[f"{output}{TTREE.suffix}"] = [part for parts in files for part in parts or ()]
    return MadeParts(merging.folder.path, found)


def _record(
    folder: RunDirectory, number: int, of: str
) -> dict[str, list[OutputPart] | None] | None:
    """Files of a part, by name; None if it is missing, of other commits or damaged."""
    known = read_json(folder.output_part(number) / _RECORD)
    if known.get("of") != of:
        return None
    files: dict[str, list[OutputPart] | None] = {}
    try:
        for name, described in known["files"].items():
            parts = None if described is None else [OutputPart(**each) for each in described]
            for part in parts or ():
                check_part(folder.path, part)
            files[name] = parts
    except (LookupError, TypeError, ValueError, AttributeError, VerificationError):
        return None
    return files


def _described(
    folder: RunDirectory, number: int, file: Path, n_clusters: int
) -> list[dict[str, Any]] | None:
    """Records of a finished part: empty without events, None if its clusters are not the expected
    ones."""
    if not n_clusters:
        return []
    if not file.exists():
        return None
    place = (folder.output_part(number) / file.name).relative_to(folder.path)
    checksum = _core.file_checksum(str(file))
    return [asdict(OutputPart(str(place), 0, "", file.stat().st_size, checksum))]


def _make(
    merging: Merging,
    by_name: Mapping[str, Cut],
    folder: Path,
    on_open: Callable[[int], None] | None,
) -> None:
    """Writes the file of each output that has events here, unless its clusters do not end where
    expected."""
    positions = Positions(merging.planned.units)
    config = merging.config
    n_threads = merge_threads(config.forking.children, config.threads.per_child)
    wanted = [each for each in config.destinations if each.name in by_name]
    wanted = [each for each in wanted if by_name[each.name].sizes]
    for dataset in dict.fromkeys(each.dataset for each in wanted):
        own = [each for each in wanted if each.dataset == dataset]
        ends: list[list[int]] = [[] for _ in own]
        makings = [
            _to_make(merging, each, by_name[each.name], positions, folder, its_ends)
            for each, its_ends in zip(own, ends, strict=True)
        ]
        source = merging.planned.sources[dataset]
        made = TTREE.make_outputs(makings, source, n_threads, config.merge.verify, on_open)
        for each, n_events, its_ends in zip(own, made, ends, strict=True):
            _keep_expected(_file(folder, each.name), by_name[each.name], n_events, its_ends)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '@')}.root"


def _keep_expected(file: Path, cut: Cut, n_events: Sequence[int], ends: Sequence[int]) -> None:
    """Removes the files before and after the part, and the part if its clusters do not end where
    expected. `n_events`: before the part and in it; `ends`: of clusters, counted from the file
    before."""
    expected = list(accumulate(cut.sizes, initial=n_events[0]))[1:]
    begin, end = n_events[0], n_events[0] + n_events[1]
    found = [n for n in ends if begin < n <= end]
    for extra in file.parent.glob(f"{file.name}.*"):
        extra.unlink()
    if found != expected:
        file.unlink()


def _to_make(
    merging: Merging,
    destination: Destination,
    cut: Cut,
    positions: Positions,
    folder: Path,
    ends: list[int],
) -> OutputToMake:
    """Description of the part, and of files for events of its commits before and after it. `ends`
    gets the number of events at the end of each cluster."""
    own = merging.commits_to(destination)
    places = commits_of(cut, own, positions)
    commits = own[places.start : places.stop]
    begin, end = positions.of_unit(commits[0].unit), positions.of_unit(commits[-1].units.stop)
    file = _file(folder, destination.name)
    files = [
        (f"{file}.before", positions.entries(begin, cut.begin) or _NOTHING),
        (str(file), positions.entries(cut.begin, cut.end)),
        (f"{file}.after", positions.entries(cut.end, end) or _NOTHING),
    ]
    return to_make(
        merging.folder.path, merging.config, destination, commits, merging.planned, files,
        ends.append, first=places.start,
    )  # fmt: skip


_NOTHING = [(0, 0, 0)]
"""Entries of a file without events: an empty list means all entries."""


def _cuts(merging: Merging, n_parts: int, of: str) -> Cuts:
    """Cuts between the parts, found by the first job; the others wait for it."""
    place = merging.folder.output_cuts
    place.parent.mkdir(parents=True, exist_ok=True)
    while (known := read_json(place)).get("of") != of:
        with suppress(LockedError), RunLock.held(place.parent / "lock") as lock:
            with lock.kept_by_thread():
                if read_json(place).get("of") != of:
                    write_json(place, _found_cuts(merging, n_parts, of), indent=None)
            continue
        time.sleep(_LOOK_EVERY_S)
    return {
        name: [Cut(begin, end, tuple(sizes)) for begin, end, sizes in listed]
        for name, listed in known["cuts"].items()
    }


def _found_cuts(merging: Merging, n_parts: int, of: str) -> dict[str, Any]:
    positions = Positions(merging.planned.units)
    ranges = NodeRanges.read(merging.folder)
    units = [ranges.first_unit[len(ranges) * n // n_parts] for n in range(n_parts + 1)]
    borders = [positions.of_unit(unit) for unit in units]
    found = {}
    for each in merging.destinations:
        scratch = merging.folder.output_cuts.with_suffix(f".{each.name.replace('/', '@')}.part")
        own = merging.commits_to(each)
        whole = to_make(
            merging.folder.path, merging.config, each, own, merging.planned,
            [(str(scratch), [])], lambda _: None,
        )  # fmt: skip
        clusters = TTREE.cluster_begins(whole, merging.planned.sources[each.dataset])
        end = positions.of_unit(own[-1].units.stop) if own else positions.n_events
        found[each.name] = [
            (cut.begin, cut.end, cut.sizes) for cut in cuts(clusters, positions, borders, end)
        ]
    return {"of": of, "n_parts": n_parts, "cuts": found}


def _digest(merging: Merging, n_parts: int) -> str:
    """Digest that identifies the commits and outputs of parts."""
    commits = [(commit.unit, commit.n_units, commit.end_s) for commit in merging.commits]
    outputs = [output.as_json() for output in merging.config.outputs]
    listed = (n_parts, NodeRanges.read(merging.folder).first_unit, outputs, commits)
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
