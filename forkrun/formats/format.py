"""Base of all formats of files: what each must do, and defaults for the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from forkrun import _core
from forkrun.errors import InputError
from forkrun.formats.column_types import flat_names
from forkrun.formats.described import OTHER, Described
from forkrun.formats.events import (
    NO_IDS,
    EventSource,
    Identity,
    Ids,
    OutputToMake,
    Range,
    first_file,
)

if TYPE_CHECKING:  # NumPy takes longer to load than most files to index
    from forkrun.formats.plain import Plain


class Format:
    """Format of files with tables of events. A new one defines `name`, `suffix`, `is_of`, `index`,
    `read` and `write`; other methods have defaults, which may be replaced by faster ones."""

    name: ClassVar[str]
    suffix: ClassVar[str]
    has_ids: ClassVar[bool] = False
    """Whether all files have ids of events, for any choice of columns in outputs."""
    has_tables: ClassVar[bool] = False
    """Whether files may hold tables other than that of their events."""
    becomes_root: ClassVar[bool] = False
    """Whether ROOT outputs, in trees or RNTuples, can be made of its columns."""

    def is_of(self, path: str) -> bool:
        """Whether a file has this format, by its first bytes or its name."""
        raise NotImplementedError

    def index(
        self, path: str, tree: str, ids: Ids = NO_IDS, file_number: int = 0
    ) -> dict[str, Any]:
        """Index of a file, as made by `forkrun.formats.columns_index`. Raises InputError."""
        raise NotImplementedError

    def read(
        self, path: str, tree: str, names: Sequence[str], first: int = 0, last: int = -1
    ) -> Mapping[str, Plain]:
        """Columns of entries [first, last); -1: all entries from `first`. Raises InputError."""
        raise NotImplementedError

    def write(
        self, path: str, types: Mapping[str, str], parts: Iterable[Mapping[str, Plain]]
    ) -> None:
        """Writes a file of the parts in order. Raises OutputError."""
        raise NotImplementedError

    def described(self, path: str, tree: str) -> list[Described]:
        """All branches of a file. Raises InputError."""
        return [Described(name, kind) for name, kind, _ in self.index(path, tree)["branches"]]

    def why_no_column(self, kind: str) -> str:
        """Reason why a branch of this class, "other:CLASS" in the index, is not a column."""
        return "its values are not of a type that columns have"

    def opened(self, path: str, tree: str) -> Any:
        """Open file, whose `read(names, first, last)` may be called several times."""
        return _Opened(self, path, tree)

    def warm_up(self) -> None:
        """Loads what each child would load to read the format; called before the fork."""

    def source(self, events: EventSource) -> _core.Source:
        """Source for the core. Opens nothing."""
        from forkrun.formats.reader import Reader

        reader = Reader(self.read, events, self._types)
        return _core.python_source(events, reader.read, reader.read_ids)

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        n_threads: int = 1,
        verify: bool = False,
        on_open: Callable[[int], None] | None = None,
        *,
        of_input: Format | None = None,
    ) -> list[list[int]]:
        """Makes the files of outputs from input of the format `of_input`, None: this one; returns
        the number of events in each file, by output. Raises InputError, OutputError."""
        from forkrun.formats.selection import OpenFiles

        first = first_file(events.clusters)
        of_input = of_input or self
        known = of_input._held(events.files[first], events.tree_of(first))
        opened = OpenFiles(of_input, events, on_open or (lambda _: None))
        return [
            [self._make_file(output, *file, opened, known, events.tree) for file in output.files]
            for output in outputs
        ]

    def _make_file(
        self,
        output: OutputToMake,
        path: str,
        entries: Sequence[Range],
        opened: Callable[[int], Any],
        known: Mapping[str, tuple[str, str]],
        tree: str,
    ) -> int:
        """`known`: types and counters of the input's columns; `tree`: name of the table of
        events."""
        from forkrun.formats.selection import selected_columns

        content = output.content
        kept = {*content.branches, *content.members}
        of_input = {n: kind for n, (kind, _) in known.items() if n in kept}
        types = {n: kind for n, kind in of_input.items() if not kind.startswith(OTHER)}
        flat = flat_names(known)
        types = {n: kind for n, kind in types.items() if flat.get(n) not in types}
        names = list(types)
        types.update(self.new_columns(content.products, types))
        n_events = 0

        def counted() -> Iterator[Mapping[str, Plain]]:
            nonlocal n_events
            for n, part in selected_columns(opened, names, output, entries):
                n_events += n
                yield part
                output.progress(n_events)

        counters = {name: known[name][1] for name in names}
        compression = content.compression if content.recompresses else None
        self._write_output(path, tree, types, counters, counted(), compression)
        return n_events

    def new_columns(
        self, products: Sequence[tuple[str, str]], kept: Mapping[str, str]
    ) -> dict[str, str]:
        """Types of new columns of an output, by name, in order. `kept`: types of columns kept of
        the input."""
        return dict(products)

    def _write_output(
        self,
        path: str,
        tree: str,
        types: Mapping[str, str],
        counters: Mapping[str, str],
        parts: Iterable[Mapping[str, Plain]],
        compression: str | None,
    ) -> None:
        """`counters`: counter of each input column, "" for none."""
        self.write(path, types, parts)

    def carry(
        self,
        inputs: Sequence[str],
        output: str,
        exclude: Sequence[str],
        keep_first: bool,
        identities: Sequence[Identity] = (),
        common_branches: bool = False,
        is_new: bool = False,
    ) -> None:
        """Adds the inputs' other objects to an output, which may be new. Raises InputError."""

    def origins(self, path: str) -> Mapping[str, Sequence[tuple[Any, ...]]] | None:
        """By table, identity of the input files of consecutive rows, and their number; None if the
        file does not record them."""
        return None

    def add_text(self, output: str, name: str, text: str) -> None:
        """Adds a text to an output. Raises OutputError."""

    def merge(self, inputs: Sequence[str], output: str, **options: Any) -> dict[str, int]:
        """Joins files in the given order; returns entries by table. Raises InputError."""
        unknown = ("trees", "compression", "keep_first", "format", "fields")
        refused = [name for name in unknown if options.get(name)]
        if refused:
            raise InputError(f"merge: files of format {self.name} have no {', '.join(refused)}")
        from forkrun.formats.plain import n_events_of

        first, *others = [self._types(path) for path in inputs]
        for path, types in zip(inputs[1:], others, strict=True):
            if types != first:
                raise InputError(f"{path}: its columns are not those of {inputs[0]}")
        n_events = 0

        def parts() -> Iterator[Mapping[str, Plain]]:
            nonlocal n_events
            for path in inputs:
                part = self.read(path, "", list(first))
                n_events += n_events_of(next(iter(part.values())))
                yield part

        self.write(output, first, parts())
        return {"": n_events}

    def join(
        self, parts: Sequence[str], output: str, trees: Sequence[str], *, verify: bool,
        recluster: str,
    ) -> list[int]:  # fmt: skip
        """Joins parts of an output in the given order; returns the number of entries of each tree.
        `verify`, `recluster`: as for merges of ROOT files. Raises InputError, OutputError."""
        return list(self.merge(parts, output).values())

    def _types(self, path: str, tree: str = "") -> dict[str, str]:
        return {name: kind for name, (kind, _) in self._held(path, tree).items()}

    def _held(self, path: str, tree: str) -> dict[str, tuple[str, str]]:
        """Type and counter of each column."""
        index = self.index(path, tree)
        held = [*index["branches"], *index.get("members", ())]
        return {name: (kind, counter) for name, kind, counter in held}

    def digest(self, path: str, tree: str, ids: Ids) -> _core.EventDigest:
        """Digest of the events of a file. Raises InputError."""
        columns = self.read(path, tree, ids)
        return digest_of_ids(*(columns[name] for name in ids))

    def rewritten_branches(self, path: str, tree: str, has_references: bool = False) -> list[str]:
        """Branches that outputs can neither copy as bytes nor read as columns, and therefore
        rewrite. `has_references`: objects of other files refer to others."""
        return []

    def try_copy(self, path: str, tree: str, names: Sequence[str], scratch: str) -> None:
        """Tries to write some of these to a file, in a process that may crash. Raises InputError,
        OutputError."""

    def needs_root(self, path: str, tree: str, for_outputs: bool) -> bool:
        """Whether ROOT's interpreter is needed to read a file, or to make outputs of it."""
        return False


def digest_of_ids(run: Any, lumi: Any, event: Any) -> _core.EventDigest:
    """Digest of events by their ids, (n,) each."""
    import numpy as np

    run, lumi, event = (np.asarray(each).astype(np.uint64) for each in (run, lumi, event))
    total = _core.EventDigest()
    for its_run, its_lumi in np.unique(np.stack([run, lumi]), axis=1).T.tolist():
        total.add(its_run, its_lumi, event[(run == its_run) & (lumi == its_lumi)])
    return total


class _Opened:
    def __init__(self, of: Format, path: str, tree: str) -> None:
        self._format, self._path, self._tree = of, path, tree

    def read(self, names: Sequence[str], first: int = 0, last: int = -1) -> Mapping[str, Plain]:
        return self._format.read(self._path, self._tree, names, first, last)


def first_bytes(path: str, n: int) -> bytes | None:
    """The first `n` bytes of a local file, or all if it has fewer; None if it cannot be read. Does
    not wait for the writer of a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(descriptor, n)
    except OSError:
        return None
    finally:
        os.close(descriptor)
