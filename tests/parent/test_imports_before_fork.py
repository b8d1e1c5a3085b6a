"""Children import nothing: what modules import when they are called is imported before the fork.
What a child has imported is noted when it ends, by what every Python process here starts with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forkrun import _core
from tests.conditions.test_jobs import write_correction, write_model
from tests.support.jobs import forkrun, wait_for, write_job

_NOTE = """
import json, os, sys

def _forked():
    global at_fork
    frame, names = sys._getframe(), set()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    at_fork = {*sys.modules} if "_process_in_children" in names else None

def _ended(code):
    if at_fork is not None:
        with open(os.path.join(os.environ["NOTES"], f"{os.getpid()}.json"), "w") as file:
            json.dump(sorted({*sys.modules} - at_fork), file)
    end(code)

at_fork, end = None, os._exit
os._exit = _ended
os.register_at_fork(after_in_child=_forked)
"""
_SOME = {"objects of one value", "vectors", "declared lists", "declared parts of NumPy"}
"""Tried for each change; the others are as many alike."""
_EMPTY = "a filter behind which little is left"
_FUNCTIONS = {
    "objects of one value": "@job.define\ndef z(b): return b.MET.pt * 1.0",
    "declared objects of one value": """
@job.producer(consumes=["MET_pt", "MET_phi"], produces={"z": "float64"})
def make(b): return {"z": b.MET.x * 1.0}
""",
    "lists": """
@job.define
def z(b):
    import awkward as ak
    return ak.sum(b.Jet_pt, axis=1)
""",
    "declared lists": """
@job.producer(consumes=["Jet_pt"], produces={"z": "float64"})
def make(b):
    import awkward as ak
    return {"z": ak.fill_none(ak.max(b["Jet_pt"], axis=1), 0)}
""",
    "vectors": """
@job.define
def z(b):
    import awkward as ak
    pairs = ak.combinations(b.Muon, 2)
    return ak.fill_none(ak.firsts((pairs["0"] + pairs["1"]).mass), -1)
""",
    "declared vectors with a computed name": """
import awkward as ak
@job.producer(
    consumes=["Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass"], produces={"z": "float64"})
def make(b):
    return {"z": ak.fill_none(ak.firsts(b.objects("Mu" + "on").p), -1)}
""",
    "links": """
@job.define
def z(b):
    import awkward as ak
    return ak.fill_none(ak.firsts(b.Muon.jet.pt), -1)
""",
    "parts of NumPy": """
import numpy as np
@job.define
def z(b):
    kept = np.ma.masked_array(b["MET_pt"], b["MET_pt"] > 10).filled(0)
    return kept + np.linalg.norm(np.ones(3)) + np.random.default_rng(1).normal()
""",
    "declared parts of NumPy": """
import numpy as np
@job.producer(consumes=["MET_pt"], produces={"z": "float64"})
def make(b):
    kept = np.ma.masked_array(b["MET_pt"], b["MET_pt"] > 10).filled(0)
    return {"z": kept + np.random.default_rng(1).normal()}
""",
    "an import in a declared function that a function calls": """
def helper(values):
    from xml.dom import minidom
    return values * (1.0 if minidom else 0.0)
@job.producer(consumes=["MET_pt"], produces={"z": "float64"})
def make(b): return {"z": helper(b["MET_pt"])}
""",
    "an expression of lists": "job.define('z', 'sum(Jet_pt[abs(Jet_eta) < 2.4])')",
    "an expression that may be None": "job.define('z', 'fill_none(Jet_pt[0], -1)')",
    "an expression of vectors": "job.define('z', 'fill_none((Muon[0] + Muon[1]).mass, -1)')",
    _EMPTY: """
job.filter("MET_pt > 1e9")
@job.producer(consumes=["MET_pt"], produces={"z": "float64"})
def make(b): return {"z": b.MET.pt * 1.0}
""",
    "random numbers": """
@job.define
def z(b): return b["MET_pt"] * b.random.normal(1, 0.1) + b.random.integers(0, 5)
""",
    "systematic variations": """
@job.producer(replaces=["Jet_pt"], variations={"scale": ["up", "down"]})
def scaled(b): return b["Jet_pt"] * {"scale_up": 1.1}.get(b.variation, 1.0)
job.define("z", "sum(Jet_pt)")
""",
    "texts and lists of lists": """
import numpy as np
@job.producer(produces={"text": "string", "z": "float64", "lists": "int32[][]"})
def make(b): return {"text": ["a"] * len(b), "z": np.ones(len(b)), "lists": [[[1]]] * len(b)}
""",
    "accumulators and callbacks": """
