"""Cells of a notebook that are run again replace what they defined before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
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
        self._n, self.is_told = 0, is_told

    def run(self, name: str) -> None:
        self._n += 1
        self.now = Cell(name if self.is_told else "", self._n)


@pytest.fixture(params=[True, False], ids=["told", "untold"])
def notebook(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook(request.param)
    monkeypatch.setattr(steps, "current_cell", lambda: made.now)
    return made


told = pytest.mark.parametrize("notebook", [True], indirect=True)
untold = pytest.mark.parametrize("notebook", [False], indirect=True)


@told
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


DEFINED: dict[str, Callable[[forkrun.Job], Any]] = {
    "filter": lambda job: job.filter("nJet > 1", label="x"),
    "other filter": lambda job: job.filter("nJet > 2", label="x"),
    "filter of a function": lambda job: job.filter(lambda e: e["nJet"] > 1, label="x"),
    "filter of another function": lambda job: job.filter(lambda e: e["nJet"] > 2, label="x"),
    "filter with a parameter": lambda job: job.filter(at_least, label="x", n=1),
    "filter with another parameter": lambda job: job.filter(at_least, label="x", n=2),
    "filter of another path": lambda job: job.path("other").filter("nJet > 1", label="x"),
    "column": lambda job: job.define("x", "nJet > 1"),
    "other column": lambda job: job.define("x", "nJet > 2"),
    "producer": lambda job: job.producer(lambda e: {"y": e["nJet"]}, label="x"),
    "analyzer": lambda job: job.analyzer(lambda e: None, label="x"),
    "histogram": lambda job: job.path("x").hist("nJet", (5, 0, 5), name="x"),
    "histogram of other bins": lambda job: job.path("x").hist("nJet", (6, 0, 5), name="x"),
    "weighted histogram": lambda job: job.path("x").hist("nJet", (5, 0, 5), name="x", weight="w"),
    "C++": lambda job: job.add("cpp:Trijet", label="x"),
    "C++ of other parameters": lambda job: job.add("cpp:Trijet", label="x", pt_min=3.0),
}


def namespace(name: str) -> str:
    """In which names are told apart."""
    words = {"column": "producer", "of": "", "other": "", "weighted": ""}
    return next(filter(None, (words.get(word, word) for word in name.split())))


def made(job: forkrun.Job) -> Any:
    return job.config.as_json()


def at_least(events: Any, n: int) -> Any:
    return events["nJet"] >= n


@pytest.mark.parametrize(
    ("notebook", "first", "second"),
    [
        *((False, first, second) for first, second in product(DEFINED, DEFINED)),
        *((True, "filter", second) for second in DEFINED),
    ],
    indirect=["notebook"],
)
def test_another_cell_never_takes_a_name_for_something_else(
    notebook: Notebook, first: str, second: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins = {"plugins": ["forkrun_modules"]}
    job = forkrun.Job("a.root").configure(job=plugins)
    notebook.run("first")
    DEFINED[first](job)
    before = made(job)
    notebook.run("second")
    label = "x_x" if "histogram" in first else "x"
    spaces = {namespace(first), namespace(second)}
    if len(spaces) == 2 and ("C++" not in spaces or "histogram" in spaces):
        DEFINED[second](job)
        assert len(job.config.modules) == 2
    elif first != second or notebook.is_told:
        with pytest.raises(ConfigError, match=f'"{label}" is defined twice') as caught:
            DEFINED[second](job)
        assert ("run the cell that makes the job first" in str(caught.value)) != notebook.is_told
        assert made(job) == before
    else:
        DEFINED[second](job)
        assert made(job) == before
        said = capsys.readouterr().err
        assert said.startswith(f'forkrun: "{label}" was defined by an earlier input with')
        assert said.count("\n") == 1


@untold
def test_cells_of_one_text_are_not_taken_for_one(notebook: Notebook) -> None:
    """As with nbconvert or papermill: `job.path(region).filter("nJet > 1")` of two regions."""
    job = forkrun.Job("a.root")
    for region in ("signal", "control"):
        notebook.run("the same text")
        job.path(region).filter("nJet > 1").hist("nJet", (5, 0, 5))
    assert {name: len(labels) for name, labels in job.config.paths.items()} == {
        "signal": 2, "control": 2,
    }  # fmt: skip


@untold
def test_what_is_the_same_takes_its_own_place_where_nobody_tells_the_cell(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    job = forkrun.Job("a.root")

    def define(run: str) -> None:
        notebook.run(run)
        job.filter("nJet > 1").redefine("Jet_pt", "1.1 * Jet_pt").redefine("Jet_pt", "1.1 * Jet_pt")
        job.vary("Jet_pt", "jes", up="1.02 * Jet_pt", down="0.98 * Jet_pt")
        job.hist("nJet", (5, 0, 5), weight=lambda events: events["event"]).output("skim")

    define("one")
    before = made(job)
    assert len(job.config.modules) == 6
    assert capsys.readouterr().err == ""
    define("again")
    assert made(job) == before
    assert capsys.readouterr().err.count("is replaced, like other repeated definitions") == 1


@untold
def test_an_output_of_another_path_is_refused(notebook: Notebook) -> None:
    job = forkrun.Job("a.root")
    for name in ("one", "two"):
        notebook.run(name)
        job.path(name).filter("nJet > 1").output("skim")
    with pytest.raises(ConfigError, match='the label "skim" is used 2 times'):
        _ = job.config


CELLS = """
import forkrun
job = forkrun.Job("a.root", name="same")
%%
job.filter("nJet > 1", label="cut")
%%
job.filter("nJet > 2", label="cut")
%%
job.filter("nJet > 1", label="cut")
%%
print([m.type for m in job.config.modules])
"""


@pytest.mark.slow
def test_a_notebook_that_is_executed_replaces_no_filter_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for name, value in environment(IPYTHONDIR=str(tmp_path / "ipython")).items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(text) for text in CELLS.split("%%\n")]
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE_S, kernel_name="python3", allow_errors=True, resources=resources
    )
    client.execute()
    _, _, refused, again, shown = (cell.outputs for cell in notebook.cells)
    assert '"cut" is defined twice' in refused[0]["evalue"]
    assert '"cut" was defined by an earlier input' in again[0]["text"]
    assert shown[0]["text"] == "['expression:nJet > 1']\n"


class Kernel:
    """A kernel of Jupyter that is told which cell it runs."""

    def __init__(self, folder: Path) -> None:
        manager = pytest.importorskip("jupyter_client.manager")
        self._manager, self._client = manager.start_new_kernel(cwd=str(folder))

    def run(self, cell: str, code: str) -> str:
        """Runs a cell; returns what it prints."""
        content = {"code": code, "silent": False, "store_history": True}
        client = self._client
        message = client.session.msg("execute_request", content, metadata={"cellId": cell})
        client.shell_channel.send(message)
        reply: Any = client.get_shell_msg(timeout=PATIENCE_S)
        assert reply["content"]["status"] == "ok", reply["content"]
        printed = ""
        while True:
            told = client.get_iopub_msg(timeout=PATIENCE_S)
            if told["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if told["content"].get("execution_state") == "idle":
                return printed
            printed += told["content"].get("text", "")

    def end(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    pytest.importorskip("ipykernel")
    write_events(tmp_path / "a.root", [(1, 1, 40)])
    for name, value in environment(IPYTHONDIR=str(tmp_path / "ipython")).items():
        monkeypatch.setenv(name, value)
    made = Kernel(tmp_path)
    yield made
    made.end()


@pytest.mark.slow
def test_the_kernel_tells_which_cell_runs(kernel: Kernel) -> None:
    kernel.run("a", "import forkrun; job = forkrun.Job('a.root')")
    kernel.run("b", "job.filter('nJet > 1')")
    kernel.run("c", "job.hist('nJet', (5, 0, 5))")
    kernel.run("b", "job.filter('nJet > 2')")
    wanted = ["expression:nJet > 2", "expression:nJet"]
    kernel.run("d", f"assert [m.type for m in job.config.modules] == {wanted}")


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [2, 0])
def test_a_changed_cell_computes_what_depends_on_it(kernel: Kernel, children: int) -> None:
    def hist(name: str, factor: int) -> str:
        axis = f"@job.hist((5, 0, 50), name='{name}')"
        return f"{axis}\ndef {name}(events): return scale * {factor} * events.nJet"

    kernel.run("a", "import forkrun; job = forkrun.Job('a.root')")
    kernel.run("b", "scale = 1")
    kernel.run("c", hist("one", 2))
    kernel.run("d", hist("two", 3))
    run = f"result = job.run(children={children})"
    kernel.run("e", run)
    kernel.run("d", hist("two", 4))
    told = kernel.run("e", f"{run}; print(result.histograms['two'].values().tolist())")
    assert "kept 1 of 2 histograms; computing two (changed: histogram hist_two)" in told
    kernel.run("f", "# a comment")
    assert "already done" in kernel.run("e", run)
    kernel.run("b", "scale = 2")
    assert "computing 2 histograms again" in kernel.run("e", run)
    scratch = "again = job.run(children=2, force=True)"
    kernel.run("g", f"before = result.histograms; {scratch}")
    same = "print(all(before[n] == again.histograms[n] for n in ('one', 'two')))"
    assert kernel.run("h", same) == "True\n"
