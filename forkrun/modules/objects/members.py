"""Lists of values that belong to objects and lie in columns of their own: vector members of
EDM4hep, `EventHeader.weights_begin` and `_end` into `_EventHeader_weights`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from forkrun.formats.column_types import ColumnType

_BEGIN, _END = "_begin", "_end"


class VectorMember(Struct, frozen=True):
    """`begin`, `end`: columns with the part of the event's list that belongs to an object;
    `columns`: those of the list by field, by "" where it has values alone; `types`: theirs."""

    begin: str
    end: str
    columns: Mapping[str, str]
    types: Mapping[str, ColumnType]

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns without which there is no list."""
        return (self.begin, self.end, next(iter(self.columns.values())))


def vector_members(
    name: str, columns: Mapping[str, str], types: Mapping[str, str], related: Collection[str]
) -> dict[str, VectorMember]:
    """Those of the collection `name`. `columns`: by field; `types`: all columns; `related`: names
    of what leads to other objects."""
    found = {}
    for begin in columns:
        member = begin.removesuffix(_BEGIN)
        end = member + _END
        if member == begin or end not in columns or member in related:
            continue
        of_list = dict(_of_list(f"_{name}_{member}", types))
        if of_list:
            kinds = {field: ColumnType.of(types[column]) for field, column in of_list.items()}
            found[member] = VectorMember(columns[begin], columns[end], of_list, kinds)
    return found


def _of_list(name: str, types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = [name] if name in types else [each for each in types if each.startswith(f"{name}.")]
    for column in names:
        of = ColumnType.of(types[column])
        if of.n_levels == 1 and not of.is_text:
            yield column.removeprefix(name).removeprefix("."), column
