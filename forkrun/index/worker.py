"""A helper process that reads indexes. ROOT's files, libraries and threads end with this
process."""

from __future__ import annotations

import math
import os
import tempfile
from typing import Any

from forkrun import _core
from forkrun.errors import InputError
from forkrun.fork.helper import Answer, Request, serve
from forkrun.fork.limits import MOST_HEAP_BYTES, cpu_limit_s, limit_cpu, limit_heap
from forkrun.formats import format_of

_IDS = ("run_branch", "lumi_branch", "event_branch")
_LEAST_HEAP_BYTES = 1 << 30  # ROOT itself takes 0.3 GB
_LARGE = {"carried", "by"}
"""Arguments of requests with data on all files, or on all entries."""
_READ_AT_ONCE = 1 << 20
_S_PER_MB = 1.0  # a hundred times the cost of the id branches


def answer(request: Request) -> Answer:
    """`{"index": …}`, for a request for events `{"found": [[event, entry], …]}`, for sums `{"sums":
    [[origin, number], …]}`, for files to carry `{"carried": number}`, for repeated events
    `{"again": …}`, for partners in a friend `{"partners": …}`, for values `{"values": …}`, for
    branches `{"described": …}`, for files of a server `{"matches": …}` or `{"stats": …}`, for
    weights `{"weights": …}`, or `{"error": message}`."""
    files = _paths(request)
    limit_cpu(cpu_limit_s(files, _S_PER_MB))
    limit_heap(files, MOST_HEAP_BYTES if request.keys() & _LARGE else _LEAST_HEAP_BYTES)
    try:
        if "residue" in request:
            from forkrun.index.searches import find_repeats

            return {"again": find_repeats(request)}
        if "by" in request:
            from forkrun.index.searches import find_partners

            return {"partners": find_partners(request)}
        if "weights" in request:
            return {"weights": weights_of(request)}
        if "pieces" in request:
            return {"values": values_of(request)}
        if "pattern" in request:
            from forkrun.index.files import matches

            return {"matches": matches(request["pattern"])}
        if "fill" in request:
            return {"filled": _core.fill_cache(request["path"])}
        if "stats" in request:
            return {"stats": _core.stat_remote(request["stats"])}
        if "describe" in request:
            return {"described": format_of(files[0]).described(files[0], request["describe"])}
        if "sum_of" in request:
            return {"sums": sums(request)}
        if "events" in request:
            return {"found": find(request)}
        if "carried" in request:
            return {"carried": check_carried(request)}
        return {"index": index_of(request)}
    except MemoryError:
        return {"error": "more memory is needed than a helper may have; the file may be damaged"}
    except Exception as error:
        return {"error": str(error) or type(error).__name__}


def index_of(request: dict[str, Any]) -> dict[str, Any]:
    """Index of a tree; without ids if these are optional and it lacks their branches."""
    path, tree, number = request["path"], request["tree"], request.get("file_number", 0)
    ids = tuple(request[name] for name in _IDS)
    read = format_of(path).index
    if request.get("optional_ids"):
        without_ids = read(path, tree, file_number=number)
        held = {name for what in ("branches", "members") for name, *_ in without_ids[what]}
        if not {*ids} <= held:
            return without_ids
    return read(path, tree, ids, number)


def sums(request: dict[str, Any]) -> list[tuple[str, float]] | None:
    """Sums of a column of a tree, by the file of origin of its rows ("": this one), in their order;
    None if there is no such tree or column."""
    import numpy as np

    path, tree = request["path"], request["tree"]
    index = _index(path, tree) if format_of(path).has_tables else None
    names = [name for name, *_ in (index or {"branches": []})["branches"]]
    names = [name for name in names if name in request["sum_of"]]
    if index is None or not names:
        return None
    columns = format_of(path).read(path, tree, names[:1], 0, index["n_entries"])
    values = np.asarray(columns[names[0]], dtype=np.float64)
    parts = _origins(path, tree, len(values))
    ends = np.cumsum([n_rows for _, n_rows in parts]).tolist()
    starts = [0, *ends]
    return [
        (origin, math.fsum(values[first:last]))
        for (origin, _), first, last in zip(parts, starts, ends, strict=False)
    ]


