"""The source distribution builds the wheel; the wheel works where the sources are gone."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2]
PLUGIN = SOURCES / "tests" / "plugin"
CONFIGS = SOURCES / "configs"

pytestmark = pytest.mark.long


def run(*command: object, cwd: Path, path: Path | None = None) -> str:
    """Output of a command; a Python in it imports from `path` before anything else."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def root_of_the_wheel() -> Path:
    spec = importlib.util.find_spec("ROOT")
    if spec is None or spec.origin is None or not (Path(spec.origin).parent / "lib").is_dir():
        pytest.skip("ROOT does not come from the wheel here")
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if int(importlib.metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("building the package needs setuptools 77 or newer")
    if not (SOURCES / "setup.py").exists():
        pytest.skip("the sources are not here")
    folder = tmp_path_factory.mktemp("sdist")
    backend = f"import setuptools.build_meta as b; print(b.build_sdist({str(folder)!r}))"
    name = run(sys.executable, "-c", backend, cwd=SOURCES).splitlines()[-1]
    return folder / name


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run("tar", "xzf", sdist, cwd=folder)
    (sources,) = folder.iterdir()
    options = ("--no-build-isolation", "--no-deps", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, sources, cwd=folder)
    shutil.rmtree(sources)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def portable(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel for other machines: what `make wheels` makes of the first."""
    program = (SOURCES / ".ci/wheels.py").read_text()
    (listed,) = re.findall(r"^ROOT_LIBRARIES = \(\n(.*?)^\)", program, re.M | re.S)
    libraries = re.findall(r'"(.*?)"', listed)
    others = [f"--exclude={name}" for name in libraries]
    folder = tmp_path_factory.mktemp("portable")
    options = (*others, "--wheel-dir", folder, wheel)
    run(sys.executable, "-m", "auditwheel", "repair", *options, cwd=folder)
    (portable,) = folder.glob("*.whl")
    return portable


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `site-packages`: the installed package, and ROOT next to it."""
    folder = tmp_path_factory.mktemp("site")
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", folder, wheel, cwd=folder)
    (folder / "ROOT").symlink_to(root_of_the_wheel())
    return folder


def test_the_source_distribution_has_what_a_build_needs_and_nothing_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = ["cpp/CMakeLists.txt", "cpp/cmake/FindROOTWheel.cmake", "Makefile", "LICENSE"]
    needed += [f"{d}/__init__.py" for d in ("merge", "forkrun/merge", "forkrun/monitoring")]
    assert set(needed) - names == set()
    assert [n for n in names if n.endswith((".so", ".root")) or n.startswith("forkrun/lib")] == []


def test_the_wheel_has_every_module_library_and_public_header(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folders = [SOURCES / "forkrun", SOURCES / "merge", SOURCES / "monitoring"]
    modules = {
        ("" if top.name == "forkrun" else "forkrun/") + file.relative_to(SOURCES).as_posix()
        for top in folders
        for file in top.rglob("*.py")
        if "lib" not in file.parts[len(SOURCES.parts) :]
    }
    named = (SOURCES / "cpp/cmake/ForkrunPublicHeaders.cmake").read_text()
    headers = {
        f"forkrun/include/forkrun/{name}" for name in re.findall(r"^  (\S+\.hpp)$", named, re.M)
    }
    assert "forkrun/include/forkrun/module.hpp" in headers
    headers |= {
        f"forkrun/include/{file.relative_to(SOURCES / 'cpp').as_posix()}"
        for file in (SOURCES / "cpp/forkrun/concurrency").glob("*.hpp")
    }
    libraries = {f"forkrun/lib/libforkrun_{n}.so" for n in ("concurrency", "core", "modules")}
    others = {
        f"forkrun/{n}"
        for n in (
            "templates/plugin/NAME.cpp",
            "lib/cmake/forkrun/forkrunConfig.cmake",
            "py.typed",
        )
    }
    assert (modules | headers | libraries | others) - names == set()
    assert [n for n in names if n.startswith("forkrun/_core.") and n.endswith(".so")] != []
    assert {n.split("/")[0] for n in names if ".dist-info/" not in n} == {"forkrun"}
    assert [n for n in names if "testing" in n] == []


def test_the_installed_package_runs_a_job_and_has_one_libtbb(site: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "forkrun")
    run(*command, "sample", "in.root", "--events", 500, "--lumis", 3, cwd=tmp_path, path=site)
    job = ("run", CONFIGS / "nanoaod.toml", "in.root", "--children", 2, "-o", "run", "--quiet")
    run(*command, *job, cwd=tmp_path, path=site)
    assert (tmp_path / "run/output/events.root").is_file()
    look = (
        "import re, forkrun, forkrun._core as c; c.warm_up();"
        "print(forkrun.__file__); maps = open('/proc/self/maps').read();"
        "print(len(set(re.findall(r'/\\S*libtbb\\.so\\S*', maps))))"
    )
    place, libtbbs = run(sys.executable, "-c", look, cwd=tmp_path, path=site).splitlines()
    assert Path(place).is_relative_to(site)
    assert libtbbs == "1"


def test_the_wheel_for_other_machines_has_our_libraries_alone(portable: Path) -> None:
    assert "manylinux" in portable.name
    with zipfile.ZipFile(portable) as archive:
        libraries = {n for n in archive.namelist() if re.search(r"\.so(\.|$)", n)}
    assert {n.split("/")[0] for n in libraries} == {"forkrun"}
    assert [n for n in libraries if "libforkrun" not in n and "/_core." not in n] == []


def test_the_wheel_runs_a_job_in_an_empty_environment(portable: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "empty", cwd=tmp_path)
    pip = ("empty/bin/python", "-m", "pip", "install", "--quiet")
    try:
        run(*pip, portable, cwd=tmp_path)
    except AssertionError as error:
        if "No matching distribution" in str(error) or "connection" in str(error):
            pytest.skip("packages cannot be installed here")
        raise
    sample = ("sample", "in.root", "--events", 500, "--lumis", 3)
    run("empty/bin/forkrun", *sample, cwd=tmp_path)
    run("empty/bin/forkrun", "run", CONFIGS / "nanoaod.toml", "in.root", "-o", "run", cwd=tmp_path)
    assert (tmp_path / "run/output/events.root").is_file()
    look = (
        "import ctypes, re, forkrun; from pathlib import Path;"
        "ctypes.CDLL(Path(forkrun.__file__).parent / 'lib/libforkrun_xrootd.so');"
        "print(*set(re.findall(r'/\\S*libXrdCl\\.so\\S*', Path('/proc/self/maps').read_text())))"
    )
    (client,) = run("empty/bin/python", "-c", look, cwd=tmp_path).split()
    assert Path(client).parent.parent.name == "ROOT"


def test_a_plugin_builds_against_the_installed_package(site: Path, tmp_path: Path) -> None:
    where = run(sys.executable, "-m", "forkrun", "--cmake-dir", cwd=tmp_path, path=site).strip()
    assert Path(where).is_relative_to(site)
    run("cmake", "-S", PLUGIN, "-B", tmp_path, f"-Dforkrun_DIR={where}", cwd=tmp_path)
    run("cmake", "--build", tmp_path, cwd=tmp_path)
    load = f"import forkrun._core as c; print(c.load_plugin({str(tmp_path / 'libtally.so')!r}))"
    loaded = run(sys.executable, "-c", load, cwd=tmp_path, path=site).strip()
    assert loaded == "['Copies', 'CopyShapes', 'Counts', 'Listed', 'ManyJets', 'Plots']"
