"""What a newcomer does: each program gives what an independent one gives, in no more lines.

Of the ten tasks, a plugin is in tests/cli/test_new_plugin.py, and mistakes are in
tests/analysis/test_program_mistakes.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import pytest

from tests.conditions.test_jobs import write_model
from tests.support.jobs import PATIENCE_S, environment, program
from tests.support.jobs import forkrun as command

PROGRAMS = Path(__file__).parent / "programs"
TASKS = sorted(file.stem.removesuffix("_plain") for file in PROGRAMS.glob("*_plain.py"))
ON_REAL_FILES = ("formats", "rntuple")
N_EVENTS = {"data": 300, "dy": 600, "ttbar": 300}


def n_lines(name: str) -> int:
    """Those with code."""
    lines = (line.strip() for line in (PROGRAMS / name).read_text().splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("newcomer")
    for seed, (name, n) in enumerate(N_EVENTS.items()):
        shape = ["--events", n, "--runs", 1, "--lumis", 1, "--seed", seed, "--quiet"]
        assert command("sample", f"{name}.root", *shape, cwd=folder).code == 0
    _write_scale(folder / "jec.json")
    write_model(pytest.importorskip("onnx"), folder / "sum.onnx", 3.0)
    return folder


def _write_scale(file: Path) -> None:
    """Corrections `up` and `down`: pt times 1.05 or 0.95."""
    schema = pytest.importorskip("correctionlib.schemav2")
    corrections = [
        schema.Correction(
            name=name,
            version=1,
            inputs=[schema.Variable(name="pt", type="real")],
            output=schema.Variable(name="scaled", type="real"),
            data=schema.Formula(
                nodetype="formula", expression=f"x*{factor}", parser="TFormula", variables=["pt"]
            ),
        )
        for name, factor in (("up", 1.05), ("down", 0.95))
    ]
    made = schema.CorrectionSet(schema_version=2, corrections=corrections)
    file.write_text(made.model_dump_json(exclude_unset=True))


def printed(name: str, folder: Path, *words: object) -> Any:
    """The last line of the program's output."""
    ended = program(PROGRAMS / name, *words, cwd=folder)
    assert ended.code == 0, ended.err
    return json.loads(ended.out.strip().splitlines()[-1])


def assert_same(found: Any, wanted: Any) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert ak.almost_equal(ak.Array(found[name]), ak.Array(values), rtol=1e-9, atol=1e-9), name


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_no_more_lines_than_without_forkrun(task: str) -> None:
    assert n_lines(f"{task}_forkrun.py") <= n_lines(f"{task}_plain.py")


@pytest.mark.slow
@pytest.mark.parametrize("task", [t for t in TASKS if t not in (*ON_REAL_FILES, "notebook")])
def test_a_program_gives_what_an_independent_one_gives(task: str, samples: Path) -> None:
    assert_same(printed(f"{task}_forkrun.py", samples), printed(f"{task}_plain.py", samples))


@pytest.mark.slow
@pytest.mark.parametrize("task", ON_REAL_FILES)
def test_files_of_experiments_give_what_others_read_in_them(
    task: str, real_data: Path, tmp_path: Path
) -> None:
    found = printed(f"{task}_forkrun.py", tmp_path, real_data)
    assert_same(found, printed(f"{task}_plain.py", tmp_path, real_data))


@pytest.mark.slow
def test_a_notebook_gives_what_a_program_gives(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    for name, value in environment(IPYTHONDIR=str(samples / "ipython")).items():
        monkeypatch.setenv(name, value)
    codes = (PROGRAMS / "notebook_forkrun.py").read_text().split("# %%\n")[1:]
    notebook: Any = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, codes)))
    where = {"metadata": {"path": str(samples)}}
    nbclient.NotebookClient(notebook, timeout=round(PATIENCE_S), resources=where).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert "of 600 planned, digests agree" in outputs[2][-1]["data"]["text/html"]
    assert "image/png" in outputs[3][-1]["data"]
    assert_same(json.loads(outputs[4][-1]["text"]), printed("notebook_plain.py", samples))
