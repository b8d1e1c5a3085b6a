"""What a job is made of, in the order in which it is defined. In a notebook, a cell that is run
again replaces what it defined before, where that was."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Literal, NamedTuple

from forkrun.analysis.step import Step

Kind = Literal["module", "path", "output"]


class Cell(NamedTuple):
    """A cell that is run. `name`: of the cell, changed or not, if the front end tells it, else the
    file of its code; `run`: number of the execution."""

    name: str
    run: int
    is_told: bool


class Part(NamedTuple):
    """`what`: a module, the keys of an output, or nothing, where another path begins behind this
    one; `path`: whose it is; "" if of none."""

    kind: Kind
    label: str
    what: Any
    path: str
    cell: Cell | None


class Steps(Mapping[str, Step]):
    """The modules of a job by label, and between them where paths begin, and outputs."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._known: dict[tuple[Kind, str], Part] = {}
        self._cell: Cell | None = None
        self._place: int | None = None
        """Where the running cell adds what it defines; None: at the end."""

    def __getitem__(self, label: str) -> Step:
        step: Step = self._known["module", label].what
        return step

    def __iter__(self) -> Iterator[str]:
        return (part.label for part in self._of("module"))

    def __len__(self) -> int:
        return sum(kind == "module" for kind, _ in self._known)

    def __contains__(self, label: object) -> bool:
        return ("module", label) in self._known

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """As in [[outputs]]."""
        return [part.what for part in self._of("output")]

    def on_path(self, name: str, until: str = "") -> list[Step]:
        """Modules of a path; `until`: those before another path begins behind it."""
        mark = self._known.get(("path", until))
        parts = self._parts[: self._parts.index(mark)] if mark else self._parts
        return [part.what for part in parts if part.kind == "module" and part.path == name]

    def has_path(self, name: str) -> bool:
        """Whether it begins somewhere behind another one."""
        self.enter()
        return ("path", name) in self._known

    def same(self, kind: str, what: Any, path: str) -> str:
        """Label of what another run of this cell may have defined: of the same kind, with the same
        text; "" if there is none."""
        self.enter()
        return next(
            (
                part.label
                for part in self._of("module")
                if (part.what.kind, part.what.what, part.path) == (kind, what, path)
                and self._may_replace(part)
            ),
            "",
        )

    def add(self, kind: Kind, label: str, what: Any = None, path: str = "") -> Step | None:
        """Adds a part, in the place of one with this label that an earlier run of a cell has
        defined. Gives the module that has the label already, if it is not to be replaced."""
        self.enter()
        part, old = Part(kind, label, what, path, self._cell), self._known.get((kind, label))
        if old is not None and self._may_replace(old):
            self._parts[self._parts.index(old)] = part
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
        """Takes away what the cell that runs now has defined when it ran before."""
        cell = current_cell()
        if cell == self._cell:
            return
        self._cell, self._place = cell, None
        old = [n for n, part in enumerate(self._parts) if cell and _is_older(part.cell, cell)]
        if old:
            self._place = old[0]
            self._parts = [p for p in self._parts if not (cell and _is_older(p.cell, cell))]
            self._known = {(part.kind, part.label): part for part in self._parts}

    def _may_replace(self, part: Part) -> bool:
        """Whether a name that comes again replaces this part: an earlier execution defined it, and
        nobody tells which cells these are."""
        now, then = self._cell, part.cell
        return now is not None and then is not None and not now.is_told and now.run != then.run

    def _of(self, kind: Kind) -> Iterator[Part]:
        return (part for part in self._parts if part.kind == kind)


def _is_older(then: Cell | None, now: Cell) -> bool:
    return then is not None and then.name == now.name and then.run != now.run


def current_cell() -> Cell | None:
    """The cell of a notebook, or the input of IPython, that runs now."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return None
    kernel: Any = getattr(shell, "kernel", None)
    parent = kernel.get_parent("shell") if hasattr(kernel, "get_parent") else {}
    told = parent.get("metadata", {}).get("cellId")
    return Cell(str(told or _file_of_program()), int(shell.execution_count), bool(told))


def _file_of_program() -> str:
    """The file of the calling code; that of a cell is named after its text."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").startswith("forkrun."):
        frame = frame.f_back
    return frame.f_code.co_filename if frame else ""
