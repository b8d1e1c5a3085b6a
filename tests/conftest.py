"""What tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forkrun.single_thread import limit_library_threads

limit_library_threads()  # before NumPy is imported: tests fork


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
