"""What forbids the fork is found by `forkrun check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import forkrun

MODULE = """
import threading
from forkrun import Analyzer

class Reader(Analyzer):
    def __init__(self):
        super().__init__()
        self.ended = threading.Event()
        threading.Thread(target=self.ended.wait, name="reader", daemon=True).start()

    def analyze(self, block):
        pass
"""


@pytest.mark.slow
def test_threads_of_modules_are_found_by_a_check(tmp_path: Path) -> None:
    write_sample(tmp_path / "s.root", SampleSettings(n_events=100))
    (tmp_path / "modules.py").write_text(MODULE)
    config = tmp_path / "job.toml"
    config.write_text(
        '[source]\nfiles = ["s.root"]\n[[modules]]\ntype = "python:modules.py:Reader"\n'
    )
    for command in ("check", "run"):
        ended = forkrun(command, config, cwd=tmp_path)
        assert ended.code == 7, ended.err
        assert 'thread reader, since module "Reader" was constructed' in ended.err