def _index(path: str, tree: str) -> dict[str, Any] | None:
    index = format_of(path).index(path, tree)
    return None if index["absent"] else index


def _origins(path: str, tree: str, n_rows: int) -> list[tuple[str, int]]:
    """File of origin and number of rows, for each sequence of rows."""
    origins = format_of(path).origins(path)
    if origins is None:
        return [("", n_rows)]
    parts = [("-".join(map(str, origin)), n) for *origin, n in origins.get(tree, [])]
    if sum(n for _, n in parts) != n_rows:
        raise InputError("its rows are not those that forkrun_origins names; hadd may have made it")
    return parts


def find(request: dict[str, Any]) -> list[list[int]]:
    """[event, entry] of the requested events that are in a range of entries."""
    import numpy as np  # not needed for an index

    from forkrun.formats.plain import ids_of

    first, branch = request["first"], request["event_branch"]
    path, tree = request["path"], request["tree"]
    columns = format_of(path).read(path, tree, [branch], first, request["last"])
    numbers = ids_of(columns[branch])  # the index has seen no negative ones
    wanted = np.array(request["events"], dtype=np.uint64)  # of a list, NumPy would make floats
    places = np.flatnonzero(np.isin(numbers, wanted))
    return [[int(numbers[place]), int(place) + first] for place in places]


def values_of(request: dict[str, Any]) -> dict[str, bytes]:
    """Values of columns of integers, as uint64 in bytes, for the entries [first, last) of each
    piece."""
    import numpy as np

    from forkrun.formats.plain import ids_of

    path, names = request["path"], request["names"]
    opened = format_of(path).opened(path, request["tree"])
    parts = [opened.read(names, first, last) for first, last in request["pieces"]]
    columns = {name: [ids_of(part[name]) for part in parts] for name in names}
    return {name: np.concatenate(column).tobytes() for name, column in columns.items()}


def weights_of(request: dict[str, Any]) -> tuple[float, float, float]:
    """Sums of a column of weights over the entries [first, last) of the pieces and over all
    entries, and of their magnitudes."""
    import numpy as np

    path, name, n_entries = request["path"], request["weights"], request["n_entries"]
    opened = format_of(path).opened(path, request["tree"])
    is_read = np.zeros(n_entries, dtype=np.bool_)
    for first, last in request["pieces"]:
        is_read[first:last] = True
    sums = []
    for first in range(0, n_entries, _READ_AT_ONCE):
        last = min(first + _READ_AT_ONCE, n_entries)
        values = np.asarray(opened.read([name], first, last)[name], dtype=np.float64)
        sums.append((values[is_read[first:last]].sum(), values.sum(), np.abs(values).sum()))
    read, total, magnitude = (math.fsum(each) for each in zip(*sums, strict=True))
    return read, total, magnitude


def check_carried(request: dict[str, Any]) -> int:
    """Joins the other trees and objects of files, like a later job; keeps no output."""
    files: list[str] = request["carried"]
    with tempfile.TemporaryDirectory(prefix="forkrun-carried-") as folder:
        scratch = os.path.join(folder, "carried.root")
        format_of(files[0]).carry(
            files, scratch, request["exclude"], request["keep_first"], (),
            request["common_branches"], is_new=True)  # fmt: skip
    return len(files)


def _paths(request: dict[str, Any]) -> list[str]:
    """Files read for a request."""
    paths = request.get("paths", {"": request["path"]})
    return list(request.get("carried", paths.values()))


if __name__ == "__main__":
    serve(answer)
    os._exit(0)  # nothing to clean up, and ROOT would take 50 ms for it
