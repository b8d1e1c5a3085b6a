"""Runs clang-tidy on the product's C++ sources, those that it has not found clean.

    python .ci/tidy.py build/tidy

A clean source leaves a stamp in the user's cache folder, named after all that findings follow from:
its version, its options and `.clang-tidy`, how the source is compiled, its text and that of
the project's headers that it includes. No path in it is absolute: clones share the stamps."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forkrun-tidy"
# The build's own compiler gives the warnings: with clang's there would be two opinions.
OPTIONS = ["--quiet", "--extra-arg=-Wno-error"]
NOT_PRODUCT = re.compile(r"_test\.cpp$|/testing/|/bench/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
FINDING = re.compile(r"^(?=\S+:\d+:\d+: (?:error|warning): )", re.MULTILINE)


@cache
def included(file: Path) -> set[Path]:
    """The project's headers that a file includes itself."""
    names = INCLUDE.findall(file.read_text())
    places = {(folder / name).resolve() for name in names for folder in (file.parent, ROOT / "cpp")}
    return {place for place in places if place.is_file()}


def stamp_of(source: Path, commands: list[str], common: bytes) -> Path:
    key = hashlib.sha256(common)
    for command in sorted(commands):
        plain = re.sub(r" -(Werror|[co] \S+)", "", command)
        key.update(plain.replace(sys.prefix, "VENV").replace(str(ROOT), "ROOT").encode())
    files: set[Path] = set()
    new = {source}
    while new:
        files |= new
        new = set().union(*map(included, new)) - files
    for file in sorted(files):
        key.update(bytes(file.relative_to(ROOT)) + hashlib.sha256(file.read_bytes()).digest())
    return CACHE / key.hexdigest()


def findings(build: str, source: Path, stamp: Path) -> str:
    """What clang-tidy says of a source. If that is nothing, the source gets its stamp."""
    tidy = ["clang-tidy", "-p", build, *OPTIONS, str(source)]
    ended = subprocess.run(tidy, capture_output=True, text=True, cwd=ROOT)
    if ended.returncode == 0:
        stamp.touch()
        return ""
    return ended.stdout or f"{source}: clang-tidy ended with {ended.returncode}\n{ended.stderr}"


def main(build: str) -> int:
    commands: dict[Path, list[str]] = {}
    for entry in json.loads((ROOT / build / "compile_commands.json").read_text()):
        if not NOT_PRODUCT.search(entry["file"]):
            commands.setdefault(Path(entry["file"]), []).append(entry["command"])
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
    common = version + " ".join(OPTIONS).encode() + (ROOT / ".clang-tidy").read_bytes()
    stamps = {source: stamp_of(source, of_it, common) for source, of_it in commands.items()}
    changed = [source for source in sorted(stamps) if not stamps[source].exists()]
    print(f"clang-tidy: {len(changed)} of {len(stamps)} sources have changed", flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        texts = list(pool.map(lambda source: findings(build, source, stamps[source]), changed))
    # A finding in a header is told once, not for each source that includes it.
    for finding in dict.fromkeys(FINDING.split("".join(texts))):
        print(finding.replace(f"{ROOT}/", ""), end="")
    return int(any(texts))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
