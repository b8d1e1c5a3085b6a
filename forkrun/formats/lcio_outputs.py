"""Outputs as files of LCIO: records of events are copied as they are, or changed where collections
are left out or new columns come in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from forkrun.formats.events import OutputToMake, Range
from forkrun.formats.lcio_bytes import record
from forkrun.formats.lcio_columns import PARAMETERS
from forkrun.formats.lcio_new_columns import Additions, additions, refuse_names
from forkrun.formats.lcio_records import InputRecords, RecordWriter
from forkrun.formats.plain import rows_of
from forkrun.formats.selection import Selected, selected_spans

_AT_A_TIME = 256
"""Events whose records are in memory at the same time."""
RecordsOf = Callable[[int], InputRecords]


def make_output(
    output: OutputToMake,
    path: str,
    entries: Sequence[Range],
    records_of: RecordsOf,
    n_threads: int,
    verify: bool,
) -> int:
    """Makes a file, and gives the number of its events. `verify`: records that are copied are
    unpacked. Raises InputError, OutputError."""
    n_events = 0
    with RecordWriter(path) as writer, ThreadPoolExecutor(n_threads) as threads:
        for span in selected_spans(output, entries):
            number = int(span.file[0])
            records = records_of(number)
            dropped = _Dropped.of(output, records)
            if output.products or dropped.collections or dropped.parameters:
                _add_changed(writer, records, dropped, output.products, span, threads)
            else:
                if verify:
                    records.check(span.entry, n_threads)
                writer.copy(records, span.entry)
            n_events += len(span.entry)
            output.progress(n_events)
        if not n_events:
            writer.copy_headers(records_of(0))  # so that it is a file of LCIO
        writer.close()
    return n_events


class _Dropped(Struct, frozen=True):
    """What an output does not have of a file: names of collections, and of parameters of events."""

    collections: list[str]
    parameters: list[str]

    @classmethod
    def of(cls, output: OutputToMake, records: InputRecords) -> _Dropped:
        kept = {name.partition(".")[0] for name in output.branches}
        parameters = {f"{PARAMETERS}.{name}" for name in records.parameters} - {*output.branches}
        return cls(
            sorted(records.collections - kept),
            sorted(name.removeprefix(f"{PARAMETERS}.") for name in parameters),
        )


def _add_changed(
    writer: RecordWriter,
    of: InputRecords,
    dropped: _Dropped,
    products: Sequence[tuple[str, str]],
    span: Selected,
    threads: ThreadPoolExecutor,
) -> None:
    """Events that are made anew, each by one thread."""
    refuse_names(writer.path, [name for name, _ in products], sorted(of.collections))
    for first in range(0, len(span.entry), _AT_A_TIME):
        part = span.at(slice(first, first + _AT_A_TIME))
        new = additions(products, _values(part, products))

        def made(i: int, part: Selected = part, new: Additions = new) -> bytes:
            header, body = of.opened.changed(
                int(part.entry[i]), dropped.collections, dropped.parameters, *new.of_event(i)
            )
            return record("LCEventHeader", header, True) + record("LCEvent", body, True)

        for entry, header, records in zip(
            part.entry,
            of.headers_of(part.entry).tolist(),
            threads.map(made, range(len(part.entry))),
            strict=True,
        ):
            writer.add_header_of(of, header)
            writer.add_event(int(of.run[entry]), int(of.event[entry]), records)


def _values(part: Selected, products: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {name: rows_of(part.columns[name], part.row) for name, _ in products}
