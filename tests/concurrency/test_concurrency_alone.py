"""The concurrency library is built, installed and used without ROOT, Python, oneTBB or the core."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "libraries.md"


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder, configured for C++ alone."""
    folder = tmp_path_factory.mktemp("build")
    off = [f"-DFORKRUN_{name}=OFF" for name in ("BINDINGS", "TESTS", "TBB")]
    run("cmake", "-S", ROOT / "cpp", "-B", folder, *off)
    return folder


@pytest.fixture(scope="module")
def prefix(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is installed."""
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--build", build, "--target", "forkrun_concurrency", "--parallel", 2)
    run("cmake", "--install", build, "--component", "concurrency", "--prefix", folder)
    return folder


def test_without_bindings_neither_root_nor_python_is_looked_for(build: Path) -> None:
    cache = (build / "CMakeCache.txt").read_text()
    entries = re.findall(r"^([^#/\n][^:=\n]*):", cache, re.MULTILINE)
    assert "FORKRUN_BINDINGS" in entries
    found = [name for name in entries if re.search("python|^_?ROOT|pybind", name, re.IGNORECASE)]
    assert found == []


def test_the_library_is_installed_with_its_headers_and_nothing_else(prefix: Path) -> None:
    files = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}
    headers = (ROOT / "cpp/forkrun/concurrency").glob("*.hpp")
    assert files == {
        "lib/libforkrun_concurrency.so",
        "lib/cmake/forkrun/forkrunConfig.cmake",
        *(f"include/forkrun/concurrency/{header.name}" for header in headers),
    }


def test_the_example_of_the_page_is_built_from_outside_and_runs(
    prefix: Path, tmp_path: Path
) -> None:
    run("cmake", "-S", HERE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "squares") == "332833500\n"
    libraries = run("ldd", tmp_path / "squares")
    assert f"{prefix}/lib/libforkrun_concurrency.so" in libraries
    assert [name for name in ("tbb", "ROOT", "python", "core") if f"lib{name}" in libraries] == []


def test_a_component_that_is_not_installed_is_named(prefix: Path, tmp_path: Path) -> None:
    lists = (HERE / "CMakeLists.txt").read_text().replace("concurrency", "core")
    (tmp_path / "CMakeLists.txt").write_text(lists)
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "b")]
    command.append(f"-DCMAKE_PREFIX_PATH={prefix}")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "has no libforkrun_core.so" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["squares.cpp", "CMakeLists.txt"])
def test_the_page_shows_the_example_as_it_is_tested(name: str) -> None:
    text = (HERE / name).read_text()
    indented = "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())
    assert indented in PAGE.read_text()
