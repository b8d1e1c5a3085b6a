"""An audit of the public calls: every argument is given every kind of value. It is used, or refused
with its name and what it takes; none is passed over. A new argument fails until it is in the table,
and a key of the configuration is given every kind by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import hist
import numpy as np
import pytest

import forkrun
from forkrun.config.model import JobConfig
from forkrun.config.read import validate
from forkrun.config.section import Section
from tests.analysis.objects_file import write_objects
from tests.support.jobs import environment
from tests.support.kinds import (
    CODE,
    FILE,
    FILES,
    FUNCTIONS,
    KINDS,
    NAMES,
    PATHS,
    TEXTS,
    Cut,
    Sums,
    Twice,
    two_muons,
)

QUIET: dict[str, Any] = {"quiet": True, "plots": False}


class Argument(NamedTuple):
    """`give`: a call with the value; `takes`: kinds, others are refused by `name`."""

    give: Callable[[Any], Any]
    takes: Collection[str]
    name: str = ""


def job() -> forkrun.Job:
    return forkrun.Job(FILE)


def run(**options: Any) -> Any:
    return job().hist("MET_pt", (5, 0, 100)).run(**{"children": 0, **QUIET, **options})


def booking(name: Any = "h", histogram: Any = KINDS["histogram"], sparse: Any = False) -> Any:
    return Sums().book(name, histogram, sparse=sparse)


def merging(**given: Any) -> Any:
    return forkrun.merge_files(**{"inputs": FILE, "output": "merged.root", **given})


def submitting(**given: Any) -> Any:
    return job().hist("MET_pt", (5, 0, 100)).submit(**{"dry_run": True, "quiet": True, **given})


SUBMISSION = forkrun.Submission(Path("none"))
RESULT = forkrun.Result(Path("none"), {}, None, {})
ARGUMENTS: dict[str, Argument] = {
    "Job.files": Argument(lambda v: forkrun.Job(v), (*FILES, "dict", "numbers")),
    "Job.tree": Argument(lambda v: forkrun.Job(FILE, tree=v), TEXTS),
    "Job.name": Argument(lambda v: forkrun.Job(FILE, name=v), TEXTS),
    "Job.friends": Argument(lambda v: forkrun.Job(FILE, friends=v).config, ()),
    "Job.path.name": Argument(lambda v: job().path(v), TEXTS),
    "Job.filter.what": Argument(lambda v: job().filter(v), (*CODE, "none", "filter")),
    "Job.filter.label": Argument(lambda v: job().filter("nMuon", label=v), (*TEXTS, "none")),
    "Job.define.name": Argument(lambda v: job().define(v, "MET_pt"), (*TEXTS, "none")),
    "Job.define.what": Argument(lambda v: job().define("x", v), CODE),
    "Job.redefine.name": Argument(lambda v: job().redefine(v, "MET_pt"), (*TEXTS, "none")),
    "Job.redefine.what": Argument(lambda v: job().redefine("MET_pt", v), CODE),
    "Job.redefine.on_data": Argument(
        lambda v: job().redefine("MET_pt", "2 * MET_pt", on_data=v), ("true",)
    ),
    "Job.vary.on_data": Argument(
        lambda v: job().vary("MET_pt", "jes", up="MET_pt", on_data=v), ("true",)
    ),
    "Job.vary.column": Argument(lambda v: job().vary(v, "jes", up="MET_pt"), NAMES),
    "Job.vary.variation": Argument(lambda v: job().vary("MET_pt", v, up="MET_pt"), TEXTS),
    "Job.vary.directions": Argument(lambda v: job().vary("MET_pt", "jes", up=v), CODE, "up"),
    "Job.producer.what": Argument(
        lambda v: job().producer(v, label="x"), (*FUNCTIONS, "none", "producer")
    ),
    "Job.producer.label": Argument(lambda v: job().producer(Twice, label=v), (*TEXTS, "none")),
    "Job.analyzer.what": Argument(
        lambda v: job().analyzer(v, label="x"), (*FUNCTIONS, "none", "analyzer")
    ),
    "Job.analyzer.label": Argument(lambda v: job().analyzer(Sums, label=v), (*TEXTS, "none")),
    "Job.hist.what": Argument(
        lambda v: job().hist(v, (5, 0, 100), name="h"),
        (*CODE, "triple", "dict", "axis", "numbers"),  # as a decorator these are axes
    ),
    "Job.hist.axes": Argument(
        lambda v: job().hist("MET_pt", v, name="h").config, ("triple", "axis"), "axis"
    ),
    "Job.hist.name": Argument(
        lambda v: job().hist("MET_pt", (5, 0, 100), name=v), (*TEXTS, "none")
    ),
    "Job.hist.weight": Argument(
        lambda v: job().hist("MET_pt", (5, 0, 100), weight=v),
        (*CODE, "none", "integer", "negative", "float", "numpy"),
    ),
    "Job.output.label": Argument(lambda v: job().output(v), TEXTS),
    "Job.add.what": Argument(lambda v: job().add(v), TEXTS),
    "Job.add.label": Argument(lambda v: job().add("cpp:A", label=v), (*TEXTS, "none")),
    "Job.add.concurrency": Argument(
        lambda v: job().add("cpp:A", concurrency=v), (*TEXTS, "none", "integer", "negative")
    ),
    "Job.add.instances": Argument(lambda v: job().add("cpp:A", instances=v), (*TEXTS, "none")),
    "Job.add.resources": Argument(lambda v: job().add("cpp:A", resources=v), NAMES),
    "Job.add.replaces": Argument(lambda v: job().add("cpp:A", replaces=v), NAMES),
    "Job.columns.patterns": Argument(lambda v: job().columns(v), TEXTS, "pattern"),
    "Job.run.children": Argument(lambda v: run(children=v), ("none", "integer")),
    "Job.run.threads": Argument(lambda v: run(threads=v), ("none", "integer")),
    "Job.run.output": Argument(lambda v: run(output=v), (*PATHS, "none")),
    "Job.run.force": Argument(lambda v: run(force=v), ("true",)),
    "Job.run.quiet": Argument(lambda v: run(quiet=v), ("true",)),
    "Job.run.plots": Argument(lambda v: run(plots=v), ("true", "none")),
    "Job.run.explain": Argument(lambda v: run(explain=v), ("true",)),
    "Job.check.strict": Argument(lambda v: job().check(strict=v), ("true",)),
    "Job.check.blocks": Argument(lambda v: job().check(blocks=v), ("true",)),
    "Job.submit.on": Argument(lambda v: submitting(on=v), ("none",)),
    "Job.submit.nodes": Argument(lambda v: submitting(nodes=v), ("none", "integer")),
    "Job.submit.events_per_node": Argument(
        lambda v: submitting(events_per_node=v), ("none", "integer")
    ),
    "Job.submit.time_per_node": Argument(
        lambda v: submitting(time_per_node=v), (*TEXTS, "none")
    ),
    "Job.submit.profile": Argument(lambda v: submitting(profile=v), (*TEXTS, "none")),
    "Job.submit.output": Argument(lambda v: submitting(output=v), (*PATHS, "none")),
    "Job.submit.merge": Argument(lambda v: submitting(merge=v), ("true",)),
    "Job.submit.extend": Argument(lambda v: submitting(extend=v), ("true",)),
    "Job.submit.new_code": Argument(lambda v: submitting(new_code=v), ("true",)),
    "Job.submit.dry_run": Argument(lambda v: submitting(dry_run=v), ("true",)),
    "Job.submit.quiet": Argument(lambda v: submitting(quiet=v), ("true",)),
    "Submission.read.run_directory": Argument(lambda v: forkrun.Submission.read(v), PATHS),
    "Submission.resubmit.nodes": Argument(
        lambda v: SUBMISSION.resubmit(v), ("none", "triple")
    ),
    "Submission.resubmit.on": Argument(
        lambda v: SUBMISSION.resubmit(on=v), (*TEXTS, "none")
    ),
    "Submission.resubmit.quiet": Argument(lambda v: SUBMISSION.resubmit(quiet=v), ("true",)),
    "Submission.wait.timeout_s": Argument(
        lambda v: SUBMISSION.wait(v), ("none", "integer", "float")
    ),
    "Submission.wait.quiet": Argument(lambda v: SUBMISSION.wait(quiet=v), ("true",)),
    "Submission.collect.quiet": Argument(lambda v: SUBMISSION.collect(quiet=v), ("true",)),
    "Submission.kill.nodes": Argument(lambda v: SUBMISSION.kill(v), ("none", "triple")),
    "LoadedJob.run.cluster": Argument(
        lambda v: forkrun.load("job.toml").run(cluster=v), ("none",)
    ),
    "LoadedJob.run.nodes": Argument(lambda v: forkrun.load("job.toml").run(nodes=v), ("none",)),
    "Result.read.run_directory": Argument(lambda v: forkrun.Result.read(v), PATHS),
    "RunningJob.run_directory": Argument(lambda v: forkrun.RunningJob(v), PATHS),
    "Result.output.label": Argument(lambda v: RESULT.output(v), TEXTS),
    "Result.output.dataset": Argument(lambda v: RESULT.output("x", v), (*TEXTS, "none")),
    "Result.lumis.dataset": Argument(lambda v: RESULT.lumis(v), (*TEXTS, "none")),
    "Result.plot.name": Argument(lambda v: RESULT.plot(v), TEXTS),
    "load.file": Argument(lambda v: forkrun.load(v), PATHS, "file"),
    "merge_files.inputs": Argument(lambda v: merging(inputs=v), FILES),
    "merge_files.output": Argument(lambda v: merging(output=v), PATHS),
    "merge_files.trees": Argument(lambda v: merging(trees=v), (*NAMES, "none")),
    "merge_files.compression": Argument(lambda v: merging(compression=v), (*TEXTS, "none")),
    "merge_files.force": Argument(lambda v: merging(force=v), ("true",)),
    "merge_files.keep_first": Argument(lambda v: merging(keep_first=v, force=True), ("true",)),
    "merge_files.verify": Argument(lambda v: merging(verify=v, force=True), ("true",)),
    "merge_files.recluster": Argument(lambda v: merging(recluster=v), ()),
    "merge_files.format": Argument(lambda v: merging(format=v, force=True), ("none",)),
    "merge_files.fields": Argument(lambda v: merging(fields=v, force=True), ()),
    "merge_files.needs_checksums": Argument(
        lambda v: merging(needs_checksums=v, force=True), ("true",)
    ),
    "Analyzer.book.name": Argument(lambda v: booking(name=v), TEXTS),
    "Analyzer.book.histogram": Argument(lambda v: booking(histogram=v), ("histogram", "boost")),
    "Analyzer.book.sparse": Argument(lambda v: booking(sparse=v), ("true",)),
    "Analyzer.accumulate.name": Argument(lambda v: Sums().accumulate(v, 1), TEXTS),
    "Analyzer.accumulate.value": Argument(
        lambda v: Sums().accumulate("x", v),
        ("true", "integer", "negative", "float", "numpy", "nan", "array", "awkward", "set", "dict",
         "texts", "numbers", "triple"),
        "accumul",
    ),
}  # fmt: skip
"""Each argument that takes several kinds, or could be given another by mistake."""
NOT_TRIED = {
    "params": "of a function or class, checked against its annotations; see the test below",
    "given": "histograms, and `params`",
    "how": "keywords of Job.submit",
    "look": "of plots: tests/histograms/test_plots.py",
    "sections": "checked as the configuration is, key by key, below",
    "keys": "those of [[outputs]], checked as the configuration is",
    "events": "what forkrun calls the user's method with",
    "progress": "a function, of the command line", "note": "a function, of the command line",
    "note_fields": "a function, of the command line",
    "contained": "a function, of the command line",
    "args": "of values that forkrun makes itself", "kwargs": "of values that forkrun makes itself",
}  # fmt: skip
OF_BLOCKS_AND_CONDITIONS = (
    "EventBlock", "BinnedTable", "ConditionsProvider", "OnnxModel", "Iov", "Producer", "Filter",
)  # fmt: skip
"""What forkrun makes and gives to modules: tests/modules, tests/conditions."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("audit")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
        write_objects(made / FILE)
        (made / "job.toml").write_text(job().hist("MET_pt", (5, 0, 100)).to_toml())
        yield made


