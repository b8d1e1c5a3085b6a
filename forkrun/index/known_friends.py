"""Friend trees as whoever planned the job found them: a node knows where the entries of its files
are in them, without the files of other nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from forkrun.config import SourceConfig
from forkrun.index.friends import as_columns, friend_digest, index_friend_files
from forkrun.index.model import NO_FILE, Branch, FileIndex, FriendPart


class KnownFriend(Struct, frozen=True):
    """`ids`: names of its branches of event ids, or ""; `columns`: its branches, by the names of
    their columns; `files`: by path of its files, their bytes; `places`: by number of a file of the
    input, the friend's file, and the first of its entries there; `prefix`: of the columns of a tree
    that goes with the events to outputs, and its path `in_outputs`; `trees`: by number, where not
    all files have one of the same path."""

    tree: str
    ids: Sequence[str]
    columns: Mapping[str, Branch]
    files: Mapping[str, int]
    places: Mapping[int, tuple[str, int]]
    prefix: str = ""
    in_outputs: str = ""
    trees: Mapping[int, str] = {}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> KnownFriend:
        """Friend of its fields, by name. Raises LookupError, TypeError or ValueError."""
        columns = {name: Branch(*branch) for name, branch in data["columns"].items()}
        places = {int(n): (str(path), int(first)) for n, (path, first) in data["places"].items()}
        trees = {int(n): tree for n, tree in data.get("trees", {}).items()}
        return cls(
            data["tree"], tuple(data["ids"]), columns, data["files"], places,
            data.get("prefix", ""), data.get("in_outputs", ""), trees,
        )  # fmt: skip


def known_friends(index: Sequence[FileIndex], numbers: Collection[int]) -> tuple[KnownFriend, ...]:
    """The friends of a whole input, with the places of the files of these numbers."""
    n_friends = len(index[0].friends) if index else 0
    return tuple(_known({n: index[n].friends[k] for n in numbers}) for k in range(n_friends))


def _known(parts: Mapping[int, FriendPart]) -> KnownFriend:
    """`parts` : by number of a file of the input."""
    any_part = next(iter(parts.values()))
    return KnownFriend(
        any_part.tree,
        tuple(any_part.ids),
        any_part.columns,
        {part.path: part.identity[1] for part in parts.values()},
        {n: (part.path, part.first_entry) for n, part in parts.items()},
        any_part.prefix,
        any_part.in_outputs,
        {n: part.tree for n, part in parts.items() if part.tree != any_part.tree},
    )


def with_known_friends(
    index: Sequence[FileIndex], friends: Sequence[KnownFriend], source: SourceConfig
) -> list[FileIndex]:
    """The index of a part of the input with its friends, whose files are indexed as they are now.
    Raises InputError for a friend that cannot be read."""
    parts = [list(_parts(known, source, n, len(index))) for n, known in enumerate(friends)]
    return [
        replace(file, friends=tuple(of_friend[n] for of_friend in parts))
        for n, file in enumerate(index)
    ]


def _parts(
    known: KnownFriend, source: SourceConfig, number: int, n_files: int
) -> Iterator[FriendPart]:
    """One for each file of the input; of those that other nodes read, one of no file."""
    paths = [path for path, _ in known.places.values()]
    trees = [known.trees.get(n, known.tree) for n in known.places]
    key = f"source.friends[{number}].tree"
    files, ids = index_friend_files(paths, source, known.tree, key, trees)
    indexed = dict(zip(known.places, files, strict=True))
    for n in range(n_files):
        path, first = known.places.get(n, ("", 0))
        file = indexed.get(n, NO_FILE)
        digest = friend_digest(file, ids) if path else ""
        own = as_columns(file, known.prefix) if known.prefix else None
        yield FriendPart(
            path, file.tree or known.tree, first, file.identity, digest, known.ids, known.columns,
            own, known.prefix, known.in_outputs,
        )  # fmt: skip
