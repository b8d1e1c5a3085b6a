"""Friend trees: finds and indexes them, and compares them with the trees that they accompany."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from forkrun._core import EventDigest
from forkrun.base.destinations import split_tree
from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.config.choices import Partner
from forkrun.config.source import FilledBranches, FriendConfig, IdBranches, SourceConfig
from forkrun.errors import ConfigError, InputError
from forkrun.formats.events import NO_IDS
from forkrun.index.files import find_files
from forkrun.index.joining import Keys, Table, find_partners, only_files_with_partners
from forkrun.index.model import Branch, FileIndex, FriendPart, RangeColumns
from forkrun.index.partners import FriendFile, Partners
from forkrun.index.read import index_files
from forkrun.index.trees_with_events import KEY, trees_named

_REMEDY = (
    "a friend has an entry for each entry of the input, in the same order: an output with mode ="
    ' "friend" has that if it names no paths, and its job reads the same files without lumi_mask,'
    ' skip_events, max_events and only; with keys (by = ["run", "event"]) entries may be others'
)
_KEY_TYPES = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_SHOWN = 5
"""Maximum number of trees named in an error."""


class _Friend(NamedTuple):
    """`ids`: the tree, and names of the branches of event ids, if it `has_ids`; `columns`: its
    branches by the names of their columns; `prefix`: of these names; `in_outputs`: path in outputs
    of a tree that accompanies the events; `config`, `key`: of a friend joined by keys."""

    tree: str
    files: Sequence[FileIndex]
    ids: IdBranches
    has_ids: bool
    columns: Mapping[str, Branch]
    prefix: str = ""
    in_outputs: str = ""
    config: FriendConfig | None = None
    key: str = ""

    @property
    def goes_with_events(self) -> bool:
        """Whether outputs have it as a separate tree."""
        return bool(self.in_outputs)


def with_friends(
    index: Sequence[FileIndex], source: SourceConfig, *, finds_partners: bool = True
) -> list[FileIndex]:
    """Index with the friends of each file, named by `source.friends`, and the trees that accompany
    the events. Not `finds_partners`: only the columns of friends joined by keys. Raises ConfigError
    for name clashes, InputError for a friend that cannot be read or has other events."""
    files = list(index)
    taken = {branch.name: "the input" for file in index for branch in file.all_branches}
    for friend in _friends(index, source):
        _check_names(friend, taken)
        taken |= dict.fromkeys(friend.columns, f'the friend "{friend.tree}"')
        parts = (
            _joined(index, friend, source, finds_partners)
            if friend.config
            else _aligned(index, friend)
        )
        files = [
            replace(file, friends=(*file.friends, part))
            for file, part in zip(files, parts, strict=True)
        ]
    return files


def _friends(index: Sequence[FileIndex], source: SourceConfig) -> Iterator[_Friend]:
    for number, config in enumerate(source.friends):
        yield _index_friend(config, source, index, number)
    yield from _trees_with_events(index, source)


def _trees_with_events(index: Sequence[FileIndex], source: SourceConfig) -> Iterator[_Friend]:
    folders = [split_tree(file.tree or source.tree)[0] for file in index]
    there = [
        tree.removeprefix(folder)
        for file, folder in zip(index, folders, strict=True)
        for tree in file.other_objects.trees
        if tree.startswith(folder)
    ]
    names = trees_named(source.trees_with_events, there)
    paths = [file.path for file in index] * len(names)
    trees = [folder + name for name in names for folder in folders]
    files, ids = index_friend_files(paths, source, source.tree, KEY, trees)
    of_name = {name: files[n * len(index) :][: len(index)] for n, name in enumerate(names)}
    _check_trees(of_name, index, source)
    folder, _ = split_tree(source.tree_names.in_outputs([file.tree for file in index]))
    for name, own in of_name.items():
        yield _friend(own[0].tree, own, ids, f"{name}.", index, in_outputs=folder + name)


def _check_trees(
    of_name: Mapping[str, Sequence[FileIndex]], index: Sequence[FileIndex], source: SourceConfig
) -> None:
    """Raises InputError, which names the trees with other entries than the tree of events."""
    remedy = f"{KEY} takes trees with an entry for each event; leave this one out of it"
    problems = [
        f'{file.path}: tree "{own.tree}" has {plural(own.n_entries, "entry")}, but the tree of'
        f' events "{file.tree or source.tree}" has {file.n_entries:,}; {remedy}'
        if not own.absent
        else f'{file.path}: has no tree "{own.tree}", which other files have; {remedy}'
        for files in of_name.values()
        for own, file in zip(files, index, strict=True)
        if own.n_entries != file.n_entries
    ]
    if problems:
        more = [f"and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
        raise InputError("\n".join([*problems[:_SHOWN], *more]))


def _friend(
    tree: str,
    files: Sequence[FileIndex],
    ids: IdBranches,
    prefix: str,
    index: Sequence[FileIndex],
    in_outputs: str = "",
    keys: Iterable[str] = (),
) -> _Friend:
    has_ids = all(_has_ids(file, ids) for file in with_events(files))
    columns = _columns(files, {*ids[1:], *keys}, prefix, index)
    return _Friend(tree, files, ids, has_ids, columns, prefix, in_outputs)


def _index_friend(
    config: FriendConfig, source: SourceConfig, index: Sequence[FileIndex], number: int
) -> _Friend:
    tree, key = config.tree or source.tree, f"source.friends[{number}]"
    if not config.files and tree == source.tree:
        raise ConfigError(f"{key}: this is source.tree itself; name another tree, or files")
    paths, trees = [file.path for file in index], []
    if any(file.tree for file in index):
        trees = [split_tree(file.tree)[0] + tree for file in index]
    if config.files:
        trees = []
        named = source.replaced({"files": config.files, "list": None})
        paths, problems = find_files(named, f"correct {key}.files")
        if problems:
            raise InputError("\n".join(problem.text for problem in problems))
    files, ids = index_friend_files(paths, source, tree, f"{key}.tree", trees)
    friend = _friend(tree, files, ids, config.prefix, index, keys=config.keys.values())
    return friend._replace(config=config, key=key) if config.keys else friend


def index_friend_files(
    paths: Sequence[str], source: SourceConfig, tree: str, key: str, trees: Sequence[str] = ()
) -> tuple[list[FileIndex], IdBranches]:
    """Indexes files of a friend, with ids where present; returns the names of the id branches, too.
    `key`: name of the friend in the configuration; `trees`: of each file, if they differ. Raises
    InputError."""
    ids = source.ids._replace(tree=tree)
    return index_files(paths, ids, key=key, optional_ids=True, trees=trees), ids


def as_columns(file: FileIndex, prefix: str) -> FileIndex:
    """Index of a tree with its branches renamed to their columns."""
    return replace(
        file,
        branches=tuple(
            Branch(prefix + name, kind, counter and prefix + counter)
            for name, kind, counter, _ in file.branches
        ),
        members=tuple(
            Branch(prefix + name, kind, "", prefix + top) for name, kind, _, top in file.members
        ),
        forms=tuple((prefix + name, form) for name, form in file.forms),
        short_branches=tuple(prefix + name for name in file.short_branches),
    )


def with_events(files: Sequence[FileIndex]) -> Sequence[FileIndex]:
    """Files that determine the branches; the first if none has events."""
    return [file for file in files if file.n_entries] or files[:1]


def _has_ids(file: FileIndex, ids: IdBranches) -> bool:
    return {*ids[1:]} <= {branch.name for branch in file.all_branches}


def _columns(
    files: Sequence[FileIndex], ids: set[str], prefix: str, index: Sequence[FileIndex]
) -> dict[str, Branch]:
    """Readable branches, without ids. Omits a counter that the input has as well: the columns that
    it counts are read without it."""
    known = {branch.name for file in index for branch in file.all_branches}
    branches: dict[str, Branch] = {}
    for branch in (b for file in with_events(files) for b in file.all_branches):
        branches.setdefault(branch.name, branch)  # the first of several with one name
    counters = {branch.counter for branch in branches.values()}
    return {
        prefix + name: branch
        for name, branch in branches.items()
        if branch.readable and name not in ids and not (name in counters and prefix + name in known)
    }


def _check_names(friend: _Friend, taken: Mapping[str, str]) -> None:
    clashes = [name for name in friend.columns if name in taken]
    if clashes:
        shown = ", ".join(f'"{name}"' for name in clashes[:5])
        more = f" and {len(clashes) - 5} more" if len(clashes) > 5 else ""
        other = f'another than "{friend.prefix}"' if friend.prefix else '"friend_" or the like'
        remedy = f"give its columns a prefix, {other}"
        if friend.goes_with_events:
            remedy = "leave the tree out of it"
        raise ConfigError(
            f'{KEY if friend.goes_with_events else "source.friends"}: tree "{friend.tree}" has the'
            f" columns {shown}{more}, which {taken[clashes[0]]} has as well; {remedy}"
        )


def _aligned(index: Sequence[FileIndex], friend: _Friend) -> Iterator[FriendPart]:
    """Positions of each file's entries in the friend. Raises InputError if they are missing, or
    differ in their events."""
    _check_entries(index, friend)
    if friend.has_ids:
        _check_events(index, friend)
    if friend.goes_with_events:
        yield from (_part(own, friend, 0, own.n_entries) for own in friend.files)
        return
    ends = list(accumulate(file.n_entries for file in friend.files))
    first = 0
    for file in index:
        end = first + file.n_entries
        place = min(bisect_right(ends, first), len(ends) - 1)  # of an empty file, any
        own = friend.files[place]
        begin = ends[place] - own.n_entries
        if end > ends[place]:
            raise InputError(
                f'{own.path}: its tree "{friend.tree}" ends within the entries of {file.path}; a'
                " file of a friend has the entries of whole files of the input"
            )
        yield _part(own, friend, first - begin, file.n_entries)
        first = end


def _part(own: FileIndex, friend: _Friend, first_entry: int, n_entries: int) -> FriendPart:
    ids = friend.ids[1:] if friend.has_ids else NO_IDS
    files, partners = [friend_file(own, friend.ids)], Partners.in_a_row(first_entry, n_entries)
    part = FriendPart(files, partners, ids, friend.columns)
    if not friend.goes_with_events:
        return part
    named = as_columns(own, friend.prefix)
    return part._replace(own=named, prefix=friend.prefix, in_outputs=friend.in_outputs)


def _joined(
    index: Sequence[FileIndex], friend: _Friend, source: SourceConfig, finds_partners: bool
) -> Iterator[FriendPart]:
    """Positions of the partners of each file's entries. Raises ConfigError or InputError."""
    assert friend.config is not None
    _check_keys(index, friend, friend.config.keys)
    by_file = friend.config.is_by_file
    if by_file and len(friend.files) != len(index):
        raise ConfigError(
            f"{friend.key}.file_by_file: the friend has {plural(len(friend.files), 'file')}, the"
            f" input {len(index):,}"
        )
    wanted = range(len(index)) if finds_partners else ()
    looked_in = {n: [friend.files[n]] if by_file else friend.files for n in wanted}
    tables = [_table(file, source.tree) for file in index]
    yield from joined_parts(tables, looked_in, friend.ids, friend.columns, friend.config)