def public() -> Iterator[str]:
    for name in forkrun.__all__:
        found = getattr(forkrun, name)
        if not inspect.isclass(found):
            yield from (f"{name}.{parameter}" for parameter in parameters(found))
        elif not issubclass(found, Exception) and name not in OF_BLOCKS_AND_CONDITIONS:
            for method, function in inspect.getmembers(found, inspect.isroutine):
                if str(getattr(function, "__module__", "")).startswith("forkrun"):
                    call = name if method == "__init__" else f"{name}.{method}"
                    if method == "__init__" or not method.startswith("_"):
                        yield from (f"{call}.{each}" for each in parameters(function))


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def test_the_table_has_every_public_argument() -> None:
    wanted = {name for name in public() if name.rpartition(".")[2] not in NOT_TRIED}
    same = {f"LoadedJob.{name}" for name in (
        "run.children", "run.threads", "run.output", "run.force", "run.quiet", "run.plots",
        "run.explain",
        "check.strict", "check.blocks", "columns.patterns", "submit.on",
    )}  # fmt: skip
    assert wanted - same == ARGUMENTS.keys()


@pytest.mark.parametrize("argument", [a for a in ARGUMENTS if a != "LoadedJob"])
def test_every_other_kind_is_refused_by_name(folder: Path, argument: str) -> None:
    give, takes, name = ARGUMENTS[argument]
    for kind in KINDS.keys() - set(takes):
        try:
            give(KINDS[kind])
        except (forkrun.ForkrunError, TypeError, ValueError) as refusal:
            error = refusal
        else:
            pytest.fail(f"{argument} takes {kind}: {KINDS[kind]!r}")
        words = name or argument.rpartition(".")[2]
        assert words in str(error), f"{kind}: {error!r}"


