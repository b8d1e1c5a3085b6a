"""The parts of a job, in order of definition. In a notebook, running a cell again replaces its
earlier definitions in their places. Where the running cell is unknown, only identical definitions
are replaced."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from msgspec.structs import asdict, replace

from forkrun.analysis.step import Step
from forkrun.modules.program.dependence import code_digest

Kind = Literal["module", "path", "output"]
_NAMED = {"filter", "producer", "analyzer"}


class Cell(NamedTuple):
    """A running cell. `name`: of the cell, independent of changes, if the front end tells it;
    `run`: number of the execution."""

    name: str
    run: int

    @property
    def is_told(self) -> bool:
        """Whether the cell is known."""
        return bool(self.name)


class Part(NamedTuple):
    """A part of a job. `what`: a module, the keys of an output, or None where another path branches
    off; `path`: name of its path; "" without one."""

    kind: Kind
    label: str
    what: Any
    path: str
    cell: Cell | None


class Steps(Mapping[str, Step]):
    """The modules of a job by label, with the beginnings of paths and the outputs among them."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._known: dict[tuple[Kind, str], Part] = {}
        self._cell: Cell | None = None
        self._said: Cell | None = None
        """The execution that has reported its replacements."""
        self._place: int | None = None
        """Position for definitions of the running cell; None: at the end."""

    def __getitem__(self, label: str) -> Step:
        step: Step = self._known["module", label].what
        return step

    def __iter__(self) -> Iterator[str]:
        return (part.label for part in self._of_kind("module"))

    def __len__(self) -> int:
        return sum(kind == "module" for kind, _ in self._known)

    def __contains__(self, label: object) -> bool:
        return ("module", label) in self._known

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Keys of outputs, as in [[outputs]]."""
        return [part.what for part in self._of_kind("output")]

    def on_path(self, name: str, until: str = "") -> list[Step]:
        """Modules of a path; `until`: only those before this other path branches off."""
        mark = self._known.get(("path", until))
        parts = self._parts[: self._parts.index(mark)] if mark else self._parts
        return [part.what for part in parts if part.kind == "module" and part.path == name]

    def has_path(self, name: str) -> bool:
        """Whether the path branches off another one."""
        self.enter()
        return ("path", name) in self._known

    def same(self, step: Step, path: str) -> str:
        """Label of an equal part from another run of this cell, apart from the label; "" if there
        is none."""
        self.enter()
        new = Part("module", step.label, step, path, self._cell)
        return next((old.label for old in self._of_kind("module") if self._is_again(new, old)), "")

    def apart(self, step: Step) -> Step:
        """The module with a unique label if one of another kind has the same name: filters, columns
        and analyzers may share names."""
        self.enter()
        other = self.get(step.label)
        if other is None or other.kind == step.kind or not {other.kind, step.kind} <= _NAMED:
            return step
        column = step.label if step.kind == "producer" else ""
        return replace(step, label=f"{step.kind}_{step.label}", name=column)

    def add(self, kind: Kind, label: str, what: Any = None, path: str = "") -> Step | None:
        """Adds a part, in place of an equal one from an earlier run of its cell. Returns the module
        that has the label already, unless it is replaced."""
        self.enter()
        part, old = Part(kind, label, what, path, self._cell), self._known.get((kind, label))
        if old is not None and self._is_again(part, old):
            self._parts[self._parts.index(old)] = part
            self._say_replaced(old)
        elif old is not None and kind == "module":
            found: Step = old.what
            return found
        elif self._place is None:
            self._parts.append(part)
        else:
            self._parts.insert(self._place, part)
            self._place += 1
        self._known[kind, label] = part
        return None

    @property
    def is_again(self) -> bool:
        """Whether the running cell has run before."""
        self.enter()
        return self._place is not None

    def enter(self) -> None:
        """Removes definitions from earlier runs of the running cell."""
        cell = current_cell()
        if cell == self._cell:
            return
        self._cell, self._place = cell, None
        old = [n for n, part in enumerate(self._parts) if cell and _is_older(part.cell, cell)]
        if old:
            self._place = old[0]
            self._parts = [p for p in self._parts if not (cell and _is_older(p.cell, cell))]
            self._known = {(part.kind, part.label): part for part in self._parts}

    @property
    def are_cells_unknown(self) -> bool:
        """Whether a cell is running whose identity is unknown."""
        return self._cell is not None and not self._cell.is_told

    def _is_again(self, new: Part, old: Part) -> bool:
        """Whether a part redefines an older one: from an earlier execution, in unknown cells, of
        the same kind, on the same path and with the same text."""
        if not self.are_cells_unknown or old.cell is None or new.cell is None:
            return False
        is_alike = (new.kind, new.path) == (old.kind, old.path)
        return is_alike and new.cell.run != old.cell.run and _text_of(new) == _text_of(old)

    def _say_replaced(self, old: Part) -> None:
        """Reports a replacement, once for each execution."""
        if self._cell == self._said:
            return
        self._said = self._cell
        print(
            f'forkrun: "{old.label}" was defined by an earlier input with the same text: it is'
            " replaced, like other repeated definitions; give it another label if both are meant",
            file=sys.stderr,
        )

    def _of_kind(self, kind: Kind) -> Iterator[Part]:
        return (part for part in self._parts if part.kind == kind)


def _is_older(then: Cell | None, now: Cell) -> bool:
    is_same = then is not None and now.is_told and then.name == now.name
    return is_same and then is not None and then.run != now.run


def _text_of(part: Part) -> str:
    """Text of a definition, without label and place."""
    if not isinstance(part.what, Step):
        return repr(part.what)
    step = asdict(part.what)
    return code_digest([step[name] for name in sorted(step.keys() - {"label", "line"})])


def current_cell() -> Cell | None:
    """The cell of a notebook, or the input of IPython, that runs now."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return None
    kernel: Any = getattr(shell, "kernel", None)
    parent = kernel.get_parent("shell") if hasattr(kernel, "get_parent") else {}
    told = parent.get("metadata", {}).get("cellId")
    return Cell(str(told or ""), int(shell.execution_count))
