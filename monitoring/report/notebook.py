"""Parts of the report as `print` and notebooks show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from msgspec import convert

from forkrun.base.quantities import count, percent, plural, seconds, size
from forkrun.monitoring.report.cutflow import Cut, PathCutflow
from forkrun.monitoring.report.datasets import DatasetCounts
from forkrun.monitoring.report.glance import cheaper
from forkrun.monitoring.report.memory import peak_text
from forkrun.monitoring.report.tables import Rows, cutflow_tables, dataset_rows, format_table


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

    def __str__(self) -> str:
        tables = ["\n".join(format_table(rows, left={0, 1})) for rows in self._tables()]
        return "\n\n".join([*tables, *([f"  {self.no_sum}"] if self.no_sum else [])])

    def _tables(self) -> list[Rows]:
        by_dataset = {name: each._as_read() for name, each in self.datasets.items()}
        cuts = self._as_read()
        return cutflow_tables([PathCutflow(self._path, cuts, 0, by_dataset, self.no_sum)])

    def _as_read(self) -> tuple[Cut, ...]:
        return tuple(convert(each, Cut) for each in self)

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        said = f"<p>{escape(self.no_sum)}</p>" if self.no_sum else ""
        return "".join(map(_html_table, self._tables())) + said


class Cutflows(dict[str, Cuts]):
    """What the filters left, by path; `print` and notebooks show a table."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(cuts._repr_html_() for cuts in self.values())


class Datasets(dict[str, dict[str, Any]]):
    """By name, what report.json has of each dataset; `print` and notebooks show a table."""

    def _rows(self) -> Rows:
        return dataset_rows(tuple(convert(each, DatasetCounts) for each in self.values()))

    def __str__(self) -> str:
        rows = self._rows()
        return "\n".join(format_table(rows, left={0, 1})) if rows else "{}"

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        rows = self._rows()
        return _html_table(rows) if rows else ""


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head."""

    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row('th', rows[0])}{''.join(row('td', each) for each in rows[1:])}</table>"


def summary_html(report: Mapping[str, Any], title: str, page: Path) -> str:
    """What the page begins with: figures and remarks; `page`: where all of it is."""
    head = f"<p><b>{escape(title)}</b> · {_link(page)}</p>"
    try:
        return head + _figures(report)
    except (LookupError, TypeError):  # of another version
        return head


def _figures(report: Mapping[str, Any]) -> str:
    job, events, totals = report["job"], report["events"], report["totals"]
    memory, phases = report["memory"], report["phases"]
    loops = f"{count(totals['event_loop_rate_events_per_s'])} /s in the event loops"
    digests = {True: "digests agree", False: "DIGESTS DIFFER"}.get(events["digests_agree"], "")
    tiles = [
        ("events read", count(events["n_events_read"]),
         f"of {count(events['n_events_planned'])} planned, {digests}".rstrip(", ")),
        ("rate", f"{count(totals['rate_events_per_s'])} /s", f"{loops}, {_took(phases)} in all"),
        ("utilization", percent(report["balance"]["utilization"]),
         f"of {count(job['children'])} child{'ren' * (job['children'] != 1)}"
         f" × {plural(job['threads_per_child'], 'thread')}"),
        ("CPU efficiency", percent(totals["cpu_efficiency"]), f"{seconds(totals['cpu_s'])} s"),
    ]  # fmt: skip
    if memory:
        peak = memory["peak"]
        most = peak_text(peak["pss_bytes"], memory.get("is_at_least", False))
        saved = f"of {most}; sharing saves {size(memory['saving_bytes'])}"
        tiles.append(("shared memory", size(peak["shared_bytes"]), saved))
    said = [*([job["problem"]] if job["problem"] else []), *job["help"]]
    problem = f"<p>{'<br>'.join(map(escape, said))}</p>" if said else ""
    cost = f"<p>{escape(report['cost'])}</p>" if report["cost"] else ""
    advice = [f"{text} {saved}".strip() for text, saved in cheaper(report)]
    remarks = [*report["warnings"], *(line["text"] for line in report["recovery"]), *advice]
    lines = "".join(f"<li>{escape(text)}</li>" for text in remarks[:_MOST_REMARKS])
    more = len(remarks) - _MOST_REMARKS
    lines += f"<li>… {more} more</li>" if more > 0 else ""
    return problem + cost + "".join(_tiles(tiles)) + (f"<ul>{lines}</ul>" if lines else "")


_MOST_REMARKS = 6
_TILE = "display:inline-block;margin:0 1.2em .5em 0;vertical-align:top"


def _tiles(tiles: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    for name, value, small in tiles:
        yield (
            f'<div style="{_TILE}">{escape(name)}<br><b>{escape(value)}</b><br>'
            f"<small>{escape(small)}</small></div>"
        )


def _took(phases: Mapping[str, Any]) -> str:
    return f"{seconds(phases['wall_s'])} s"


def _link(page: Path) -> str:
    """To the whole page, where it was written."""
    if not page.exists():
        return "without a page"
    return f'<a href="{escape(str(page), quote=True)}" target="_blank">the whole report</a>'
