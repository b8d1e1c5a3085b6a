"""A job in a notebook: a bar below the cell, and the cell's output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forkrun.base.progress import in_notebook
from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, environment

CELL = """
import forkrun
job = forkrun.Job("a.root", forking={"distribution": "lumi"}, threads={"block_size": 40})
job.hist("Jet_pt", (10, 0, 100))
job.run(children=CHILDREN)
"""


def test_this_is_no_notebook() -> None:
    assert not in_notebook()


@pytest.mark.slow
@pytest.mark.parametrize("children", [pytest.param(0, marks=pytest.mark.long), 2])
def test_a_cell_shows_progress_report_and_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: int
) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 4)])
    for name, value in environment(IPYTHONDIR=str(tmp_path / "ipython")).items():
        monkeypatch.setenv(name, value)
    code = CELL.replace("CHILDREN", str(children))
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(
        notebook, timeout=round(PATIENCE_S), resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = notebook.cells[0].outputs
    pages = [each["data"].get("text/html", "") for each in outputs if "data" in each]
    assert "done, 120 events" in pages[-1]
    assert "of 120 planned, digests agree" in pages[-1]
    assert 'job-run/report.html" target="_blank">the whole report</a>' in pages[-1]
    assert any("<pre" in page for page in pages[:-1]) == (children > 0)
    text = "".join(each.get("text", "") for each in outputs)
    assert "100% 120 of 120" in text
    assert "forkrun progress" not in text
    assert ("done and verified" in text) == (children > 0)
    assert "notebook" in (tmp_path / "job-run/report.txt").read_text()
