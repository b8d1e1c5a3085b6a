"""docs/architecture.md names files that exist."""

from __future__ import annotations

import re

from tests.support.jobs import ROOT

PAGE = ROOT / "docs/architecture.md"
NAME = re.compile(r"`([\w./-]+/|[\w./-]+\.(?:py|[ch]pp|cmake|toml|md|js|css))`")


def test_all_paths_of_the_table_exist() -> None:
    table = PAGE.read_text().split("## To change X, open Y")[1].split("\n## ")[0]
    named = NAME.findall(table)
    assert len(named) > 100
    assert [name for name in named if not (ROOT / name).exists()] == []
