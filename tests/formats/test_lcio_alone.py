"""The library that reads LCIO is built and used without ROOT, Python and the core."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from forkrun import _core
from forkrun.studies.sample.collider.write import write_collider_sample
from forkrun.studies.sample.settings import SampleSettings

HERE = Path(__file__).parent / "lcio_alone"
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "libraries.md"


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_example_of_the_page_is_built_and_reads_what_columns_have(tmp_path: Path) -> None:
    run("cmake", "-S", HERE, "-B", tmp_path, f"-DFORKRUN={ROOT}")
    run("cmake", "--build", tmp_path, "--target", "pions", "--parallel", 2)
    (file,) = write_collider_sample(tmp_path / "e.slcio", SampleSettings(n_events=20))
    columns = _core.OpenLcio(str(file)).read(["MCParticle.pdg", "MCParticle.momentum.z"])
    pdg, pz = (column[1] for column in columns.values())
    mean = pz[np.abs(pdg) == 211].mean(dtype=np.float64)
    expected = f"20 events, {(np.abs(pdg) == 211).sum()} pions, {mean:.4f} GeV\n"
    assert run(tmp_path / "pions", file) == expected
    libraries = run("ldd", tmp_path / "pions")
    assert [name for name in ("ROOT", "libCore", "python", "forkrun") if name in libraries] == []


@pytest.mark.parametrize("name", ["pions.cpp", "CMakeLists.txt"])
def test_the_page_shows_the_example_as_it_is_tested(name: str) -> None:
    text = (HERE / name).read_text()
    indented = "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())
    assert indented in PAGE.read_text()
