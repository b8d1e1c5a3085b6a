"""What files say of the fields and pages of RNTuples, as uproot reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uproot


def fields_of(path: Path | str, ntuple: str) -> list[tuple[Any, ...]]:
    """Name, type and role of each field, with the encodings of its columns."""
    with uproot.open(path) as file:
        table = file[ntuple]
        columns: dict[int, list[tuple[Any, ...]]] = {}
        for column in table.column_records:
            kind = (column.type, column.nbits, column.min_value, column.max_value)
            columns.setdefault(column.field_id, []).append(kind)
        return [
            (field.field_name, field.type_name, field.struct_role, columns.get(number, []))
            for number, field in enumerate(table.field_records)
        ]


def pages_of(path: Path | str, ntuple: str) -> list[list[list[bytes]]]:
    """The stored bytes of each page, by column, by cluster."""
    with uproot.open(path) as file:
        places = file[ntuple].page_link_list
    data = Path(path).read_bytes()
    return [
        [
            [data[p.locator.offset :][: p.locator.num_bytes] for p in column.pages]
            for column in cluster
        ]
        for cluster in places
    ]
