"""What is found out about modules before a job: with few files open, and blaming the right one."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

import pytest
import uproot

from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

MODULE = """
import forkrun

class Rare(forkrun.Filter):
    def filter(self, block):
        return block["nJet"] > 1000

class Behind(forkrun.Analyzer):
    def analyze(self, block):
        block["nJet"]
"""


def job_of(folder: Path, files: list[Path]) -> Path:
    (folder / "mods.py").write_text(MODULE)
    job = jets_job(files, forking={"children": 1})
    job["source"]["duplicates"] = "keep"
    job["modules"] = [
        {"type": f"python:{folder / 'mods.py'}:{name}"} for name in ("Rare", "Behind")
    ]
    job["paths"] = {"skim": ["Rare", "Behind"]}
    job["outputs"] = [{"label": "o", "paths": ["skim"]}]
    return write_job(folder, job)


@pytest.mark.slow
def test_a_rare_filter_over_many_files_opens_few_at_a_time(tmp_path: Path) -> None:
    first = write_events(tmp_path / "f000.root", [(1, 1, 2)])
    files = [first] + [
        Path(shutil.copy(first, tmp_path / f"f{number:03d}.root")) for number in range(1, 300)
    ]

    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150))

    ended = forkrun("run", job_of(tmp_path, files), "-o", "r", cwd=tmp_path, preexec_fn=few_files)
    assert ended.code == 0, ended.err


def test_a_basket_that_is_damaged_is_blamed_on_its_file(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 400)])
    with uproot.open(file) as opened:
        branch = opened["Events"]["nJet"]
        place = int(branch.member("fBasketSeek")[0]) + int(branch.basket_key(0).fKeylen)
    with file.open("r+b") as written:
        written.seek(place)
        written.write(b"\xff" * 40)
    ended = forkrun("run", job_of(tmp_path, [file]), "-o", "r", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert "a.root" in ended.err
    assert "module" not in ended.err
