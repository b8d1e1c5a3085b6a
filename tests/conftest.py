"""What tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from forkrun.fork.single_thread import limit_library_threads

limit_library_threads()  # before NumPy is imported: tests fork
settings.register_profile("any machine", deadline=None)  # no test asserts a wall time
settings.load_profile("any machine")

# Tests send signals; a shell's background or a batch system may have them ignored or blocked.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files; skips where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FORKRUN_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} does not exist (set FORKRUN_TEST_DATA)")
    return folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache of indexes."""
    monkeypatch.setenv("FORKRUN_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
