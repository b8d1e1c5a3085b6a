"""Histograms of a C++ analyzer that any number of threads fill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import uproot

from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job

HERE = Path(__file__).parent
N_EVENTS = 3000


def run(folder: Path, plugins: list[str], module: dict[str, Any], **sections: Any) -> Path:
    """The histograms of a job whose only module is called "plots"."""
    folder.mkdir()
    file = folder.parent / "in.root"
    if not file.exists():
        write_events(file, [(1, lumi, N_EVENTS // 6) for lumi in range(1, 7)])
    job = {
        "job": {"plugins": plugins},
        "source": {"files": [str(file)]},
        "modules": [{"label": "plots", **module}],
        "paths": {"p": ["plots"]},
        **sections,
    }
    ended = forkrun("run", write_job(folder, job), "-o", "run", cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run/output/histograms.root"


def of_cpp(
    folder: Path, plugin: Path, memory: str, threads: int, children: int, block: int
) -> Path:
    return run(
        folder,
        [str(plugin)],
        {"type": "cpp:Plots", "params": {"memory": memory}},
        threads={"per_child": threads, "block_size": block},
        forking={"children": children},
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, plugin: Path) -> Path:
    return of_cpp(tmp_path_factory.mktemp("plots") / "one", plugin, "automatic", 1, 1, 1000)


@pytest.mark.parametrize(
    ("memory", "threads", "children", "block"),
    [("automatic", 4, 1, 7), ("buffered", 2, 2, 100), ("shared", 3, 1, 64)],
)
def test_the_file_is_the_same_for_any_threads_children_and_blocks(
    tmp_path: Path,
    plugin: Path,
    expected: Path,
    memory: str,
    threads: int,
    children: int,
    block: int,
) -> None:
    file = of_cpp(tmp_path / "run", plugin, memory, threads, children, block)
    assert file.read_bytes() == expected.read_bytes()
    report = json.loads((file.parents[1] / "report.json").read_text())
    chosen = {h["name"]: h["memory"] for h in report["job"]["shared_histograms"]}
    assert chosen["plots/plane"] == ("copy" if memory == "automatic" else memory)
    assert chosen["plots/growing"] == "copy"
    text = (file.parents[1] / "report.txt").read_text()
    assert "histograms that threads fill" in text


def test_all_axes_are_those_of_hist(tmp_path: Path, expected: Path) -> None:
    module = {"type": f"python:{HERE / 'plots_in_python.py'}:Plots"}
    twin = run(tmp_path / "twin", [], module)
    assert twin.read_bytes() == expected.read_bytes()
    with uproot.open(expected) as file:
        assert len(file["plots"].keys()) == 6
        assert file["plots/regular"].values(flow=True).sum() == N_EVENTS
        labels = file["plots/growing"].axis("x").labels()
        assert labels == ["n9", *(f"n{n}" for n in range(9))]