def joined_parts(
    tables: Sequence[Table],
    looked_in: Mapping[int, Sequence[FileIndex]],
    ids: IdBranches,
    columns: Mapping[str, Branch],
    config: FriendConfig,
) -> Iterator[FriendPart]:
    """Friend part of each input file, reduced to the friend's files with partners. `looked_in`:
    files to search, by number of the input file; for others, read by other nodes, parts without
    files."""
    keys = Keys(config.keys, config.duplicates is Partner.FIRST)
    inputs = {n: tables[n] for n in looked_in}
    lists = {id(files): [_table(file, ids.tree) for file in files] for files in looked_in.values()}
    found = find_partners(inputs, {n: lists[id(files)] for n, files in looked_in.items()}, keys)
    fills = config.missing.fill if isinstance(config.missing, FilledBranches) else {}
    is_filled = bool(fills) and any((each.file < 0).any() for each in found.values())
    no_file = FriendPart(
        [], Partners.in_a_row(0, 0), NO_IDS, columns, fills=fills, is_filled=is_filled, by_keys=True
    )
    for n in range(len(tables)):
        if n not in found:
            yield no_file
            continue
        used, own = only_files_with_partners(found[n])
        files = [friend_file(looked_in[n][number], ids) for number in used]
        yield no_file._replace(files=files, partners=own)


