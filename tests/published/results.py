"""What the commands found, as texts for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forkrun.base.quantities import percent, size
from forkrun.monitoring.tables import FORMS
from forkrun.studies.frame.study import published, with_unit

MEMORY_SCALE = 0.2
"""Part of the memory of the reference case, so that it fits on small machines."""


class MissingError(LookupError):
    """A command was not run, or does not tell this."""


class Results:
    """By step, the JSON of its command."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._found = found

    def of(self, step: str) -> Any:
        """Raises MissingError."""
        if step not in self._found:
            raise MissingError(step)
        return self._found[step]

    def figure(self, step: str, line: str, name: str) -> tuple[str, float]:
        """Our value with its unit, and the ratio to what was published. Raises MissingError."""
        theirs = published(line, name)
        for each in self.of(step).get("figures", ()):
            if (each["line"], each["name"]) == (line, name):
                return with_unit(each["ours"], theirs.unit), each["ours"] / theirs.value
        raise MissingError(f"{step}: {line} {name}")

    def row(self, step: str, name: str, key: str) -> float:
        """Value of a row. Raises MissingError."""
        for row in self.of(step)["rows"]:
            if row["name"] == name and key in row:
                return float(row[key]["value"])
        raise MissingError(f"{step}: {name}: {key}")

    def figures(self, step: str, line: str, *names: str) -> tuple[str, str]:
        """Several of one line: texts and ratios, in their order."""
        found = [self.figure(step, line, name) for name in names]
        return ", ".join(text for text, _ in found), ", ".join(f"{r:.2f}" for _, r in found)

    def memory(self, *parts: str) -> tuple[str, str]:
        """ "shared", "private" memory of a child, and the ratio to the published size as it was
        scaled."""
        children = self.of("memory")["forked"]["children"]
        values = {part: children[f"{part}_bytes"] for part in parts}
        theirs = {part: published("P1.3", f"{part} memory per child").value for part in parts}
        ratios = (f"{values[part] / theirs[part] / MEMORY_SCALE:.2f}" for part in parts)
        return ", ".join(f"{size(values[part])} {part}" for part in parts), ", ".join(ratios)

    def saving(self) -> tuple[str, str]:
        """Memory saved by 32 children."""
        saving, ideal = self.of("memory")["saving"], self.of("memory")["ideal_saving"]
        return f"{percent(saving)} (possible: {percent(ideal)})", f"{saving / 0.62:.2f}"

    def parallelism(self, step: str) -> str:
        """Running modules of one event, at most and on average."""
        found = self.of(step)["parallelism"]
        return f"{found['max_running']} and {found['speedup']:.2f}"

    def speedups(self, step: str) -> str:
        """Estimated, by number of threads."""
        rows = self.of(step)["scaling"]
        return ", ".join(f"{row['n_threads']}: {row['speedup']:.1f}" for row in rows)

    def scaling(self, step: str, key: str = "", which: str = "", by: int = 0) -> str:
        """A column of the rows whose names have this text in them, the first column if none is
        named, together for rows with the same part `by` of their names: `copies: 1.5 ns, 3 ns`."""
        columns = self.of(step)["columns"]
        column = next((each for each in columns if each["key"] == key), columns[0])
        form = FORMS[column["form"]]
        groups: dict[str, list[str]] = {}
        for row in self.of(step)["rows"]:
            if column["key"] in row and which in row["name"]:
                value = form(row[column["key"]]["value"])
                groups.setdefault(row["name"].split(", ")[by], []).append(value)
        return "; ".join(f"{name}: {', '.join(values)}" for name, values in groups.items())
