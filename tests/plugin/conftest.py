"""The library of modules that these tests load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.plugins import built


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(Path(__file__).parent, tmp_path_factory) / "libtally.so"