def _table(file: FileIndex, tree: str) -> Table:
    return Table(file.path, file.tree or tree, file.n_entries, file.identity)


def _check_keys(index: Sequence[FileIndex], friend: _Friend, keys: Mapping[str, str]) -> None:
    """Raises ConfigError if the input or the friend lacks these columns of integers."""
    problems = [
        *_key_problems(index, keys, "the input", friend.key),
        *_key_problems(friend.files, keys.values(), f'the friend "{friend.tree}"', friend.key),
    ]
    if problems:
        raise ConfigError(problems)


def _key_problems(
    files: Sequence[FileIndex], names: Iterable[str], what: str, key: str
) -> Iterator[str]:
    """Checks the first file with events: differences in others are found when they are read."""
    for file in with_events(files)[:1]:
        types = {branch.name: branch.type for branch in file.all_branches}
        for name in names:
            kind = types.get(name)
            if kind is None:
                near = suggestion(name, types)
                yield f'{key}.by: {what} has no branch "{name}"{near}; {file.path} lacks it'
            elif kind not in _KEY_TYPES:
                yield (
                    f'{key}.by: "{name}" of {what} is {kind} in {file.path}; keys are integers, one'
                    " for each event"
                )


def friend_file(own: FileIndex, ids: IdBranches) -> FriendFile:
    """File of a friend, with the digest that shows whether it is unchanged."""
    return FriendFile(own.path, own.tree or ids.tree, own.identity, _digest(own, ids))


