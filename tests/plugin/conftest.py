"""The library of modules that these tests load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.plugins import built


@pytest.fixture(scope="session")
def plugin() -> Path:
    return built(Path(__file__).parent) / "libtally.so"
