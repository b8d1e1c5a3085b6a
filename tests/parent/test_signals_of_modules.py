"""Processes that modules start answer to signals as anywhere."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

MODULE = """
import multiprocessing
import os
import signal
import subprocess
import time

import numpy as np

import forkrun

NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)



def status(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forked(number):
    pid = os.fork()
    if pid == 0:
        time.sleep(100)
        os._exit(0)
    os.kill(pid, number)
    return status(pid)


def blocked():
    pid = os.fork()
    if pid == 0:
        os._exit(len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    return status(pid)


def square(x):
    return x * x


class Starts(forkrun.Filter):
    def __init__(self, file: str):
        self.file = file

    def filter(self, block):
        if 0 in block.events or not os.path.exists(self.file):
            with open(self.file, "w") as out:
                print(self.said(), file=out)
        return np.ones(len(block), dtype=bool)

    def said(self):
        context = multiprocessing.get_context("fork")
        process = context.Process(target=time.sleep, args=(100,))
        process.start()
        process.terminate()
        process.join()
        with context.Pool(2) as pool:
            squares = pool.map(square, range(4))
        copies = [-forked(number) for number in NUMBERS if number != signal.SIGINT]
        programs = []
        for number in NUMBERS:
            program = subprocess.Popen(["sleep", "100"])
            program.send_signal(number)
            programs.append(-program.wait())
        return [-process.exitcode, squares, copies, programs, blocked()]
"""


@pytest.mark.parametrize("children", [0, 1])
def test_what_a_module_forks_or_starts_ends_by_signals(tmp_path: Path, children: int) -> None:
    (tmp_path / "mods.py").write_text(MODULE)
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 3)])
    job = jets_job([events], forking={"children": children})
    said = tmp_path / "said"
    job["modules"].append(
        {
            "label": "starts",
            "type": f"python:{tmp_path / 'mods.py'}:Starts",
            "params": {"file": str(said)},
        }
    )
    job["paths"]["skim"].insert(0, "starts")
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    copies = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
    programs = [signal.SIGTERM, signal.SIGINT, *copies[1:]]
    expected = [15, [0, 1, 4, 9], [*map(int, copies)], [*map(int, programs)], 0]
    assert said.read_text() == f"{expected}\n"
