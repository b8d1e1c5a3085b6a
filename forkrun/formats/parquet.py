"""Parquet files as outputs, for readers other than ROOT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forkrun.errors import InputError
from forkrun.formats.events import NO_IDS, Ids
from forkrun.formats.format import Format

if TYPE_CHECKING:
    from forkrun.formats.plain import Plain

    Part = Mapping[str, Plain]

_GROUP_BYTES = 128 << 20
"""Approximate size of columns in memory that are written as one row group."""


class ParquetFormat(Format):
    """Parquet outputs: jagged columns become lists, texts strings, arrays of fixed size lists of
    fixed size; branches of objects are left out. The bytes depend only on the rows and on
    pyarrow."""

    name = "parquet"
    suffix = ".parquet"

    def is_of(self, path: str) -> bool:
        """False: the format is for outputs."""
        return False

    def index(
        self, path: str, tree: str, ids: Ids = NO_IDS, file_number: int = 0
    ) -> dict[str, Any]:
        """Index with the columns alone."""
        import pyarrow.parquet as pq

        return {"branches": [(each.name, str(each.type), "") for each in pq.read_schema(path)]}

    def read(
        self, path: str, tree: str, names: Sequence[str], first: int = 0, last: int = -1
    ) -> Part:
        """Columns of one number per event."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            table = file.read(list(names), use_threads=False)
        if nested := [each.name for each in table.schema if each.type.num_fields]:
            raise InputError(f"{path}: {nested[0]}: only numbers are read of Parquet files")
        end = table.num_rows if last < 0 else last
        return {name: table[name].to_numpy()[first:end] for name in names}

    def new_columns(
        self, products: Sequence[tuple[str, str]], kept: Mapping[str, str]
    ) -> dict[str, str]:
        """Includes counters for jagged columns, as in ROOT trees: "nMuon" for "Muon_pt"."""
        from forkrun.formats.column_types import ColumnType, counter_of

        types: dict[str, str] = {}
        for name, kind in products:
            of = ColumnType.of(kind)
            if of.n_levels == 1 and not of.is_text and counter_of(name) not in kept:
                types.setdefault(counter_of(name), "int32")
            types[name] = kind
        return types

    def write(self, path: str, types: Mapping[str, str], parts: Iterable[Part]) -> None:
        import pyarrow.parquet as pq

        from forkrun.formats.plain import empty_column, row_groups

        nothing = {name: empty_column(kind) for name, kind in types.items()}
        with pq.ParquetWriter(path, _table(nothing, types).schema, compression="zstd") as writer:
            is_empty = True
            for group in row_groups(parts, _GROUP_BYTES):
                table = _table(group, types)
                writer.write_table(table, row_group_size=table.num_rows)
                is_empty = False
            if is_empty:  # one group without rows, for its columns
                writer.write_table(_table(nothing, types))

    def merge(self, inputs: Sequence[str], output: str, **options: Any) -> dict[str, int]:
        """Joins row groups, which are written again: pyarrow cannot copy them."""
        import pyarrow.parquet as pq

        n_rows = 0
        with pq.ParquetWriter(output, pq.read_schema(inputs[0]), compression="zstd") as writer:
            for path in inputs:
                with pq.ParquetFile(path) as file:
                    for number in range(file.num_row_groups):
                        group = file.read_row_group(number)
                        if group.num_rows or (not n_rows and path == inputs[-1]):
                            writer.write_table(group, row_group_size=max(group.num_rows, 1))
                            n_rows += group.num_rows
        return {"": n_rows}


PARQUET = ParquetFormat()


def _table(part: Part, types: Mapping[str, str]) -> Any:
    import pyarrow as pa

    return pa.table({name: _array(_column(name, part)) for name in types})


def _column(name: str, part: Part) -> Plain:
    """The column, or the counts of values of columns without another counter."""
    if name in part:
        return part[name]
    import numpy as np

    from forkrun.formats.column_types import counter_of

    counted = next(c for n, c in part.items() if counter_of(n) == name and isinstance(c, tuple))
    return np.diff(counted[0]).astype(np.int32)


def _array(column: Plain) -> Any:
    """Arrow array of a plain column: texts become strings, arrays of fixed size lists of fixed
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