import forkrun
class Counts(forkrun.Analyzer):
    consumes = ("MET_pt", "genWeight")
    def begin_job(self):
        import colorsys
    def begin_lumi(self, run, lumi): pass
    def analyze(self, b):
        self.accumulate("sum", b.selected["genWeight"])
        self.accumulate("all", {"n": len(b), "some": 1.5})
        self.accumulate("set", {1, 2})
job.analyzer(Counts)
job.define("z", "MET_pt")
""",
    "histograms of every kind": """
import hist
words = hist.axis.StrCategory([], growth=True, name="c")
@job.analyzer(
    grown=hist.Hist(words, storage=hist.storage.Weight()),
    plain=hist.Hist(hist.axis.Regular(5, 0, 100, name="x")))
def fill(b, grown, plain):
    grown.fill(["a"] * len(b), weight=b["genWeight"])
    plain.fill(b.selected["MET_pt"])
job.hist("Jet_pt", (5, 0, 100), weight="genWeight")
job.define("z", "MET_pt")
""",
}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the sample's columns."""
    file = tmp_path_factory.mktemp("sample") / "events.root"
    assert forkrun("sample", file, "--events", 400, cwd=file.parent).code == 0
    return file


def imported_by_children(folder: Path, *command: object) -> tuple[int, set[str]]:
    """Number of children of a job, and modules that these import after they were forked."""
    (folder / "start").mkdir()
    (folder / "start" / "sitecustomize.py").write_text(_NOTE)
    notes = folder / "notes"
    notes.mkdir()
    path = {"PYTHONPATH": str(folder / "start"), "NOTES": str(notes)}
    arguments = [sys.executable, *map(str, command)]
    subprocess.run(arguments, env={**os.environ, **path}, cwd=folder, check=True)
    found = [json.loads(file.read_text()) for file in notes.iterdir()]
    return len(found), {name for names in found for name in names}


def of_program(folder: Path, events: Path, text: str, children: int) -> tuple[int, set[str]]:
    """The same of a program that makes a job."""
    write_program(folder, events, text, children)
    return imported_by_children(folder, "program.py")


def write_program(folder: Path, events: Path, text: str, children: int) -> None:
    """Writes a program that makes a job with a histogram of z, and runs it."""
    (folder / "program.py").write_text(
        f"import forkrun\njob = forkrun.Job({str(events)!r}, name='z')\n{text}\n"
        f"job.hist('z', (50, 0, 200))\nif __name__ == '__main__': job.run({children})\n"
    )


def _kinds(some: set[str], *without: str) -> list[Any]:
    """All kinds of functions; `some` are tried for each change."""
    kinds = [kind for kind in _FUNCTIONS if kind not in without]
    marks = {kind: pytest.mark.slow if kind in some else pytest.mark.long for kind in kinds}
    return [pytest.param(kind, marks=mark) for kind, mark in marks.items()]


@pytest.mark.parametrize("kind", _kinds(_SOME))
def test_a_child_imports_nothing_beyond_its_parent(tmp_path: Path, events: Path, kind: str) -> None:
    assert of_program(tmp_path, events, _FUNCTIONS[kind], 1) == (1, set())


@pytest.mark.slow
def test_nor_do_several_children_after_the_warm_up_job(tmp_path: Path, events: Path) -> None:
    texts = ["objects of one value", "vectors", "histograms of every kind", "random numbers"]
    text = "\n".join(_FUNCTIONS[kind].replace("z(b)", f"z{n}(b)") for n, kind in enumerate(texts))
    assert of_program(tmp_path, events, text, 3) == (3, set())


_CLASSES = """
import forkrun
class Evaluated(forkrun.Producer):
    consumes = ("Jet_pt", "MET_pt")
    produces = {"Jet_c": "float64[]", "score": "float32"}
    def produce(self, block):
        import numpy as np
        features = np.stack([block["MET_pt"], np.ones(len(block))], axis=1).astype(np.float32)
        jec = self.conditions["jec"]["jec"].evaluate(block["Jet_pt"])
        return {"Jet_c": jec, "score": self.conditions["model"](features)[:, 0]}
"""


def _with_outputs(events: Path, **more: Any) -> dict[str, Any]:
    outputs = [{"label": kind, "format": kind} for kind in ("ttree", "rntuple")]
    job = {"source": {"files": [str(events)]}, "forking": {"children": 2}, "outputs": outputs}
    return {**job, **more}


