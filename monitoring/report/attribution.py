"""Owners of the pages that became private, from pages, mappings and objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.monitoring.job_memory import ANONYMOUS, OF_FILE, STACK, MappedRange

Pages = npt.NDArray[np.uint64]
OBJECT_PAGE = 4096  # page size in the records of objects
POOL_BLOCK = 1 << 20  # size of pymalloc's arenas

PYMALLOC = "pymalloc arena"


class Unshared(Struct, frozen=True):
    """Memory of one owner, of one type, in one place. `at_fork_bytes`: shared with the parent;
    `private_bytes`: mean over the children of memory that became private. `after`: parts of it by
    the preceding event, largest first. All in bytes. `why`: the usual reason for such memory."""

    owner: str
    type: str
    where: str
    at_fork_bytes: float
    private_bytes: float
    after: Mapping[str, float]
    why: str = ""


class Objects(Struct, frozen=True):
    """Parts of pages that are Python objects: page (address / 4096), owner and type by number,
    bytes, and whether the page belongs to pymalloc. (n,) each."""

    page: Pages
    owner: npt.NDArray[np.int64]
    type: npt.NDArray[np.int64]
    n_bytes: npt.NDArray[np.float64]
    is_small: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, records: npt.NDArray[np.void]) -> Objects:
        return cls(
            records["page"].astype(np.uint64),
            records["owner"].astype(np.int64),
            records["type"].astype(np.int64),
            records["n_bytes"].astype(np.float64),
            records["is_small"].astype(bool),
        )


def attribute(
    at_fork: Pages,
    private: Sequence[npt.NDArray[np.void]],
    ranges: Sequence[MappedRange],
    objects: Objects,
    names: Mapping[str, Sequence[str]],
    borders: Mapping[int, str],
    page_size: int,
) -> list[Unshared]:
    """Divides every page among its contents; largest private memory first. Bytes are conserved.

    at_fork: numbers of the pages, sorted. private: by child, records of (page, border). names:
    owners and types by number. borders: in words.

    The objects on a page have shares in proportion to their sizes. In pymalloc's arenas they share
    the whole page, including free space, which exists because of them. Elsewhere the rest counts as
    memory without owner."""
    shares = _shares(at_fork, ranges, objects, page_size)
    amounts, label_of = _private_by_border(at_fork, private, borders)
    rows: list[Unshared] = []
    for (owner, kind, where), places in shares.groups.items():
        pages, weights = shares.page[places], shares.weight[places]
        by_border = {
            label_of[border]: float(weights @ amounts[border][pages])
            for border in range(len(label_of))
        }
        after = dict(sorted(by_border.items(), key=lambda item: -item[1]))
        place = (
            names["owners"][owner] if owner >= 0 else "",
            names["types"][kind] if kind >= 0 else "",
            shares.wheres[where],
        )
        rows.append(
            Unshared(
                *place,
                float(weights.sum()),
                sum(by_border.values()),
                {label: size for label, size in after.items() if size > 0},
                _why(*place),
            )
        )
    return sorted(rows, key=lambda row: (-row.private_bytes, -row.at_fork_bytes))


def _why(owner: str, kind: str, where: str) -> str:
    if where == STACK:
        return "local variables"
    if where.startswith(OF_FILE):
        return "variables of a library"
    if kind.startswith("array of"):
        return "written to, or next to what was"
    if owner:
        return "counts of references, or filled"
    if where == PYMALLOC:
        return "new objects in free places"
    return "malloc in free places; C++ writes"


class _Shares(Struct, frozen=True):
    """`page`: index in `at_fork`, and `weight` [bytes] of each share; `groups`: indices of the
    shares of one (owner, type, where)."""

    page: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    groups: dict[tuple[int, int, int], npt.NDArray[np.int64]]
    wheres: Sequence[str]


def _shares(
    at_fork: Pages, ranges: Sequence[MappedRange], objects: Objects, page_size: int
) -> _Shares:
    page, weight, owner, kind, is_small = _object_shares(at_fork, objects, page_size)
    n_pages = len(at_fork)
    small = np.zeros(n_pages, dtype=bool)
    small[page[is_small]] = True
    used = np.bincount(page, weight, n_pages)
    scale = np.where(small | (used > page_size), page_size / np.maximum(used, 1e-9), 1.0)
    weight = weight * scale[page]
    where, wheres = _places(at_fork, ranges, small, page_size)
    rest = page_size - np.bincount(page, weight, n_pages)
    left = np.flatnonzero(rest > 1e-6)
    page = np.concatenate([page, left])
    weight = np.concatenate([weight, rest[left]])
    no_owner = np.full(len(left), -1)
    keys = np.stack(
        [np.concatenate([owner, no_owner]), np.concatenate([kind, no_owner]), where[page]], axis=1
    )
    return _Shares(page, weight, _groups(keys), wheres)


def _object_shares(at_fork: Pages, objects: Objects, page_size: int) -> tuple[Any, ...]:
    """Objects on pages that existed at the fork, with each page as its index in `at_fork`."""
    numbers = objects.page * np.uint64(OBJECT_PAGE) // np.uint64(page_size)
    place = np.searchsorted(at_fork, numbers)
    inside = np.flatnonzero(place < len(at_fork))
    known = inside[at_fork[place[inside]] == numbers[inside]]
    return (
        place[known],
        objects.n_bytes[known],
        objects.owner[known],
        objects.type[known],
        objects.is_small[known],
    )


def _places(
    at_fork: Pages, ranges: Sequence[MappedRange], small: npt.NDArray[np.bool_], page_size: int
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """(n_pages,) region number of each page, and the regions' names by number. Anonymous memory
    with small objects belongs to pymalloc."""
    wheres = sorted({r.where for r in ranges} | {ANONYMOUS, PYMALLOC})
    number = {where: i for i, where in enumerate(wheres)}
    ordered = sorted(ranges, key=lambda r: r.start)
    starts = np.array([r.start for r in ordered], dtype=np.uint64) // np.uint64(page_size)
    kinds = np.array([number[r.where] for r in ordered], dtype=np.int64)
    place = np.searchsorted(starts, at_fork, side="right") - 1
    where = np.where(place >= 0, kinds[place], number[ANONYMOUS]) if len(kinds) else np.full(
        len(at_fork), number[ANONYMOUS]
    )  # fmt: skip
    blocks = at_fork // np.uint64(POOL_BLOCK // page_size)
    in_arena = np.isin(blocks, np.unique(blocks[small])) & (where == number[ANONYMOUS])
    return np.where(in_arena, number[PYMALLOC], where), wheres


def _groups(keys: npt.NDArray[np.int64]) -> dict[tuple[int, int, int], npt.NDArray[np.int64]]:
    if not len(keys):
        return {}
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    order = np.argsort(inverse, kind="stable")
    pieces = np.split(order, np.cumsum(np.bincount(inverse))[:-1])
    return {
        (int(key[0]), int(key[1]), int(key[2])): piece
        for key, piece in zip(unique, pieces, strict=True)
    }


def _private_by_border(
    at_fork: Pages, private: Sequence[npt.NDArray[np.void]], borders: Mapping[int, str]
) -> tuple[list[npt.NDArray[np.float64]], list[str]]:
    """By border and page, the fraction of the children in which the page became private; and the
    borders' names."""
    labels = sorted(
        {borders.get(int(b), f"border {b}") for c in private for b in np.unique(c["border"])}
    )
    amounts = [np.zeros(len(at_fork)) for _ in labels]
    for child in private:
        place = np.searchsorted(at_fork, child["page"])
        for border in np.unique(child["border"]):
            label = borders.get(int(border), f"border {border}")
            chosen = place[child["border"] == border]
            amounts[labels.index(label)][chosen] += 1.0 / len(private)
    return amounts, labels
