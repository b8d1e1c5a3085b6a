"""docs/published.md, from the results of the commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forkrun.studies.frame.study import WORKS
from tests.published.lines import LINES, Line
from tests.published.results import MissingError, Results

_HEAD = """# Published figures, measured again

Figures of five works, and the same measured with forkrun. `make published` runs all commands
in half an hour on an idle machine and writes this page; [studies](studies.md) explains `measure`.
"""
_TABLE = "| | then | ours | ratio | why it differs |\n|" + " --- |" * 5
_PICTURES = """
## Plots

Blue: this machine; grey with open marks: published.

![Mean size of a read](images/published-io.png)

![Processing time of the children](images/published-distribution.png)

![Reading columns with several threads](images/published-columns.png)

![Reading a merged file lumi by lumi](images/published-order.png)
"""


def write_page(found: Mapping[str, Any]) -> str:
    """The page as Markdown. `found`: by step; and "host"."""
    parts = [_HEAD, _machine(found)]
    for work, title in WORKS.items():
        lines = [line for line in LINES if line.number.partition(".")[0] == work]
        parts.append(f"## {work}: {title[0].upper()}{title[1:]}\n\n{_commands(lines)}\n\n{_TABLE}")
        parts[-1] += "".join(f"\n{row}" for row in _rows(lines, Results(found))) + "\n"
    return "\n".join([*parts, _PICTURES.lstrip()])


def _machine(found: Mapping[str, Any]) -> str:
    host = found.get("host", {})
    busy = [name for name, each in sorted(found.items()) if each.get("is_conclusive") is False]
    versions = host.get("versions", {})
    lines = [
        f"Here: {host.get('cpu', 'not measured')}, {host.get('n_cpus', 0)} CPUs,"
        f" {host.get('kernel', '')}; Python {versions.get('python', '')}, ROOT"
        f" {versions.get('root', '')}. A ratio is ours over theirs; a dash: there is no"
        " number to compare."
    ]
    if busy:
        lines.append(
            f"\n**Not conclusive**: other programs used the machine during {', '.join(busy)}."
        )
    return "\n".join(lines) + "\n"


def _commands(lines: list[Line]) -> str:
    """Each command with the lines that it measures: `P1.3, P1.4: forkrun …`."""
    numbers: dict[str, list[str]] = {}
    for line in lines:
        numbers.setdefault(line.command, []).append(line.number)
    return "\n".join(f"- {', '.join(n)}: `forkrun {name}`" for name, n in numbers.items())


def _rows(lines: list[Line], results: Results) -> Iterator[str]:
    for line in lines:
        try:
            ours, ratio = line.ours(results)
        except MissingError:
            ours, ratio = "not measured here", "–"
        yield f"| {line.number} | {line.then} | {ours} | {ratio} | {line.why} |"