@pytest.mark.slow
def test_every_kind_that_is_taken_is_used(folder: Path) -> None:
    """MET is 0, 10, … 50 GeV."""
    job = forkrun.Job(FILE)
    for number, cut in enumerate([*(KINDS[kind] for kind in FUNCTIONS[:2]), Cut, "MET_pt > 15"]):
        path = job.path(f"path{number}")
        path.filter(cut, label=f"cut{number}")
        path.hist("MET_pt", (1, 0, 100), name=f"left{number}")
    for name in ("above", "partly"):
        job.define(name, KINDS["function" if name == "above" else "partial"])
    job.define("five", "5").define("half", lambda block: block["MET_pt"] / 2)
    job.producer(Twice)
    job.producer(lambda block: {"thrice": 3 * block["MET_pt"]}, label="three")
    job.analyzer(Sums)
    job.analyzer(lambda block, h: h.fill(block["half"]), h=hist.Hist.new.Reg(1, 0, 11).Weight(),
                 label="fill")  # fmt: skip
    for name in ("above + partly", "half", "twice", "thrice", "five"):
        job.hist(name, (200, 0, 200), name=f"h_{name.split()[0]}")
    job.redefine("MET_phi", lambda block: block["MET_phi"] + 7)
    job.hist("MET_phi", (10, 0, 10))
    result = job.run(children="auto", force=True, output="used", **QUIET)
    found = result.histograms
    assert [found[f"left{number}"].sum().value for number in range(4)] == [4, 4, 4, 4]
    bins = {
        name: np.flatnonzero(found[f"h_{name}"].values()).tolist()
        for name in ("above", "half", "twice", "thrice", "five")
    }
    assert bins == {
        "above": [0, 2], "half": [0, 5, 10, 15, 20, 25], "twice": [0, 20, 40, 60, 80, 100],
        "thrice": [0, 30, 60, 90, 120, 150], "five": [5],
    }  # fmt: skip
    assert result.accumulators["Sums"]["met"] == 150
    assert found["h"].sum().value == 3
    assert np.flatnonzero(found["MET_phi"].values()).tolist() == [7]


