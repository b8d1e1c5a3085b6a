"""Parts of the report as `print` and notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from forkrun.monitoring.report import tables
from forkrun.monitoring.report.parts import Part, html_of, text_of
from forkrun.monitoring.report.sections import overview, problem_of, remarks
from forkrun.monitoring.tables import Table


class Cuts(list[dict[str, Any]]):
    """What the filters of a path left, as in report.json: for its beginning and for each filter.
    `print` shows a table. `datasets`: the same of each dataset, by name, where there are several;
    this one is then their sum, or empty: `no_sum` says why."""

    def __init__(
        self,
        path: str,
        cuts: Sequence[Mapping[str, Any]],
        datasets: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        no_sum: str = "",
    ) -> None:
        super().__init__(map(dict, cuts))
        self._path, self.no_sum = path, no_sum
        self.datasets = {name: Cuts(path, of_one) for name, of_one in (datasets or {}).items()}

    def __getitem__(self, place: Any) -> Any:
        """Raises IndexError that says where to look if there is no sum over datasets."""
        if self.no_sum:
            names = ", ".join(f'"{name}"' for name in self.datasets)
            look = f'result.cutflow["{self._path}"].datasets has those of {names}'
            raise IndexError(f"{self.no_sum}; {look}")
        return super().__getitem__(place)

    @property
    def _parts(self) -> list[Part]:
        flow = {"path": self._path, "cuts": [*self], "datasets": self.datasets}
        return tables.cutflow([{**flow, "n_units_missing": 0, "no_sum": self.no_sum}])

    def __str__(self) -> str:
        return text_of(self._parts).partition("\n")[2]  # without the title

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return html_of(self._parts)


class Cutflows(dict[str, Cuts]):
    """What the filters left, by path; `print` and notebooks show a table."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(cuts._repr_html_() for cuts in self.values())


class Datasets(dict[str, dict[str, Any]]):
    """By name, what report.json has of each dataset; `print` and notebooks show a table."""

    @property
    def _table(self) -> Table:
        return tables.datasets([*self.values()])

    def __str__(self) -> str:
        return self._table.text() if self else "{}"

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return self._table.html() if self else ""


_MOST_REMARKS = 6


def summary_html(report: Mapping[str, Any], title: str, page: Path) -> str:
    """What the page begins with: figures and remarks; `page`: where all of it is."""
    whole = (
        f'<a href="{escape(str(page), quote=True)}" target="_blank">the whole report</a>'
        if page.exists()
        else "without a page"
    )
    head = f"<p><b>{escape(title)}</b> · {whole}</p>"
    try:
        said = "<br>".join(map(escape, problem_of(report)))
        parts = [*overview(report), *remarks(report, report["phases"]["start_s"] or 0.0)]
        return head + (f"<p>{said}</p>" if said else "") + html_of(parts, _MOST_REMARKS)
    except (LookupError, TypeError):  # of another version
        return head
