"""Friends joined by keys: helper processes find the partners of the input's entries before the job
runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from forkrun.formats.events import Identity
from forkrun.index.partners import NONE, Partners
from forkrun.index.read import cached_results


class Table(NamedTuple):
    """A tree in an indexed file."""

    path: str
    tree: str
    n_entries: int
    identity: Identity


class Keys(NamedTuple):
    """`names`: in the friend, by those in the input; `takes_first`: the first of several entries
    with the same keys counts."""

    names: Mapping[str, str]
    takes_first: bool


def find_partners(
    inputs: Mapping[int, Table],
    friends: Mapping[int, Sequence[Table]],
    keys: Keys,
) -> dict[int, Partners]:
    """Partners of the input files, by number. `friends`: files of the friend to search for each;
    input files with the same ones share a request. Raises InputError."""
    groups: dict[int, list[int]] = {}
    for number, files in friends.items():
        groups.setdefault(id(files), []).append(number)
    requests = [_request(n, inputs, friends[n[0]], keys) for n in groups.values()]
    found: dict[int, Partners] = {}
    for number, answer in cached_results(requests, "partners"):
        found |= _partners(requests[number], answer)
    return found


def _request(
    numbers: Sequence[int], inputs: Mapping[int, Table], friends: Sequence[Table], keys: Keys
) -> dict[str, Any]:
    own = [inputs[n] for n in numbers]
    return {
        "path": own[0].path,
        "paths": {str(n): table.path for n, table in enumerate([*own, *friends])},
        "numbers": numbers,
        "inputs": own,
        "friends": list(friends),
        "by": dict(keys.names),
        "takes_first": keys.takes_first,
    }


def _partners(request: dict[str, Any], answer: Mapping[str, Any]) -> dict[int, Partners]:
    return {
        number: Partners(
            np.frombuffer(first, np.int64), np.frombuffer(file, np.int32),
            np.frombuffer(entry, np.int64), np.frombuffer(repeats, np.uint8),
            table.n_entries,
        )
        for number, table, (first, file, entry, repeats) in zip(
            request["numbers"], request["inputs"], answer["files"], strict=True
        )
    }  # fmt: skip


def only_files_with_partners(partners: Partners) -> tuple[list[int], Partners]:
    """Numbers of the friend's files with partners, and the partners renumbered for these."""
    used = np.unique(partners.file[partners.file > NONE])
    numbers = np.where(
        partners.file > NONE, np.searchsorted(used, partners.file), partners.file
    ).astype(np.int32)
    return used.tolist(), Partners(
        partners.first, numbers, partners.entry, partners.repeats, partners.n_entries
    )
