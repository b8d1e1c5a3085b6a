"""What shells and `man` get is made of the same parser as --help."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forkrun.cli.manual import man_page
from forkrun.cli.parser import COMMANDS
from tests.support.jobs import environment, forkrun

COMPLETED = """
eval "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
COMPREPLY=(); _shtab_forkrun; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_text() -> str:
    pytest.importorskip("shtab")
    command = [sys.executable, "-m", "forkrun", "completion", "bash"]
    return subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["forkrun", "res"], ["resume", "resubmit"]),
        (["forkrun", "run", "job.toml", "--chil"], ["--children"]),
        (["forkrun", "run", "job.toml", "--distribution", "gu"], ["guided"]),
        (["forkrun", "report", "one-r"], ["one-run"]),
    ],
)
def test_bash_completes_commands_options_values_and_folders(
    bash_text: str, tmp_path: Path, words: list[str], found: list[str]
) -> None:
    (tmp_path / "one-run").mkdir()
    done = subprocess.run(
        ["bash", "-c", COMPLETED, "bash", bash_text, *words], cwd=tmp_path, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert set(found) <= set(done.stdout.split())
    assert all(word.startswith(words[-1]) for word in done.stdout.split())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command(shell: str, tmp_path: Path) -> None:
    pytest.importorskip("shtab")
    ended = forkrun("completion", shell, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert [name for name in COMMANDS if name not in ended.out] == []


def test_the_man_page_has_every_command_and_option_of_the_help(tmp_path: Path) -> None:
    page = man_page().replace("\\-", "-")
    sections = page.split(".SS forkrun ")[1:]
    assert [section.split("\n")[0] for section in sections] == list(COMMANDS)
    ended = forkrun("run", "--help", cwd=tmp_path)
    options = {word.strip(",[]") for word in ended.out.split() if word.startswith(("--", "[--"))}
    run = next(section for section in sections if section.startswith("run\n"))
    assert {option for option in options if rf"\fB{option}\fR" not in run} <= {"--help", "--set"}


def test_the_man_page_is_set_without_a_warning() -> None:
    if shutil.which("groff") is None:
        pytest.skip("there is no groff")
    command = ["groff", "-man", "-Tutf8", "-ww", "-Kutf8"]
    done = subprocess.run(command, input=man_page(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in re.sub(".\b", "", done.stdout)