def of_job(folder: Path, job: dict[str, Any]) -> tuple[int, set[str]]:
    """Number of children, and what they import, of a job in a configuration."""
    file = write_job(folder, job)
    return imported_by_children(folder, "-m", "forkrun", "run", file, "-o", "run", "-q")


@pytest.mark.long
def test_nor_do_children_with_conditions(tmp_path: Path, events: Path) -> None:
    pytest.importorskip("onnxruntime")
    write_correction(pytest.importorskip("correctionlib.schemav2"), tmp_path / "c.json", 1.25)
    write_model(pytest.importorskip("onnx"), tmp_path / "m.onnx", 3.0)
    (tmp_path / "own.py").write_text(_CLASSES)
    conditions = [
        {"label": "jec", "type": "correctionlib", "file": "c.json"},
        {"label": "model", "type": "onnx", "file": "m.onnx"},
    ]
    modules = [{"label": "made", "type": "python:own.py:Evaluated"}]
    assert of_job(tmp_path, _with_outputs(events, modules=modules, conditions=conditions)) == (
        2,
        set(),
    )


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["nanoaod.toml", "nanoaod_cpp.toml", "smearing.toml"])
def test_nor_do_those_of_the_examples(tmp_path: Path, events: Path, name: str) -> None:
    job = Path(__file__).parents[2] / "configs" / name
    command = ("-m", "forkrun", "run", job, events, "--children", 2, "-o", "run", "-q")
    assert imported_by_children(tmp_path, *command) == (2, set())


@pytest.mark.long
def test_nor_do_those_that_read_lcio(tmp_path: Path) -> None:
    assert forkrun("sample", "e.slcio", "--events", 40, cwd=tmp_path).code == 0
    program = Path(__file__).parents[2] / "configs" / "lcio" / "recoil.py"
    n, imported = imported_by_children(tmp_path, program, "e.slcio")
    assert (n > 0, imported) == (True, set())


_STARTS_A_THREAD = """
import threading, time
threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()
"""


@pytest.mark.slow
def test_what_starts_a_thread_when_it_is_imported_is_left_to_children(
    tmp_path: Path, events: Path
) -> None:
    (tmp_path / "with_thread.py").write_text(_STARTS_A_THREAD)
    (tmp_path / "without.py").write_text("X = 1.0")
    (tmp_path / "own.py").write_text(
        "def make(block):\n    import with_thread\n    return {'z': block['MET_pt'] * 1.0}\n"
        "def more(block):\n    import without\n    return {'y': block['MET_pt'] * without.X}\n"
    )
    of_both = {"kind": "producer", "consumes": ["MET_pt"]}
    modules = [
        {"label": "a", "type": "python:own.py:more", "produces": {"y": "float64"}, **of_both},
        {"label": "b", "type": "python:own.py:make", "produces": {"z": "float64"}, **of_both},
    ]
    n, imported = of_job(tmp_path, _with_outputs(events, modules=modules))
    assert (n, "with_thread" in imported, "without" in imported) == (2, True, False)


_WAITS = """
import os, time
def wait(block):
    block["z"]
    if "child-" in os.readlink("/proc/self/fd/1"):
        open(os.path.join(os.environ["NOTES"], str(os.getpid())), "w").close()
        while not os.path.exists(os.environ["NOTES"] + ".end"):
            time.sleep(0.02)
job.analyzer(wait)
"""
_MOST_PRIVATE_KB = 8_000 if _core.HAS_IMMORTAL_OBJECTS else 10_500
"""With counts of references in shared objects, a child copies what Awkward and vectors run."""
_MOST_OF_NUMPY_KB = 5_500


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", _kinds({"vectors", "random numbers"}, _EMPTY))
def test_a_child_of_an_idle_job_has_few_mb_of_its_own(
    tmp_path: Path, events: Path, kind: str
) -> None:
    (notes := tmp_path / "notes").mkdir()
    write_program(tmp_path, events, _FUNCTIONS[kind] + _WAITS, 4)
    command = [sys.executable, "program.py"]
    environment = {**os.environ, "NOTES": str(notes)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        try:
            wait_for(lambda: len(list(notes.iterdir())) == 4)
            private_kb = [_private_kb(child.name) for child in notes.iterdir()]
        finally:
            (tmp_path / "notes.end").touch()
    assert process.returncode == 0
    is_plain = kind in {"random numbers", "parts of NumPy", "declared parts of NumPy"}
    assert max(private_kb) < (_MOST_OF_NUMPY_KB if is_plain else _MOST_PRIVATE_KB)


def _private_kb(pid: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