def _check_entries(index: Sequence[FileIndex], friend: _Friend) -> None:
    def check(own: Sequence[FileIndex], files: Sequence[FileIndex]) -> None:
        n_own, n = (sum(file.n_entries for file in each) for each in (own, files))
        if n_own != n:
            raise InputError(
                f'{_named(own)}: tree "{friend.tree}" has {plural(n_own, "entry")}, but'
                f" {_named(files)} has {n:,}; {_REMEDY}"
            )

    if len(index) == len(friend.files):
        for file, own in zip(index, friend.files, strict=True):
            check([own], [file])
    check(friend.files, index)


def _named(files: Sequence[FileIndex]) -> str:
    more = len(files) - 1
    return files[0].path + (f" with {more} more file{'s' * (more > 1)}" if more else "")


def _check_events(index: Sequence[FileIndex], friend: _Friend) -> None:
    """Compares lumis, and digests of their events. The order of events within a lumi is compared
    when they are read."""
    own, wanted = list(_in_a_row(friend.files)), list(_in_a_row(index))
    if own == wanted:
        return
    held = set(own)
    run, lumi, entry, *_ = next(each for each in wanted if each not in held)
    first = 0
    for file in index:
        if first + file.n_entries > entry:
            break
        first += file.n_entries
    raise InputError(
        f'{friend.files[0].path}: tree "{friend.tree}" has other events than {file.path}, from its'
        f" entry {entry - first} on (run {run}, lumi {lumi}); {_REMEDY}"
    )


def _in_a_row(files: Sequence[FileIndex]) -> Iterator[tuple[int, int, int, int, str]]:
    """Run, lumi, first and last entry, and digest of each sequence in one lumi, as if all files
    were one."""
    last: tuple[int, int, int, int, str] | None = None
    begin = 0
    for file in files:
        for run, lumi, first, end, digest in file.ranges:
            if last is not None and last[:2] == (run, lumi):
                both = EventDigest(last[3] - last[2], last[4]) + EventDigest(end - first, digest)
                last = (run, lumi, last[2], begin + end, both.hex)
                continue
            if last is not None:
                yield last
            last = (run, lumi, begin + first, begin + end, digest)
        begin += file.n_entries
    if last is not None:
        yield last


def _digest(own: FileIndex, ids: IdBranches) -> str:
    held = repr((own.uuid, own.n_bytes, own.n_entries, own.all_branches))
    digest = hashlib.sha256(held.encode())
    if _has_ids(own, ids):
        for column in vars(RangeColumns.of(own.ranges)).values():
            digest.update(column.tobytes())
    return digest.hexdigest()
