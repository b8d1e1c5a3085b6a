"""Cells of a notebook that are run again replace what they defined before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.analysis import steps
from forkrun.analysis.steps import Cell
from forkrun.errors import ConfigError
from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, environment


class Notebook:
    """Whose cells are run by name."""

    def __init__(self, is_told: bool) -> None:
        self.now: Cell | None = None
        self._n, self._is_told = 0, is_told

    def run(self, name: str) -> None:
        self._n += 1
        self.now = Cell(name, self._n, self._is_told)


@pytest.fixture(params=[True, False])
def notebook(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook(request.param)
    monkeypatch.setattr(steps, "current_cell", lambda: made.now)
    return made


def test_a_cell_that_is_run_again_takes_its_own_place(notebook: Notebook) -> None:
    job = forkrun.Job("a.root")
    notebook.run("first")
    presel = job.path("presel")
    presel.filter("nJet > 1").redefine("Jet_pt", "1.1 * Jet_pt")
    notebook.run("second")
    signal = presel.path("signal").filter("nJet > 3", label="many").output("skim")
    signal.hist("Jet_pt", (5, 0, 100))
    notebook.run("first")
    presel.filter("nJet > 2").redefine("Jet_pt", "1.2 * Jet_pt")
    presel.filter("event > 5", label="late")
    config = job.config
    assert [m.type for m in config.modules] == [
        "expression:nJet > 2", "expression:1.2 * Jet_pt", "expression:event > 5",
        "expression:nJet > 3", "expression:Jet_pt",
    ]  # fmt: skip
    assert config.paths["signal"] == ("filter1", "late", "many", "signal_Jet_pt")
    assert [output.label for output in config.outputs] == ["skim"]
    notebook.run("second")
    presel.path("signal").hist("Jet_pt", (5, 0, 100)).output("skim", keep=["Jet_*"])
    assert job.config.paths["signal"] == ("filter1", "late", "signal_Jet_pt")
    assert [output.keep for output in job.config.outputs] == [("Jet_*",)]


def test_a_name_that_comes_twice_in_one_run_is_refused(notebook: Notebook) -> None:
    job = forkrun.Job("a.root")
    notebook.run("first")
    job.define("x", "nJet")
    with pytest.raises(ConfigError, match='"x" is defined twice'):
        job.define("x", "nJet + 1")


def test_another_cell_takes_a_name_only_where_nobody_tells_which_it_is(notebook: Notebook) -> None:
    job = forkrun.Job("a.root")
    notebook.run("first")
    job.define("x", "nJet").filter("x > 1")
    notebook.run("changed")
    if notebook._is_told:
        with pytest.raises(ConfigError, match='"x" is defined twice'):
            job.define("x", "nJet + 1")
        return
    job.define("x", "nJet + 1").filter("x > 1")
    kinds = [module.type for module in job.config.modules]
    assert kinds == ["expression:nJet + 1", "expression:x > 1"]


@pytest.mark.slow
def test_the_kernel_tells_which_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = pytest.importorskip("jupyter_client.manager")
    pytest.importorskip("ipykernel")
    write_events(tmp_path / "a.root", [(1, 1, 40)])
    for name, value in environment(IPYTHONDIR=str(tmp_path / "ipython")).items():
        monkeypatch.setenv(name, value)
    kernel, client = manager.start_new_kernel(cwd=str(tmp_path))
    try:

        def run(cell: str, code: str) -> None:
            content = {"code": code, "silent": False, "store_history": True}
            message = client.session.msg("execute_request", content, metadata={"cellId": cell})
            client.shell_channel.send(message)
            reply: Any = client.get_shell_msg(timeout=PATIENCE_S)
            assert reply["content"]["status"] == "ok", reply["content"]

        run("a", "import forkrun; job = forkrun.Job('a.root')")
        run("b", "job.filter('nJet > 1')")
        run("c", "job.hist('nJet', (5, 0, 5))")
        run("b", "job.filter('nJet > 2')")
        wanted = ["expression:nJet > 2", "expression:nJet"]
        run("d", f"assert [m.type for m in job.config.modules] == {wanted}")
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
