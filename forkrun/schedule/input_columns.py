"""Table of a job's input columns, and of branches that cannot be columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from html import escape
from typing import Any, overload

from msgspec import Struct
from msgspec.structs import asdict, replace

from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural, size
from forkrun.config.datasets import DatasetConfig
from forkrun.config.model import JobConfig
from forkrun.config.remote import use_remote_cache
from forkrun.errors import ConfigError, InputError
from forkrun.formats import OTHER, Described
from forkrun.index.files import input_files
from forkrun.index.friends import with_friends
from forkrun.index.known_ids import with_known_ids, without_ids
from forkrun.index.model import Branch, FileIndex
from forkrun.index.read import describe_files, try_index
from forkrun.index.whole_input import with_datasets
from forkrun.modules.objects.collections import Columns, NamingRule
from forkrun.monitoring.tables import Column, Table
from forkrun.schedule.input_branches import InputBranches

_COLUMNS = (
    Column("name", "name"), Column("type", "type"), Column("collection", "collection"),
    Column("id", "id"), Column("held_by", "in"), Column("unpacked", "unpacked"),
    Column("stored", "in file"), Column("how", "compression"),
)  # fmt: skip


class InputColumn(Struct, frozen=True):
    """A branch. `type`: of the column, or its class; `why_none`: why it cannot be a column, "" if
    it can; `id`: "run", "lumi" or "event" for columns that identify events; `n_within`: number of
    columns within it; `held_by`: files, datasets or the friend that have it, "" for all; `n_bytes`,
    `n_stored`: unpacked and in the file, None if unknown."""

    name: str
    type: str
    collection: str = ""
    held_by: str = ""
    n_bytes: int | None = None
    n_stored: int | None = None
    compression: str = ""
    why_none: str = ""
    n_within: int = 0
    id: str = ""

    def as_row(self) -> dict[str, Any]:
        """Returns the row of the table."""
        how = f"not a column: {self.why_none}" if self.why_none else self.compression
        if self.n_within:
            how = f"objects: {plural(self.n_within, 'column')} of their members"
        sizes = {
            "unpacked": self.n_bytes,
            "stored": None if self.n_bytes is None else self.n_stored,
        }
        texts = {key: "" if n is None else size(n) for key, n in sizes.items()}
        return {**asdict(self), **texts, "how": how}


class InputColumns(Sequence[InputColumn]):
    """Columns that a job can read, in file order; shown as a table by `print` and notebooks."""

    def __init__(self, columns: Iterable[InputColumn], measured: str = "") -> None:
        """`measured`: text about the files whose sizes are shown."""
        self._columns = list(columns)
        self._measured = measured

    @overload
    def __getitem__(self, which: int | str) -> InputColumn: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[InputColumn]: ...
    def __getitem__(self, which: int | str | slice) -> InputColumn | Sequence[InputColumn]:
        """Returns a column by number or name. Raises KeyError with the nearest name."""
        if not isinstance(which, str):
            return self._columns[which]
        found = [column for column in self._columns if column.name == which]
        if not found:
            names = [column.name for column in self._columns]
            raise KeyError(f'no branch "{which}"{suggestion(which, names)}')
        return found[0]

    def __len__(self) -> int:
        return len(self._columns)

    def matching(self, patterns: Sequence[str]) -> InputColumns:
        """Columns whose names match a pattern: "Muon_*", or a part of a name, ignoring case; all
        columns without patterns. Raises ConfigError for a pattern without matches."""
        names = [column.name for column in self._columns]
        for pattern in patterns:
            if not any(_is_like(name, pattern) for name in names):
                raise ConfigError(f'no branch matches "{pattern}"{suggestion(pattern, names)}')
        kept = [c for c in self if not patterns or any(_is_like(c.name, p) for p in patterns)]
        return InputColumns(kept, self._measured)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the columns for JSON."""
        return [asdict(column) for column in self._columns]

    def __str__(self) -> str:
        return f"{self._table.text(indent='')}\n\n{self._last_line}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return f"{self._table.html()}<p>{escape(self._last_line)}</p>"

    @property
    def _table(self) -> Table:
        return Table("", _COLUMNS, [column.as_row() for column in self._columns])

    @property
    def _last_line(self) -> str:
        n_columns = sum(not column.why_none for column in self._columns)
        n_none = sum(bool(each.why_none) and not each.n_within for each in self._columns)
        none = f", {n_none} more that cannot be columns" if n_none else ""
        return f"{plural(n_columns, 'column')}{none}{self._measured}"


def _is_like(name: str, pattern: str) -> bool:
    if set(pattern) & set("*?["):
        return fnmatchcase(name, pattern)
    return pattern.casefold() in name.casefold()


