"""The command that a report names is the one that was typed."""

from __future__ import annotations

import pytest

from forkrun.base.caller import caller_environment, command_of_user, file_of_job, typed


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/usr/bin/forkrun", "run", "a b.toml"], ["forkrun", "run", "a b.toml"]),
        (["/x/forkrun/__main__.py", "plan"], ["forkrun", "plan"]),
        (["my/analysis.py", "-n", "2"], ["python", "my/analysis.py", "-n", "2"]),
        (["/x/ipykernel_launcher.py", "-f", "/run/kernel-1.json"], ["notebook"]),
        ([""], ["python"]),
    ],
)
def test_a_command_is_as_a_person_types_it(argv: list[str], words: list[str]) -> None:
    assert typed(argv) == words


def test_a_clean_parent_names_the_command_and_file_of_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert file_of_job("own.toml") == "own.toml"
    given = caller_environment("analysis.py")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["/x/forkrun/__main__.py", "run", "/tmp/x/config.json"])
    assert file_of_job("/tmp/x/config.json") == "analysis.py"
    assert command_of_user() != ["forkrun", "run", "/tmp/x/config.json"]
