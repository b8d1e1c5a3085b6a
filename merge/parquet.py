"""The rows of a merged output as a Parquet file, for what does not read ROOT."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from forkrun.base.durable import published
from forkrun.formats import format_of

_GROUP_BYTES = 128 << 20
"""Approximate size of columns in memory, which are read and written as one row group."""
_RATIO = 4
"""Bytes of columns for each byte of a compressed file, roughly."""
_MOST_ROWS, _LEAST_ROWS = 1 << 20, 1 << 10


def write_parquet(root_file: Path, tree: str, final: Path) -> int:
    """Writes every column of the tree, in its order, a jagged one as lists, texts
    as strings; gives the size of the
    file. Branches of objects are left out. The bytes depend on the rows and on pyarrow alone."""
    import pyarrow.parquet as pq

    form = format_of(str(root_file))
    index = form.index(str(root_file), tree)
    names = [name for name, kind, _ in index["branches"] if not kind.startswith("other:")]
    opened = form.opened(str(root_file), tree)
    with published(final) as temporary:
        writer = None
        try:
            for first, last in _groups(index["n_entries"], root_file.stat().st_size):
                table = _table(opened, names, first, last)
                writer = writer or pq.ParquetWriter(temporary, table.schema, compression="zstd")
                writer.write_table(table, row_group_size=max(last - first, 1))
        finally:
            if writer is not None:
                writer.close()
        return temporary.stat().st_size


def _groups(n_rows: int, n_bytes: int) -> Iterator[tuple[int, int]]:
    """Rows of each group; one without rows if there are none, for its columns."""
    wanted = _GROUP_BYTES * n_rows // max(_RATIO * n_bytes, 1)
    step = min(max(wanted, _LEAST_ROWS), _MOST_ROWS)
    yield from pairwise([*range(0, max(n_rows, 1), step), n_rows])


def _table(tree: Any, names: list[str], first: int, last: int) -> Any:
    import pyarrow as pa

    columns = tree.read(names, first, last)
    return pa.table({name: _array(columns[name]) for name in names})


def _array(column: Any) -> Any:
    """Arrow array of a plain column: a text is a string, an array of fixed size a list of fixed
    size."""
    import pyarrow as pa

    if not isinstance(column, tuple):
        array = pa.array(column.ravel())
        for size in reversed(column.shape[1:]):
            array = pa.FixedSizeListArray.from_arrays(array, size)
        return array
    offsets = pa.array(column[0].astype("int32"))
    if len(column) == 2 and column[1].dtype.kind == "S":
        buffers = offsets.buffers()[1], pa.py_buffer(column[1])
        return pa.StringArray.from_buffers(len(offsets) - 1, *buffers)
    return pa.ListArray.from_arrays(offsets, _array(column[1] if len(column) == 2 else column[1:]))
