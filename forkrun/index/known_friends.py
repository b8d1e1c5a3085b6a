"""Friend trees as in the job's plan: a node knows the positions of its files' entries in them,
without the files of other nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from forkrun.config.source import SourceConfig
from forkrun.index.friends import as_columns, friend_file, index_friend_files, joined_parts
from forkrun.index.joining import Table
from forkrun.index.model import NO_FILE, Branch, FileIndex, FriendPart
from forkrun.index.partners import Partners


class KnownFriend(Struct, frozen=True):
    """`ids`: names of its branches of event ids, or ""; `columns`: its branches, by the names of
    their columns; `files`: size in bytes by path; `places`: the friend's file and first entry
    there, by number of the input file; `prefix`: of the columns of a tree that accompanies the
    events to outputs, and its path `in_outputs`; `trees`: by number, where paths of trees differ
    between files; `by_keys`: for partners found by keys, the friend's files and trees with them, by
    number of the input file; `is_filled`: some event of the whole input has no partner."""

    tree: str
    ids: tuple[str, ...]
    columns: Mapping[str, Branch]
    files: Mapping[str, int]
    places: Mapping[int, tuple[str, int]]
    prefix: str = ""
    in_outputs: str = ""
    trees: Mapping[int, str] = {}
    by_keys: Mapping[int, Sequence[tuple[str, str]]] = {}
    is_filled: bool = False


def known_friends(index: Sequence[FileIndex], numbers: Collection[int]) -> tuple[KnownFriend, ...]:
    """Friends of a whole input, with the positions of the files of these numbers."""
    n_friends = len(index[0].friends) if index else 0
    return tuple(_known({n: index[n].friends[k] for n in numbers}) for k in range(n_friends))


def _known(parts: Mapping[int, FriendPart]) -> KnownFriend:
    """Makes a friend from its `parts`, by number of the input file."""
    any_part = next(iter(parts.values()))
    files = {n: part.files for n, part in parts.items()}
    aligned = {} if any_part.by_keys else {n: each[0] for n, each in files.items()}
    tree = next((file.tree for file in aligned.values()), "")
    return KnownFriend(
        tree,
        tuple(any_part.ids),
        any_part.columns,
        {each.path: each.identity[1] for of_file in files.values() for each in of_file},
        {n: (each.path, parts[n].partners.first_partner) for n, each in aligned.items()},
        any_part.prefix,
        any_part.in_outputs,
        {n: each.tree for n, each in aligned.items() if each.tree != tree},
        {n: [(f.path, f.tree) for f in each] for n, each in files.items()}
        if any_part.by_keys
        else {},
        any_part.is_filled,
    )


def with_known_friends(
    index: Sequence[FileIndex], friends: Sequence[KnownFriend], source: SourceConfig
) -> list[FileIndex]:
    """Index of a part of the input with its friends, whose files are indexed in their present
    state. Raises InputError for a friend that cannot be read."""
    parts = [list(_parts(known, source, n, index)) for n, known in enumerate(friends)]
    return [
        replace(file, friends=tuple(of_friend[n] for of_friend in parts))
        for n, file in enumerate(index)
    ]


def _parts(
    known: KnownFriend, source: SourceConfig, number: int, index: Sequence[FileIndex]
) -> Iterator[FriendPart]:
    """Friend part of each input file; for files read by other nodes, a part without files."""
    places: dict[int, Sequence[tuple[str, str]]]
    places = {n: [(path, known.trees.get(n, known.tree))] for n, (path, _) in known.places.items()}
    places |= known.by_keys
    wanted = list(dict.fromkeys(each for files in places.values() for each in files))
    paths, trees = [path for path, _ in wanted], [tree for _, tree in wanted]
    key = f"source.friends[{number}].tree"
    files, ids = index_friend_files(paths, source, known.tree or source.tree, key, trees)
    indexed = dict(zip(wanted, files, strict=True))
    own = {n: [indexed[each] for each in of_file] for n, of_file in places.items()}
    if known.by_keys:
        tables = [
            Table(file.path, file.tree or source.tree, file.n_entries, file.identity)
            for file in index
        ]
        for part in joined_parts(tables, own, ids, known.columns, source.friends[number]):
            yield part._replace(is_filled=known.is_filled)
        return
    for n, of_events in enumerate(index):
        _, first = known.places.get(n, ("", 0))
        file = own[n][0] if n in own else NO_FILE
        yield FriendPart(
            [friend_file(file, ids)] if n in own else [],
            Partners.in_a_row(first, of_events.n_entries),
            known.ids,
            known.columns,
            as_columns(file, known.prefix) if known.prefix else None,
            known.prefix,
            known.in_outputs,
        )
