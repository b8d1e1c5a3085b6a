"""What tests share."""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from forkrun.fork.single_thread import limit_library_threads

limit_library_threads()  # before NumPy is imported: tests fork

from forkrun import _core, api  # noqa: E402
from forkrun.base.progress import in_notebook  # noqa: E402
from forkrun.fork import helper  # noqa: E402
from forkrun.fork.command import CleanCommand  # noqa: E402
from forkrun.modules.program import state  # noqa: E402
from forkrun.modules.program.own_code import own_modules as all_own_modules  # noqa: E402
from tests.support.jobs import run_served, serving, start_served_worker  # noqa: E402

_DO_NOT_WRITE = sys.dont_write_bytecode
_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 6_000_000_000


def _write_to_memory() -> None:
    """Has temporary files written to memory where there is enough of it: jobs sync many files,
    which to disk is a third of the time that a small one takes."""
    is_free = "TMPDIR" not in os.environ and _MEMORY.is_mount()
    if is_free and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES:
        folder = _MEMORY / f"forkrun-tests-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)  # other users, which some tests become, reach what they are shown
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


_write_to_memory()
settings.register_profile("any machine", deadline=None)  # no test asserts a wall time
settings.load_profile("any machine")

# Tests send signals; a shell's background or a batch system may have them ignored or blocked.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--order-seed", type=int, help="order of the tests: drawn anew if not given, 0: as on file"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draws the order; processes of xdist are told. What pytest makes of the tests' assertions,
    which takes two thirds of the time of finding them, is kept wherever Python may keep what it
    compiles: it is asked not to for the sake of jobs."""
    sys.dont_write_bytecode = False
    if config.option.order_seed is None:
        drawn = random.SystemRandom().randrange(1, 1_000_000)
        config.option.order_seed = getattr(config, "workerinput", {}).get("order_seed", drawn)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["order_seed"] = node.config.option.order_seed


def pytest_report_header(config: pytest.Config) -> str:
    return _order(config)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        terminalreporter.write_line(_order(config))


def _order(config: pytest.Config) -> str:
    return f"order of the tests: --order-seed {config.option.order_seed}"


def _leave_most_cases(items: list[pytest.Item]) -> None:
    """Marks the cases as long that `quick_cases` does not choose."""
    by_function: dict[tuple[Path, str, int], list[pytest.Item]] = {}
    for item in items:
        chosen = item.get_closest_marker("quick_cases")
        if chosen and not item.get_closest_marker("long"):
            key = item.path, item.name.partition("[")[0], chosen.args[0]
            by_function.setdefault(key, []).append(item)
    for (_, _, n), cases in by_function.items():
        quick = {round(k * (len(cases) - 1) / max(n - 1, 1)) for k in range(n)}
        for number, case in enumerate(cases):
            if number not in quick:
                case.add_marker(pytest.mark.long)


@pytest.hookimpl(tryfirst=True)  # then those of one fixture come together
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks cases as long that `quick_cases` does not choose; shuffles files, and the tests of
    each."""
    _leave_most_cases(items)
    if config.option.order_seed:
        dice = random.Random(config.option.order_seed)
        places = {path: dice.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (places[item.path], dice.random()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Forks of this process, and collections in it, leave alone what lasts as long as it does."""
    sys.dont_write_bytecode = _DO_NOT_WRITE
    gc.collect()
    gc.freeze()
    _core.join_pages()  # a fork takes half the time


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files; skips where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FORKRUN_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} does not exist (set FORKRUN_TEST_DATA)")
    return folder


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the user's cache of indexes, nor do fixtures that tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORKRUN_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(autouse=True)
def _other_tests_are_no_part_of_a_program(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of hundreds of modules that pytest has collected would be handed over to each job, and
    imported by it: the modules of a folder are attributes of its package."""
    is_other = re.compile(r"(.*\.)?(test_\w+|conftest)").fullmatch

    def own_modules() -> Iterator[ModuleType]:
        for module in all_own_modules():
            is_folder = f"{module.__name__}.".startswith("tests.") and hasattr(module, "__path__")
            if module is request.module or not (is_folder or is_other(module.__name__)):
                yield module

    monkeypatch.setattr(state, "own_modules", own_modules)


@pytest.fixture(autouse=True)
def _served_jobs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that tests run from Python, and workers that read files for them, are served as commands
    are, but where a process that Python starts for them is what is tested."""
    if request.node.get_closest_marker("own_process"):
        monkeypatch.setattr(serving, "is_deep", False)
        return
    run, start = api._run, helper.start_worker

    def run_job(clean: CleanCommand, descriptors: Sequence[int]) -> int:
        is_served = _is_alone() and not in_notebook()
        return (run_served if is_served else run)(clean, descriptors)

    def start_worker(module: str, errors: int) -> Any:
        return (start_served_worker if _is_alone() else start)(module, errors)

    monkeypatch.setattr(api, "_run", run_job)
    monkeypatch.setattr(helper, "start_worker", start_worker)


def _is_alone() -> bool:
    return threading.current_thread() is threading.main_thread()
