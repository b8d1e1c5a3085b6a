"""The library of modules that these tests load."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import forkrun as package

HERE = Path(__file__).parent
PACKAGE = Path(package.__file__).parent


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("plugin")
    prefix = f"-Dforkrun_DIR={PACKAGE / 'lib/cmake/forkrun'}"
    quick = "-DCMAKE_BUILD_TYPE=None"  # compiles in half the time
    subprocess.run(
        ["cmake", "-S", HERE, "-B", build, prefix, quick], check=True, capture_output=True
    )
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    return build / "libtally.so"