@pytest.mark.parametrize(
    "files",
    [FILE, Path(FILE), [FILE], (Path(FILE),), np.array([FILE]), "obj*.root",
     Path().glob("obj*.root"), iter([FILE]), {"a": FILE}, {"a": [Path(FILE)]},
     {"a": {"files": Path(FILE)}}],
)  # fmt: skip
def test_files_of_every_kind_are_read(folder: Path, files: Any) -> None:
    files = Path().glob("obj*.root") if inspect.isgenerator(files) else files
    given = forkrun.Job(files).config.source.files
    assert [Path(file).stem[:3] for file in given] == ["obj"]


@pytest.mark.parametrize("files", [FILE, Path(FILE), [FILE], (Path(FILE),), iter([FILE])])
@pytest.mark.parametrize("trees", [None, "Events", ["Events"]])
def test_files_of_every_kind_are_merged(folder: Path, files: Any, trees: Any) -> None:
    files = [FILE] if not isinstance(files, str | Path | list | tuple) else files
    merged = forkrun.merge_files(files, Path("all.root"), trees, "zstd:1", force=True)
    assert merged == {"Events": 6}


@pytest.mark.parametrize(
    ("given", "taken"),
    [(np.float32(2.5), 2.5), (np.int16(3), 3), (np.arange(3), [0, 1, 2]), ((1, 2), [1, 2]),
     (Path("x"), "x"), ({"a": np.bool_(True)}, {"a": True}), (None, None), ([], [])],
)  # fmt: skip
def test_parameters_are_what_a_configuration_has(given: Any, taken: Any) -> None:
    job = forkrun.Job(FILE).path("p")
    job.filter(lambda block, cut: block["MET_pt"] > cut, label="f", cut=given)
    assert job._steps["f"].params == {"cut": taken}