def columns_of_input(config: JobConfig) -> InputColumns:
    """Inspects all files of a job in separate processes; sizes are those of the first file with
    events of each dataset. Raises InputError."""
    config, index = _indexed(config)
    source = config.source
    index = with_datasets(index, config.datasets, source.prefixes)
    index = with_friends(index, source, finds_partners=False)
    of_input = InputBranches.of(index)
    measured = list({file.dataset: file for file in reversed(index) if file.n_entries}.values())
    measured = measured[::-1] or index[:1]
    described = describe_files([(file.path, file.tree or source.tree) for file in measured])
    rule = NamingRule(source.collections, source.fields, of_input.names_of_trees)
    collections = _collections(of_input, rule)
    held, reasons = _held_by(index, config.datasets), of_input.names.reasons
    found = [
        _column(branch, reasons.get(name, ""), collections, held.get(name, ""), described, n_within)
        for name, branch, n_within in _in_order(of_input)
    ]
    found += [
        InputColumn(name, branch.type, collections.get(name, ""), _of_friend(number, index))
        for name, (number, branch) in of_input.friends.items()
    ]
    ids = dict(zip(source.ids[1:], ("run", "lumi", "event"), strict=True))
    found = [replace(column, id=ids.get(column.name, "")) for column in found]
    none = "" if any(ids) else "; no ids: each file is a lumi of run 1, entries are event numbers"
    return InputColumns(found, _measured(measured, config.datasets) + none)


def _of_friend(number: int, index: Sequence[FileIndex]) -> str:
    part = index[0].friends[number]
    return f"friend {number + 1}" if part.own is None else f"tree {part.files[0].tree}"


def _measured(files: Sequence[FileIndex], datasets: Sequence[DatasetConfig]) -> str:
    where = "the first file of each dataset" if len(datasets) > 1 else files[0].path
    return f"; sizes are those of {where}" if where else ""


def _indexed(config: JobConfig) -> tuple[JobConfig, list[FileIndex]]:
    """Index with the ids of the job or of its files; without ids if those branches are missing."""
    files = input_files(config.source)
    source = config.source
    use_remote_cache(files, source.cache, source.cache_limit, source.cache_decoded)
    index, problems = try_index(files, config.source.ids)
    if problems:
        config = with_known_ids(config, files) or without_ids(config)
        index, problems = try_index(files, config.source.ids)
    if problems:
        raise InputError("\n".join(problems))
    return config, index


def _column(
    branch: Branch,
    why_none: str,
    collections: Mapping[str, str],
    held_by: str,
    described: Sequence[Mapping[str, Described]],
    n_within: int,
) -> InputColumn:
    name = branch.name
    own = [each[name] for each in described if name in each]
    n_bytes, n_stored = _total(e.n_bytes for e in own), _total(e.n_stored for e in own)
    compression = ", ".join(dict.fromkeys(each.compression for each in own))
    kind, collection = branch.type.removeprefix(OTHER), collections.get(name, "")
    return InputColumn(
        name, kind, collection, held_by, n_bytes, n_stored, compression, why_none, n_within
    )


def _in_order(of_input: InputBranches) -> Iterator[tuple[str, Branch, int]]:
    """Yields each branch with its number of inner columns, followed by these columns."""
    within: dict[str, list[Branch]] = {}
    for branch in of_input.members.values():
        within.setdefault(branch.top, []).append(branch)
    for name, branch in of_input.branches.items():
        members = within.get(name, ())
        yield name, branch, sum(member.readable for member in members)
        yield from ((member.name, member, 0) for member in members)


def _total(numbers: Iterable[int | None]) -> int | None:
    """Sum, or None if a number is unknown or there are no numbers."""
    known = list(numbers)
    return sum(n or 0 for n in known) if known and None not in known else None


def _collections(of_input: InputBranches, rule: NamingRule) -> dict[str, str]:
    """Collection of each column that is a field."""
    known = Columns(dict(of_input.columns), rule)
    found = ((name, known.collection(name)) for name in known.names)
    return {
        column: name
        for name, collection in found
        if collection
        for column in collection.columns.values()
    }


def _held_by(index: Sequence[FileIndex], datasets: Sequence[DatasetConfig]) -> dict[str, str]:
    """Holders of each branch that some files lack: datasets, or the number of files."""
    files = [file for file in index if file.n_entries]
    holders: dict[str, list[FileIndex]] = {}
    for file in files:
        for name in {branch.name for branch in file.all_branches}:
            holders.setdefault(name, []).append(file)
    return {
        name: ", ".join(_names(held, files, datasets))
        for name, held in holders.items()
        if len(held) < len(files)
    }


def _names(
    held: Sequence[FileIndex], files: Sequence[FileIndex], datasets: Sequence[DatasetConfig]
) -> Iterator[str]:
    if len(datasets) < 2:
        yield f"{len(held):,} of {plural(len(files), 'file')}"
    for number, dataset in enumerate(datasets if len(datasets) > 1 else ()):
        n, n_all = (sum(file.dataset == number for file in each) for each in (held, files))
        if n:
            yield dataset.name + f" ({n:,} of {plural(n_all, 'file')})" * (n < n_all)
