"""Configurations: what is read, what is refused and with which messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forkrun.config.choices import Distribution
from forkrun.config.model import JobConfig
from forkrun.config.read import parse_setting, read_config
from forkrun.errors import ConfigError


def write(folder: Path, text: str, name: str = "job.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def problems_of(file: Path, *settings: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_config(file, [parse_setting(s) for s in settings])
    return [p.removeprefix(f"{file}: ") for p in caught.value.problems]


def test_an_empty_file_gives_all_defaults(tmp_path: Path) -> None:
    assert read_config(write(tmp_path, "")) == JobConfig()


def test_json_and_toml_give_the_same_job(tmp_path: Path) -> None:
    toml = read_config(write(tmp_path, '[forking]\nchildren = 4\ndistribution = "contiguous"'))
    raw = json.dumps({"forking": {"children": 4, "distribution": "contiguous"}})
    assert read_config(write(tmp_path, raw, "job.json")) == toml
    assert toml.forking.distribution is Distribution.CONTIGUOUS


def test_the_resolved_configuration_reads_back_as_itself(tmp_path: Path) -> None:
    text = '[source]\nfiles = ["a.root"]\n[[modules]]\nlabel = "m"\ntype = "python:m.py:M"\n'
    config = read_config(write(tmp_path, text))
    again = write(tmp_path, json.dumps(config.as_json()), "config.json")
    assert read_config(again) == config


def test_every_problem_of_a_file_is_in_one_list(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        """
        [source]
        tre = "Events"
        [forking]
        children = "4"
        distribution = "lumis"
        [[modules]]
        label = "dimuon"
        type = "python:m.py:M"
        parms = {}
        [[modules]]
        label = "dimuon"
        type = "M"
        [paths]
        skim = ["dimuons"]
        [[outputs]]
        label = "events"
        paths = ["skin"]
        compression = "zstd"
        [[outputs]]
        label = "none"
        keep = []
        """,
    )
    assert problems_of(file) == [
        'source.tre: unknown key; did you mean "tree"?',
        "forking.children: should be a valid integer, not '4'",
        "forking.distribution: should be 'guided', 'lumi', 'round-robin' or 'contiguous';"
        ' did you mean "lumi"?',
        'modules[0].parms (label "dimuon"): unknown key; did you mean "params"?',
        'modules[1].type (label "dimuon"): \'M\' is not of the form "python:FILE.py:NAME",'
        ' "python:PACKAGE.MODULE:NAME", "cpp:CLASS" or "expression:EXPRESSION"',
        'outputs[0].compression (label "events"): \'zstd\' is not of the form "auto", "zstd:5",'
        ' "lz4:4", "zlib:1", "lzma:6" (levels 1 to 9) or "none"',
        'modules[1].label (label "dimuon"): the label "dimuon" is used 2 times',
        'paths.skim[0]: no module has the label "dimuons"; did you mean "dimuon"?',
        'outputs[0].paths[0] (label "events"): unknown path "skin"; did you mean "skim"?',
        'outputs[1].keep (label "none"): the output keeps nothing; keep = ["*"] keeps all',
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[job]\nname = 3", "job.name: should be a valid string, not 3"),
        ("[forking]\nchildren = -1", "forking.children: should be greater than or equal to 0"),
        ("[merge]\nenabled = 1", "merge.enabled: should be a valid boolean, not 1"),
        ("[[modules]]\nlabel = 'a'", 'modules[0].type (label "a"): this key is required'),
        ("modules = 3", "modules: should be a valid tuple"),
        ("[[conditions]]\nlabel = 'a'\ntype = 'npz'", "a condition of type npz needs a file"),
        ("[[modules]]\nlabel = 'a/b'\ntype = 'cpp:A'", "'a/b' is not of the form a letter"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    (said,) = problems_of(write(tmp_path, text))
    assert problem in said


def test_a_missing_file_and_wrong_syntax_are_said_with_the_file(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert problems_of(missing) == ["configuration file not found"]
    (problem,) = problems_of(write(tmp_path, "[job\n"))
    assert problem.startswith("not valid TOML: ")
    (problem,) = problems_of(write(tmp_path, "{", "job.json"))
    assert problem.startswith("not valid JSON: ")


def test_settings_replace_what_the_file_says(tmp_path: Path) -> None:
    text = '[forking]\nchildren = 2\n[[modules]]\nlabel = "m"\ntype = "cpp:M"\nparams = { a = 1 }'
    settings = ["forking.children=8", "forking.distribution=round-robin", "modules.m.params.a=2.5"]
    config = read_config(write(tmp_path, text), [parse_setting(s) for s in settings])
    assert config.forking.children == 8
    assert config.forking.distribution is Distribution.ROUND_ROBIN
    assert config.modules[0].params == {"a": 2.5}


def test_a_wrong_setting_is_said_to_be_of_the_command_line(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, ""), "forking.childen=8")
    assert problem == 'command line: forking.childen: unknown key; did you mean "children"?'


@pytest.mark.parametrize("text", ["forking.children", "=3", "job.name=[1"])
def test_a_setting_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_setting(text)


def test_paths_of_a_file_are_relative_to_its_folder_and_settings_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs").mkdir()
    file = write(
        tmp_path / "jobs",
        """
        [source]
        files = ["a.root", "/data/b.root", "root://host//c.root"]
        lumi_mask = "good.json"
        [[modules]]
        label = "m"
        type = "python:m.py:M"
        [[modules]]
        label = "n"
        type = "python:package.module:N"
        """,
    )
    monkeypatch.chdir(tmp_path)
    config = read_config(file, [parse_setting('source.list="list.txt"')])
    folder = tmp_path / "jobs"
    assert config.source.files == (f"{folder}/a.root", "/data/b.root", "root://host//c.root")
    assert config.source.lumi_mask == f"{folder}/good.json"
    assert config.source.list == f"{tmp_path}/list.txt"
    assert config.modules[0].type == f"python:{folder}/m.py:M"
    assert config.modules[1].type == "python:package.module:N"


def test_a_configuration_cannot_be_changed(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, ""))
    with pytest.raises(ValueError, match="frozen"):
        config.forking.children = 3
