"""Repeated input: files with the same bytes, and repeated event ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.input_files.same_files import same_file
from forkrun.base.lumis import Integers, Keys, distinct, number_keys
from forkrun.base.quantities import plural
from forkrun.config.anchor import is_url
from forkrun.config.source import IdBranches
from forkrun.errors import InputError
from forkrun.index.model import FileIndex, Flags, LumiRanges, RangePart
from forkrun.index.read import cached_results

_MOST_NAMED = 10
"""Maximum number of repeated files named in an error."""
_MOST_AT_ONCE = 1 << 22
"""Maximum number of event ids sorted at once by a helper, in some 200 MB."""
_N_PARTS, _FEW_FILES = 31, 64
"""Parts of the search in more files than a few, each with a cached answer: another file makes one
part be searched again."""


class Place(NamedTuple):
    """An entry of a file."""

    path: str
    entry: int

    def __str__(self) -> str:
        return f"entry {self.entry} of {self.path}"


class RepeatedEvent(NamedTuple):
    """A repeated event: `run`, `lumi`, `event`, its first and its repeated place."""

    run: int
    lumi: int
    event: int
    first: Place
    again: Place


class Duplicates(Struct, frozen=True):
    """`n_events`: number of repeated events; `example`: the first of them; `parts`: their places,
    in ascending order."""

    n_events: int = 0
    example: RepeatedEvent | None = None
    parts: Sequence[RangePart] = ()

    def text(self) -> str:
        """Describes the repeated events."""
        assert self.example is not None
        run, lumi, event, first, again = self.example
        n = f"{plural(self.n_events, 'event')} {'is' if self.n_events == 1 else 'are'}"
        return (
            f"{n} in the input more than once; the first is {run}:{lumi}:{event}, {first} and"
            f" {again}"
        )


def check_files_differ(index: Sequence[FileIndex]) -> None:
    """Raises InputError, which names all files identical to an earlier one, through a link, a copy
    or another URL."""
    known: dict[tuple[str, int, int], list[FileIndex]] = {}
    problems = []
    for file in index:
        if not file.n_entries:
            continue
        alike = known.setdefault((file.uuid, file.n_bytes, file.n_entries), [])
        before = next((other for other in alike if _is_same(other, file)), None)
        if before is None:
            alike.append(file)
            continue
        problems.append(
            f"{file.path}: is the same file as {before.path} ({plural(file.n_bytes, 'byte')}, UUID"
            f" {file.uuid}), so its events would be read twice; name only one of them, or set"
            ' source.duplicates = "keep"'
        )
    if problems:
        more = len(problems) - _MOST_NAMED
        lines = problems[:_MOST_NAMED] + [f"and {plural(more, 'other file')} likewise"] * (more > 0)
        raise InputError("\n".join(lines))


def _is_same(a: FileIndex, b: FileIndex) -> bool:
    """Whether files of one UUID and size are the same; remote ones are not compared further.
    Different trees of a file are not the same."""
    if a.path == b.path and a.tree != b.tree:
        return False
    return is_url(a.path) or is_url(b.path) or same_file(a.path, b.path)


def find_duplicates(index: Sequence[FileIndex], ranges: LumiRanges, ids: IdBranches) -> Duplicates:
    """Events of these ranges that repeat earlier ones, in input order. Only ids that may be
    repeated are read, in helper processes: in lumis shared by files with overlapping event numbers,
    and in files whose events are unordered. Raises InputError."""
    if not ids.event_branch:
        return Duplicates()
    chosen = np.flatnonzero(_may_repeat(index, ranges))
    if not len(chosen):
        return Duplicates()
    searches = [
        _Search(places, distinct(ranges.file[places]), k, n)
        for part in _parts_apart(ranges, chosen)
        for places in _groups(ranges, part)
        for n in [int(ranges.n_events[places].sum()) // (2 * _MOST_AT_ONCE) + 1]
        for k in range(n)
    ]
    requests = [_request(index, ranges, ids, search) for search in searches]
    found = cached_results(requests, "again")
    return _joined((_of_whole(answer, searches[number]) for number, answer in found), index)


class _Search(NamedTuple):
    """Search in the ranges at some `places`, of these `files`, for events with one residue."""

    places: Integers
    files: Integers
    residue: int
    n_residues: int


def find_in_datasets(
    index: Sequence[FileIndex],
    ranges: LumiRanges,
    ids: IdBranches,
    datasets: Sequence[int] = (),
) -> Duplicates:
    """Repeated events within each dataset: in simulation all datasets have the same numbers of
    lumis and events. `datasets` : (n_files,) number of each; empty: all are one. Raises InputError
    for a repeated file."""
    check_files_differ(index)
    if not datasets:
        return find_duplicates(index, ranges, ids)
    of_range = np.asarray(datasets, dtype=np.int64)[ranges.file]
    found = []
    for dataset in distinct(of_range).tolist():
        chosen = of_range == dataset
        within = find_duplicates(index, ranges.where(chosen), ids)
        places = np.flatnonzero(chosen).tolist()
        moved = [
            (places[number], first, last, digest) for number, first, last, digest in within.parts
        ]
        found.append(replace(within, parts=moved))
    example = next((each.example for each in found if each.example), None)
    parts = sorted(part for each in found for part in each.parts)
    return Duplicates(sum(each.n_events for each in found), example, parts)


def _may_repeat(index: Sequence[FileIndex], ranges: LumiRanges) -> Flags:
    """(n_ranges,) whether an event of the range may be in another range or twice in this one."""
    rises = np.array([file.rises for file in index], dtype=bool)
    least, most = np.array([file.events for file in index], dtype=np.uint64).T
    firsts, number = number_keys(ranges.lumi_key)
    held, _ = number_keys((number * len(index) + ranges.file).astype(np.uint64))
    lumi, file = number[held], ranges.file[held]
    order = np.lexsort((least[file], lumi))
    is_shared = np.zeros(len(firsts), dtype=np.bool_)
    is_shared[_overlapping(lumi[order], least[file[order]], most[file[order]])] = True
    result: Flags = is_shared[number] | ~rises[ranges.file]
    return result


def _overlapping(lumi: Integers, least: Keys, most: Keys) -> list[int]:
    """Numbers of lumis in which files have overlapping event numbers. (n,) each, one row per lumi
    and file, sorted by lumi and least number."""
    found, highest, before = [], 0, -1
    (again,) = np.nonzero(lumi[1:] == lumi[:-1])
    for place in again.tolist():
        highest = max(highest, int(most[place])) if place == before else int(most[place])
        if int(least[place + 1]) <= highest:
            found.append(int(lumi[place]))
        before = place + 1
    return found


def _parts_apart(ranges: LumiRanges, chosen: Integers) -> list[Integers]:
    """The chosen ranges in parts that have no lumi and no file in common."""
    _, file = number_keys(ranges.file[chosen].astype(np.uint64))
    keys = ranges.lumi_key[chosen]
    firsts, lumi = number_keys(keys)
    joined = np.arange(file.max() + 1)  # files that share lumis get the number of the first one
    if len(joined) <= _FEW_FILES:
        return [chosen]
    while True:
        of_lumi = np.full(len(firsts), len(joined))
        np.minimum.at(of_lumi, lumi, joined[file])
        more = joined.copy()
        np.minimum.at(more, file, of_lumi[lumi])
        more = more[more]
        if (more == joined).all():
            break
        joined = more
    first = np.full(len(joined), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(first, joined[file], keys)
    part = first[joined[file]] % np.uint64(_N_PARTS)
    return [chosen[part == number] for number in distinct(part)]


def _groups(ranges: LumiRanges, chosen: Integers) -> Iterator[Integers]:
    """Numbers of the chosen ranges in groups of about `_MOST_AT_ONCE` events: whole lumis, and each
    group in input order."""
    by_lumi = chosen[np.argsort(ranges.lumi_key[chosen], kind="stable")]
    keys = ranges.lumi_key[by_lumi]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    before = np.concatenate(([0], np.cumsum(ranges.n_events[by_lumi])))[starts]
    (borders,) = np.nonzero(np.diff(before // _MOST_AT_ONCE))
    for group in np.split(by_lumi, starts[borders + 1]):
        yield np.sort(group)


def _request(
    index: Sequence[FileIndex], ranges: LumiRanges, ids: IdBranches, search: _Search
) -> dict[str, Any]:
    """Files and ranges have numbers of their own, which do not depend on the other files."""
    columns = {n: column[search.places] for n, column in asdict(ranges).items() if n != "digest"}
    columns["file"] = np.searchsorted(search.files, columns["file"])
    files = [index[number] for number in search.files]
    return {
        "path": files[0].path,
        "paths": {str(n): file.path for n, file in enumerate(files)},
        "trees": {str(n): file.tree or ids.tree for n, file in enumerate(files)},
        "event_branch": ids.event_branch,
        "ranges": {name: column.tobytes() for name, column in columns.items()},
        "residue": search.residue,
        "n_residues": search.n_residues,
        "identities": [file.identity for file in files],
    }


def _of_whole(answer: dict[str, Any], search: _Search) -> dict[str, Any]:
    """The answer with the numbers of files and ranges in the whole input."""
    if not answer["parts"]:
        return answer
    *event, first, again = answer["example"]
    places = [[int(search.files[file]), entry] for file, entry in (first, again)]
    parts = [(int(search.places[own]), *others) for own, *others in answer["parts"]]
    return {"example": [*event, *places], "parts": parts}


def _joined(answers: Iterable[dict[str, Any]], index: Sequence[FileIndex]) -> Duplicates:
    found = [answer for answer in answers if answer["parts"]]
    if not found:
        return Duplicates()
    run, lumi, event, first, again = min(
        (answer["example"] for answer in found), key=lambda example: example[-1]
    )
    places = (Place(index[file].name, entry) for file, entry in (first, again))
    parts = sorted(part for answer in found for part in answer["parts"])
    n_events = sum(last - first for _, first, last, _ in parts)
    return Duplicates(n_events, RepeatedEvent(run, lumi, event, *places), parts)
