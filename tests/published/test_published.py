"""The page of published figures has every line, each with a command that there is."""

from __future__ import annotations

import json

from forkrun.cli.parser import COMMANDS
from forkrun.cli.studies.measure.kinds import KINDS
from forkrun.studies.frame.study import VALUES
from tests.published.__main__ import PAGE, RESULTS
from tests.published.lines import COUNTS, LINES
from tests.published.page import write_page


def test_every_published_line_is_there_in_order() -> None:
    wanted = [f"{work}.{n}" for work, count in COUNTS.items() for n in range(1, count + 1)]
    assert [line.number for line in LINES] == wanted
    assert {value.line for value in VALUES} <= {*wanted}


def test_no_figure_is_without_a_command_that_there_is() -> None:
    for line in LINES:
        command, what, *_ = line.command.split()
        assert command in COMMANDS, line.number
        assert command != "measure" or what in KINDS, line.number
        assert line.then, line.number
        assert line.why, line.number


def test_the_page_says_what_was_measured() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == write_page(json.loads(RESULTS.read_bytes()))
    for line in LINES:
        assert f"| {line.number} | {line.then} |" in page
        assert f"`forkrun {line.command}`" in page
