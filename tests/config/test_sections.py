"""Each section of a configuration: bounds, forms, and what its keys need of each other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from forkrun.base.input_files.same_files import find_repeated
from forkrun.config import choices as auto_children
from forkrun.config.choices import children_for, with_children
from forkrun.config.conditions import LAST, first_of, iov_problems, last_of
from forkrun.config.datasets import read_fileset, with_datasets
from forkrun.config.model import JobConfig
from forkrun.config.problems import dotted
from forkrun.config.read import apply_setting, default_config, validate, with_labels
from forkrun.errors import ConfigError


def problems_of(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        validate(raw, "job")
    return [problem.removeprefix("job: ") for problem in caught.value.problems]


def nested(key: str, value: Any) -> dict[str, Any]:
    section, name = key.split(".")
    return {section: {name: value}}


@pytest.mark.parametrize(
    ("key", "most", "problem"),
    [
        ("forking.children", 10_000, "at most 10,000: each child is a process of this one machine"),
        ("threads.per_child", 4096, "at most 4,096: each is a thread of one process, with blocks"),
        ("threads.block_size", 10**9, "at most 1,000,000,000: the columns of a block lie in"),
        ("threads.concurrent_blocks", 10_000, "at most 10,000: each has products of its own"),
        ("threads.concurrent_lumis", 10_000, "at most 10,000: each has products of its own"),
        ("threads.concurrent_iovs", 10_000, "at most 10,000: each has products of its own"),
        ("monitoring.trace_calls", 10**8, "at most 100,000,000: each child keeps them in its"),
        ("monitoring.sampling_interval_s", 86_400.0, "at most 86,400: a day; without samples"),
        ("source.max_events", 2**63 - 1, "entries of files are counted in 63 bits"),
        ("limits.memory", 2**63 - 1, "addresses have 63 bits"),
        ("limits.walltime", 10**9, "at most 1,000,000,000: that is 31 years; leave the limit out"),
        ("batch.more_memory", 100.0, "at most 100: a hundred times what was asked for"),
    ],
)
def test_a_number_beyond_its_bound_is_refused_with_the_reason(
    key: str, most: float, problem: str
) -> None:
    validate(nested(key, most), "job")
    (said,) = problems_of(nested(key, most + 1))
    assert said.startswith(f"{key}: ")
    assert problem in said


@pytest.mark.parametrize(
    ("key", "least", "below"),
    [
        ("forking.children", 0, -1),
        ("forking.events_per_turn", 1, 0),
        ("threads.per_child", 1, 0),
        ("monitoring.sampling_interval_s", 0.01, 0.009),
        ("monitoring.sampling_cost", 1.0, 1.1),
        ("monitoring.sampling_cost", 0.001, 0.0),
        ("job.seed", 0, -1),
        ("job.seed", 2**64 - 1, 2**64),
        ("job.luminosity", 0.1, 0.0),
        ("batch.more_time", 1.0, 0.9),
        ("batch.retries", 0, -1),
    ],
)
def test_a_number_below_its_bound_is_refused(key: str, least: float, below: float) -> None:
    validate(nested(key, least), "job")
    (said,) = problems_of(nested(key, below))
    assert said.startswith(f"{key}: should be ")


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("limits.walltime", "07:45:00", 27_900.0),
        ("limits.walltime", "1h30m", 5400.0),
        ("limits.memory", "16 GB", 16_000_000_000),
        ("forking.recycle_memory", "500 MiB", 500 * 2**20),
        ("batch.publish_every", "2 min", 120.0),
    ],
)
def test_sizes_and_times_have_units(key: str, value: str, read: float) -> None:
    section, name = key.split(".")
    assert getattr(getattr(validate(nested(key, value), "job"), section), name) == read


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"batch": {"setup": ["a\nb"]}}, "batch.setup: write one line in each text"),
        (
            {"batch": {"stage_in": "cp {source}", "scratch": "/tmp"}},
            "batch.stage_in: write {target} where the command needs it",
        ),
        (
            {"batch": {"stage_out": "cp"}},
            "batch.stage_out: write {source} and {name} where the command needs it",
        ),
        (
            {"batch": {"stage_in": "cp {source} {target}"}},
            "batch: stage_in copies to scratch: name that as well",
        ),
        ({"batch": {"partition": "two words"}}, "batch.partition: 'two words' is not of the form"),
        ({"source": {"friends": [{"prefix": "1"}]}}, "source.friends[0].prefix: '1' is not of the"),
        ({"source": {"branches": {"fill": {}}}}, "should have at least 1 item"),
        ({"source": {"collections": ["{collection}"]}}, "source.collections[0]: '{collection}'"),
        ({"threads": {"unpack": "eager"}}, "threads.unpack: unknown key: columns of LCIO are made"),
        ({"threads": {"executor": "thread"}}, "executor: should be 'serial', 'tbb' or 'dispatch'"),
        ({"threads": {"executor": "tbp"}}, "'serial', 'tbb' or 'dispatch'; did you mean \"tbb\"?"),
        ({"merge": {"order": "lumi"}}, "merge.order: this key has been replaced; write source."),
        ({"outputs": [{"label": "a", "compression": "zstd:10"}]}, "'zstd:10' is not of the form"),
        ({"conditions": [{"label": "a", "type": "csv"}]}, "'csv' is not of the form npz, npy, "),
    ],
)
def test_a_wrong_form_is_named_with_what_is_right(raw: dict[str, Any], problem: str) -> None:
    assert problem in "\n".join(problems_of(raw))


def test_more_problems_than_a_person_reads_are_cut() -> None:
    raw = {"modules": [{"label": f"m{n}", "type": "x"} for n in range(150)]}
    problems = problems_of(raw)
    assert len(problems) == 101
    assert problems[-1] == "and more; these are the first"


# --- modules --------------------------------------------------------------------------------------

FUNCTION = {"label": "m", "type": "python:m.py:f"}
EXPRESSION = {"label": "m", "type": "expression:nMuon > 1"}
AXES = [{"bins": 5, "low": 0.0, "high": 1.0}]


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        ({**FUNCTION, "consumes": ["x"]}, "consumes: for functions and expressions, which have"),
        ({"label": "m", "type": "cpp:M", "axes": AXES}, "axes: for functions and expressions"),
        ({**EXPRESSION}, 'an expression needs kind = "filter", "producer" or "histogram"'),
        ({**EXPRESSION, "kind": "filter", "weight": 2.0}, 'weight: for modules of kind = "histo'),
        ({**EXPRESSION, "kind": "histogram"}, "a histogram needs axes = [{ bins = 50, low = 0"),
        ({**FUNCTION, "kind": "filter", "replaces": ["x"]}, "replaces, variations and variation"),
        (
            {**FUNCTION, "kind": "producer", "replaces": ["x"], "variation": "nominal"},
            '"nominal" is reserved and cannot name a variation',
        ),
        (
            {**FUNCTION, "kind": "producer", "variation": "jes_up"},
            'variation = "jes_up" goes with replaces, and without variations',
        ),
        (
            {**FUNCTION, "instances": "per_block"},
            "concurrency, instances and resources are for C++ modules",
        ),
        ({**FUNCTION, "params": {"x": float("inf")}}, "number that is not finite"),
    ],
)
def test_keys_of_a_module_fit_its_kind(module: dict[str, Any], problem: str) -> None:
    assert problem in "\n".join(problems_of({"modules": [module]}))


def test_a_label_follows_from_the_type_where_that_is_clear() -> None:
    modules = [
        {"type": "python:m.py:Muons"},
        {"type": "cpp:lib::Jets"},
        {"type": "python:a.py:Twice"},
        {"type": "python:b.py:Twice"},
        {"type": "expression:a ? b : c"},
        {"label": "named", "type": "python:m.py:Other"},
        {"type": "python:c.py:named"},
    ]
    labels = [module.get("label") for module in with_labels({"modules": modules})["modules"]]
    assert labels == ["Muons", "Jets", None, None, None, "named", None]
    assert with_labels({"modules": "x"}) == {"modules": "x"}


def test_a_place_is_shown_with_its_label() -> None:
    raw = {"modules": [{}, {"label": "dimuon"}]}
    assert (
        dotted(("modules", 1, "axes", 0, "low"), raw) == 'modules[1].axes[0].low (label "dimuon")'
    )
    assert dotted(("modules", 0, "type"), raw) == "modules[0].type"
    assert dotted(("modules", 7), raw) == "modules[7]"
    assert dotted(("forking", "children"), raw) == "forking.children"


# --- conditions -----------------------------------------------------------------------------------


def test_bounds_are_runs_or_lumis() -> None:
    assert (first_of("273150"), first_of("273150:7")) == ((273150, 0), (273150, 7))
    assert (last_of("273150"), last_of("273150:7")) == ((273150, LAST), (273150, 7))
    assert last_of(None) == (LAST, LAST)


@pytest.mark.parametrize(
    ("iovs", "problems"),
    [
        ([("1", "4"), ("5", None)], []),
        ([("5", None), ("1", None)], []),
        ([("1:3", "1:9"), ("1:10", None)], []),
        ([("4", "3")], [((0, "until"), "ends (3) before it begins (4)")]),
        ([("4:9", "4:8")], [((0, "until"), "ends (4:8) before it begins (4:9)")]),
        (
            [("1", None), (1, None)],
            [((1, "since"), "iovs[0] begins at 1, too; a lumi lies in one interval only")],
        ),
        (
            [("1", "5"), ("5", None)],
            [
                (
                    (1, "since"),
                    "begins at 5, before the end of iovs[0] (1 until 5); a lumi lies in one"
                    " interval"
                    " only: end that one earlier, or leave out its `until`",
                )
            ],
        ),
        ([("x", "5"), ("5", "1:2:3")], []),
    ],
)
def test_intervals_neither_overlap_nor_end_before_they_begin(
    iovs: list[tuple[Any, Any]], problems: list[Any]
) -> None:
    tables = [{"since": since, **({"until": until} if until else {})} for since, until in iovs]
    assert list(iov_problems(tables)) == problems


def test_an_index_of_intervals_replaces_files_and_intervals() -> None:
    condition = {"label": "a", "type": "npz", "index": "i.toml", "file": "a.npz"}
    (said,) = problems_of({"conditions": [condition]})
    assert said == (
        'conditions[0].file (label "a"): the index file has the files and intervals; leave out file'
    )


def test_each_interval_of_a_condition_without_a_file_needs_one() -> None:
    iovs = [{"since": 1, "until": 2, "file": "a.npz"}, {"since": 3}]
    (said,) = problems_of({"conditions": [{"label": "a", "type": "npz", "iovs": iovs}]})
    assert said == ('conditions[0].iovs[1].file (label "a"): a condition of type npz needs a file')


# --- children -------------------------------------------------------------------------------------


def test_children_use_all_cpus_with_their_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_children, "usable_cpus", lambda: 12)
    assert [children_for(n) for n in (0, 1, 5, 12, 99)] == [12, 12, 2, 1, 1]
    assert with_children({"threads": {"per_child": 3}})["forking"] == {"children": 4}
    assert with_children({"forking": {"children": "auto"}})["forking"] == {"children": 12}
    assert with_children({"threads": {"per_child": "x"}})["forking"] == {"children": 12}
    assert with_children({"forking": {"children": 2}}) == {"forking": {"children": 2}}
    assert with_children({"forking": 3}) == {"forking": 3}


@pytest.mark.parametrize("distribution", ["contiguous", "round-robin"])
def test_what_follows_from_the_number_of_children_needs_one(distribution: str) -> None:
    (said,) = problems_of({"forking": {"distribution": distribution}})
    assert f'forking.children: give a number: with distribution = "{distribution}"' in said


# --- datasets -------------------------------------------------------------------------------------


def test_datasets_give_files_tree_weights_and_what_is_carried() -> None:
    datasets = [{"name": "dy", "files": ["a", "b"], "tree": "T"}, {"name": "data", "files": "c"}]
    outputs = [{"label": "skim"}, {"label": "all", "datasets": "together"}]
    raw = with_datasets({"datasets": datasets, "job": {"luminosity": 3.0}, "outputs": outputs})
    assert raw["source"] == {"tree": "T", "files": ["a", "b", "c"]}
    assert [module["label"] for module in raw["modules"]] == ["lumi_weight"]
    assert [output["datasets"] for output in raw["outputs"]] == ["apart", "together"]
    one = with_datasets({"datasets": datasets, "source": {"datasets": "data"}})
    assert one["source"]["files"] == ["c"]
    assert "outputs" not in one
    assert one["modules"] == []


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"datasets": [{"name": "a"}, {"name": "a"}]}, 'there are two datasets "a"'),
        (
            {"datasets": [{"name": "ttbar"}], "source": {"datasets": ["ttbat"]}},
            'source.datasets: no dataset "ttbat"; did you mean "ttbar"?',
        ),
        (
            {"datasets": [{"name": "a", "tree": "S"}, {"name": "b", "tree": "T"}]},
            "one job reads one tree, not S, T; make a job for each",
        ),
    ],
)
def test_datasets_that_do_not_fit_together_are_refused(raw: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        with_datasets(raw)


def test_a_fileset_of_coffea_is_read_relative_to_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "fileset.json"
    fileset = {
        "dy": {"files": {"a.root": "T", "/b.root": "T"}, "metadata": {"xsec": 3.5, "era": "B"}},
        "data": {"files": {"c.root": {"object_path": "T"}}, "metadata": {"isData": True}},
        "plain": ["root://host//d.root"],
    }
    file.write_text(json.dumps(fileset))
    dy, data, plain = read_fileset(str(file))
    assert dy == {
        "name": "dy", "files": [f"{tmp_path}/a.root", "/b.root"], "tree": "T", "cross_section": 3.5,
        "metadata": {"xsec": 3.5, "era": "B"},
    }  # fmt: skip
    assert (data["is_data"], data["tree"]) == (True, "T")
    assert (plain["files"], plain["tree"]) == (["root://host//d.root"], None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not a fileset"),
        ("{}", "is not a fileset"),
        ('{"a": {"files": 3}}', '"a" has no list of files of one tree'),
        ('{"a": {"files": {"x": "S", "y": "T"}}}', '"a" has no list of files of one tree'),
    ],
)
def test_a_wrong_fileset_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "fileset.json"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_fileset(str(file))
    assert problem in str(caught.value)


def test_a_fileset_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"cannot read {tmp_path}/none.json: No such file"):
        read_fileset(str(tmp_path / "none.json"))


# --- settings and files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("modules.x.type", '--set modules.x: nothing has the label "x"; there are "m"'),
        ("modules.1.type", '--set modules.1: nothing has the label "1"'),
        ("job.name.first", "--set job.name.first: job.name has no keys"),
        ("job.name.first.letter", "--set job.name.first: this is a value and has no keys"),
    ],
)
def test_a_setting_that_leads_nowhere_is_refused(key: str, problem: str) -> None:
    raw = {"modules": [{"label": "m", "type": "cpp:M"}], "job": {"name": "a"}}
    with pytest.raises(ConfigError) as caught:
        apply_setting(raw, key, 3)
    assert str(caught.value).startswith(problem)


def test_a_setting_names_members_of_lists_by_number_too() -> None:
    raw: dict[str, Any] = {"modules": [{"label": "m", "type": "cpp:M"}]}
    apply_setting(raw, "modules.0.params.cut", 3)
    apply_setting(raw, "forking.children", 4)
    assert raw["modules"][0]["params"] == {"cut": 3}
    assert raw["forking"] == {"children": 4}


def test_a_job_without_a_file_has_defaults_and_settings() -> None:
    assert default_config() == JobConfig()
    assert default_config([("threads.per_child", 2)]).threads.per_child == 2
    with pytest.raises(ConfigError, match=r"^command line: threads.per_child: should be greater"):
        default_config([("threads.per_child", 0)])


def test_files_are_the_same_by_name_link_or_content(tmp_path: Path) -> None:
    a, b, c, link = (tmp_path / name for name in ("a", "b", "c", "link"))
    content = b"x" * 1000 + b"y" * (3 << 20)
    a.write_bytes(content)
    b.write_bytes(content)
    c.write_bytes(content[:-1] + b"z")
    link.symlink_to(a)
    files = [*map(str, (a, b, c, link)), "root://h/1", "root://h/2", "root://h/1"]
    assert list(find_repeated(files)) == [
        (str(a), str(b)), (str(a), str(link)), ("root://h/1", "root://h/1")
    ]  # fmt: skip