@pytest.mark.parametrize("given", [{1, 2}, b"x", 1j, float("inf"), {1: 2}, object(), two_muons])
def test_other_parameters_are_refused(given: Any) -> None:
    with pytest.raises(forkrun.ConfigError, match="cut takes finite numbers"):
        forkrun.Job(FILE).filter(lambda block, cut: block["MET_pt"] > cut, label="f", cut=given)


TABLES: dict[tuple[str, ...], dict[str, Any]] = {
    ("source", "friends"): {},
    ("datasets",): {"name": "d", "files": ["x.root"]},
    ("conditions",): {"label": "c", "type": "python:m.py:Load"},
    ("conditions", "iovs"): {"since": "1"},
    ("conditions", "arrays"): {},
    ("modules",): {"label": "m", "type": "expression:x", "kind": "histogram", "axes": [{
        "bins": 5, "low": 0, "high": 1}]},
    ("modules", "axes"): {"bins": 5, "low": 0, "high": 1},
    ("outputs",): {"label": "o"},
}  # fmt: skip
"""What an entry of each list of tables, or of tables by name, has at least."""


def keys(model: type[Section], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.known_keys.items():
        inner = [k for k in (field.annotation, *get_args(field.annotation)) if inspect.isclass(k)]
        sections = [kind for kind in inner if issubclass(kind, Section)]
        if sections:
            yield from keys(sections[0], (*before, name))
        else:
            yield (*before, name)


def place(raw: Any, key: tuple[str, ...]) -> Any:
    """The table of a configuration, or of a part of it, that has this key: made where `raw` is a
    dictionary."""
    path: tuple[str, ...] = ()
    for section in key[:-1]:
        path = (*path, section)
        if not isinstance(raw, dict):
            raw = getattr(raw, section)
        elif path in TABLES:
            made = dict(TABLES[path])
            raw[section] = {"a": made} if path[-1] == "arrays" else [made]
            raw = made
            continue
        else:
            raw = raw.setdefault(section, {})
        raw = raw[0] if isinstance(raw, tuple) else raw["a"] if path[-1] == "arrays" else raw
    return raw


def test_each_list_of_tables_is_tried() -> None:
    tried = {key[:n] for key in keys(JobConfig) for n in range(1, len(key))}
    assert TABLES.keys() <= tried
    lists = [
        (name,)
        for name, key in JobConfig.known_keys.items()
        if inspect.isclass(item := (*get_args(key.annotation), None)[0])
        and issubclass(item, Section)
    ]
    assert len(lists) == 4
    assert {*lists} <= TABLES.keys()


JSON: dict[str, Any] = {
    "text": "x", "integer": 3, "negative": -1, "float": 2.5, "true": True, "null": None,
    "texts": ["x", "y"], "numbers": [1, 2], "nothing": [], "table": {"x": 1}, "tables": [{"x": 1}],
}  # fmt: skip


@pytest.mark.parametrize("key", list(keys(JobConfig)), ids=".".join)
def test_a_key_of_the_configuration_is_used_or_refused(key: tuple[str, ...]) -> None:
    for value in JSON.values():
        raw: dict[str, Any] = {"source": {"files": ["x.root"]}}
        place(raw, key)[key[-1]] = value
        try:
            config: Any = validate(raw, "job.toml")
        except forkrun.ConfigError as error:
            problem = str(error)
        else:
            problem, found = "", getattr(place(config, key), key[-1])
        assert key[-1] in problem or is_same(found, value), problem or f"{value!r} became {found!r}"


WRONG: list[dict[str, Any]] = [
    *({"datasets": [{"name": "d", "files": value}]} for value in (3, True, {"x": 1})),
    *({"source": {"datasets": value}} for value in (3, True, {"d": 1})),
    *({"source": {"tree": value}} for value in (3, ["x"])),
    *({name: 3} for name in ("source", "job", "merge", "modules")),
    {"modules": [3], "job": {"luminosity": 3}},
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_what_has_not_the_form_of_its_key_is_refused_beside_datasets(given: dict[str, Any]) -> None:
    raw = {"datasets": [{"name": "d", "files": ["x.root"]}], **given}
    with pytest.raises(forkrun.ConfigError, match=next(iter(given))):
        validate(raw, "job.toml")


def is_same(found: Any, given: Any) -> bool:
    if isinstance(found, tuple | list):
        return bool(list(found) == (given if isinstance(given, list) else [given]))
    if isinstance(found, Mapping):
        return bool(dict(found) == given)
    if isinstance(found, str) and type(given) is int:  # a run, as a bound of an interval
        return found == str(given)
    return bool(found == given) and isinstance(found, bool) == isinstance(given, bool)
