"""Parquet and Arrow files, as columns that need no Arrow any more."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forkrun.base.quantities import plural
from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider

if TYPE_CHECKING:
    import pyarrow as pa


class ParquetProvider(ConditionsProvider):
    """A dict of columns: NumPy arrays, (n_rows,); Awkward Arrays for lists and records. `columns`:
    only these."""

    requires = "pyarrow"
    depends_on_iov = False

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self._columns = list(columns) or None

    def load(self, file: str | None, iov: Iov) -> dict[str, Any]:
        import pyarrow.parquet as pq

        # Neither its threads nor those that read ahead: the parent has one thread.
        with pq.ParquetFile(str(file), memory_map=False, pre_buffer=False) as source:
            _check_columns(self._columns, source.schema_arrow.names)
            return columns_of(source.read(self._columns, use_threads=False))


class ArrowProvider(ParquetProvider):
    """The same of a file in Arrow's own format (Feather). Columns that are not compressed stay on
    the disk until they are looked at, like those of a memory-mapped array."""

    def load(self, file: str | None, iov: Iov) -> dict[str, Any]:
        import pyarrow as pa

        with open(str(file), "rb") as source:
            mapped = mmap.mmap(source.fileno(), 0, prot=mmap.PROT_READ)
        options = pa.ipc.IpcReadOptions(use_threads=False)
        table = pa.ipc.open_file(pa.py_buffer(mapped), options=options).read_all()
        _check_columns(self._columns, table.column_names)
        return columns_of(table.select(self._columns) if self._columns else table)


def _check_columns(wanted: Sequence[str] | None, there: Sequence[str]) -> None:
    from forkrun.base.nearest import suggestion

    missing = [name for name in wanted or () if name not in there]
    if missing:
        raise ValueError(f'it has no column "{missing[0]}"' + suggestion(missing[0], there))


def columns_of(table: pa.Table) -> dict[str, Any]:
    """Arrays by name, on Arrow's memory where it has one piece."""
    return {name: _as_array(table.column(name), name) for name in table.column_names}


def _as_array(column: pa.ChunkedArray, name: str) -> Any:
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_nested(kind):
        import awkward as ak

        return ak.from_arrow(column)
    if column.null_count and not kinds.is_floating(kind):
        raise ValueError(f'column "{name}" has {plural(column.null_count, "row")} without a value')
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return np.array(column.to_pylist(), dtype=str)
    return _plain(column)


def _plain(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column of numbers, bools or times as an array; a missing float is NaN."""
    return np.ascontiguousarray(column.combine_chunks().to_numpy(zero_copy_only=False))
