"""The core driven from Python: modules of both languages on one schedule, for any executor."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.conditions import Conditions
from forkrun.errors import JobError
from forkrun.index.model import FileIndex
from forkrun.modules.base import Filter, Producer
from forkrun.modules.block import EventBlock
from forkrun.modules.loading import construct, find_class
from forkrun.modules.python_module import PythonModule
from tests.support.files import write_events
from tests.support.jobs import PATIENCE_S, ROOT, environment

TTBAR = "nanoAOD_2015_CMS_Open_Data_ttbar.root"
IDS = ("run", "luminosityBlock", "event")
Content = tuple[list[str], list[tuple[str, str]]]  # branches, new columns with their types
EXECUTORS = [("serial", 1), ("tbb", 1), ("tbb", 2), ("tbb", 4)]


class Job:
    """A file, its index, and a schedule in the making."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self.index = _core.index_tree(self.file, "Events", *IDS)
        self.ranges = FileIndex.from_json(self.file, self.index).ranges
        branches = self.index["branches"]
        self.columns = [(n, t) for n, t, _ in branches if not t.startswith("other:")]
        self.branches = [name for name, _, _ in branches]
        self.builder = _core.ScheduleBuilder(self.columns)
        self.contents: dict[str, Content] = {}

    def add_output(
        self, label: str, paths: list[str], branches: list[str], products: list[str]
    ) -> None:
        """What the builder is told, and which types the new columns have."""
        self.builder.add_output(label, paths, branches, products)
        kinds = dict(self.builder.produced_columns())
        self.contents[label] = branches, [(name, kinds[name]) for name in products]

    def add(self, label: str, module: PythonModule) -> None:
        self.builder.add_python_module(label, module.kind, module, module.consumes, module.produces)

    def source(self) -> _core.TreeSource:
        events = _core.EventSource(
            files=[self.file], tree="Events", ids=IDS, columns=self.columns,
            clusters=[self.index["clusters"]],
        )  # fmt: skip
        return _core.TreeSource(events)

    def run(
        self,
        executor: Any = "serial",
        threads: int = 1,
        block_size: int = 16,
        iovs: Sequence[int] = (),
        **out: Path,
    ) -> int:
        """All units in order; events read. `iovs`: those of the units, if not all are 0. Of each
        output in `out` the file is made from what its units have selected."""
        source = self.source()
        schedule = self.builder.compile()
        schedule.begin_job()
        processor = _core.Processor(schedule, source, settings(executor, threads, block_size))
        read = _core.EventDigest()
        for number, (run, lumi, first, last, _) in enumerate(self.ranges):
            outputs = {label: f"{path}.{number}" for label, path in out.items()}
            iov = iovs[number] if iovs else 0
            read += processor.process(number, run, lumi, [(0, first, last)], outputs, iov).read
        processor.finish()
        schedule.end_job()
        for label, path in out.items():
            fragments = [f"{path}.{number}" for number in range(len(self.ranges))]
            branches, products = self.contents[label]
            content = _core.OutputContent(
                branches=branches, products=products, compression="zstd:1", tree="Events"
            )
            output = _core.OutputToMake(
                fragments=[(number, [file]) for number, file in enumerate(fragments)],
                files=[(str(path), [])],
                content=content,
                n_events=read.count,
            )
            _core.make_outputs([output], source)
        return read.count


def settings(executor: Any, threads: int, block_size: int, units: int = 1) -> Any:
    """Settings of a processor with as many blocks in flight as threads."""
    return _core.ProcessorSettings(
        executor=executor,
        threads=threads,
        concurrent_blocks=threads,
        block_size=block_size,
        concurrent_units=units,
    )


def dimuon(language: str, **cuts: float) -> Callable[[Job], None]:
    """The shipped example in this language, with the same cuts."""

    def add(job: Job) -> None:
        for label, name in (("two", "TwoMuons"), ("mass", "DimuonMass")):
            if language == "cpp":
                job.builder.add_cpp_module(label, name, cuts)
            else:
                where = f"{ROOT / 'configs/modules.py'}:{name}"
                kind = find_class(where, label)
                job.add(label, construct(kind, cuts, Conditions.of_values({}), label))

    return add


@pytest.fixture(scope="session", autouse=True)
def _plugin() -> None:
    package = Path(_core.__file__).parent
    _core.load_plugin(str(package / "lib" / "libforkrun_modules.so"))


def plain(array: ak.Array) -> tuple[str, bytes, bytes]:
    """Type, numbers of values per event, values."""
    layout = ak.to_packed(array, highlevel=False)
    counts = np.diff(layout.offsets.data) if layout.is_list else np.empty(0)
    values = (layout.content if layout.is_list else layout).data
    return str(values.dtype), counts.tobytes(), values.tobytes()


def masses(muons: ak.Array) -> list[float]:
    """Mass of the two leading muons of each event, one by one; -1 where there are fewer."""
    found = []
    for event in ak.to_list(muons):
        if len(event) < 2:
            found.append(-1.0)
            continue
        (pt1, eta1, phi1), (pt2, eta2, phi2) = ((m["pt"], m["eta"], m["phi"]) for m in event[:2])
        angle = math.cosh(eta1 - eta2) - math.cos(phi1 - phi2)
        found.append(float(np.float32(math.sqrt(2.0 * pt1 * pt2 * angle))))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "executor", "threads"),
    [
        ("python", "tbb", 4),
        pytest.param("cpp", "serial", 1, marks=pytest.mark.long),
        pytest.param("python", "serial", 1, marks=pytest.mark.long),
        pytest.param("python", "tbb", 2, marks=pytest.mark.long),
        pytest.param("cpp", "tbb", 2, marks=pytest.mark.long),
        pytest.param("cpp", "tbb", 4, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    ("file", "paths", "n_events", "n_branches", "n_selected"),
    [
        (TTBAR, [], 200, 947, 200),
        pytest.param("nano_dimuon.root", ["skim"], 40, 1601, 22, marks=pytest.mark.long),
    ],
)
def test_all_branches_of_the_selected_events_are_written(
    real_data: Path,
    tmp_path: Path,
    file: str,
    paths: list[str],
    n_events: int,
    n_branches: int,
    n_selected: int,
    language: str,
    executor: str,
    threads: int,
) -> None:
    job = Job(real_data / file)
    assert len(job.branches) == n_branches
    dimuon(language, pt_min=3.0, eta_max=2.4)(job)
    job.builder.add_path("skim", ["two"])
    made = ["Dimuon_mass", "GoodMuon_pt"]
    job.add_output("events", paths, job.branches, made)
    assert job.run(executor, threads, events=tmp_path / "events.root") == n_events
    with uproot.open(job.file) as source, uproot.open(tmp_path / "events.root") as output:
        before, after = source["Events"], output["Events"]
        names = ("pt", "eta", "phi", "charge")
        muons = ak.zip({name: before[f"Muon_{name}"].array() for name in names})
        muons = muons[(muons.pt > 3) & (abs(muons.eta) < np.float64(2.4))]
        charge = ak.pad_none(muons.charge, 2)
        opposite = ak.to_numpy(ak.fill_none(charge[:, 0] * charge[:, 1] < 0, False))
        selected = opposite if paths else np.ones(n_events, dtype=bool)
        assert after.num_entries == np.count_nonzero(selected) == n_selected
        for name in job.branches:
            assert plain(after[name].array()) == plain(before[name].array()[selected]), name
        assert plain(after["GoodMuon_pt"].array()) == plain(muons.pt[selected])
        assert ak.to_list(after["Dimuon_mass"].array()) == masses(muons[selected])


@pytest.mark.parametrize("cuts", [{"eta_max": 2.1}, {"pt_min": 0.1}, {"pt_min": 2.4}])
def test_both_languages_cut_alike_at_values_that_float32_rounds(
    tmp_path: Path, cuts: dict[str, float]
) -> None:
    limits = np.array([2.1, 0.1, 2.4], dtype=np.float32)
    near = np.concatenate([np.nextafter(limits, np.float32(to)) for to in (0, 9)] + [limits])
    offsets = np.arange(0, 2 * len(near) + 1, 2)
    values = np.repeat(near, 2)
    names = {"Muon_pt": values, "Muon_eta": values, "Muon_phi": values * np.float32(0.3)}
    columns = [*zip(IDS, ("uint32", "uint32", "uint64"), strict=True)]
    columns += [(name, "float32[]") for name in names] + [("Muon_charge", "int32[]")]
    ids = {name: np.ones(len(near), dtype=np.uint32) for name in IDS}
    charge = np.tile(np.array([1, -1], dtype=np.int32), len(near))
    writer = _core.TreeWriter(str(tmp_path / "in.root"), "Events", columns, "none")
    jagged = {name: (offsets, column) for name, column in (names | {"Muon_charge": charge}).items()}
    writer.write(ids | {"event": np.arange(len(near), dtype=np.uint64)} | jagged)
    writer.close()
    for language in ("python", "cpp"):
        job = Job(tmp_path / "in.root")
        dimuon(language, **({"pt_min": 0.0, "eta_max": 9.0} | cuts))(job)
        job.builder.add_path("skim", ["two"])
        job.add_output("events", ["skim"], job.branches, ["Dimuon_mass", "GoodMuon_pt"])
        job.run(events=tmp_path / language)
    assert (tmp_path / "python").read_bytes() == (tmp_path / "cpp").read_bytes()
    with uproot.open(tmp_path / "cpp") as file:
        assert 0 < file["Events"].num_entries < len(near)


class Makes(Producer):
    """Returns what it was given for column `x`."""

    def __init__(self, kind: str, make: Callable[[EventBlock], Any]) -> None:
        self.produces = {"x": kind}
        self.make = make

    def produce(self, block: EventBlock) -> Any:
        return self.make(block)


class Answers(Filter):
    """Answers what it was given."""

    consumes = ("Jet_pt",)

    def __init__(self, make: Callable[[EventBlock], Any]) -> None:
        self.make = make

    def filter(self, block: EventBlock) -> Any:
        return self.make(block)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_events(tmp_path / "in.root", [(1, 1, 6)])


def produced(events: Path, tmp_path: Path, kind: str, make: Callable[[EventBlock], Any]) -> Any:
    job = Job(events)
    job.add("makes", PythonModule(Makes(kind, make)))
    job.add_output("o", [], ["event"], ["x"])
    job.run(o=tmp_path / "o.root")
    with uproot.open(tmp_path / "o.root") as file:
        return ak.to_list(file["Events"]["x"].array())


@pytest.mark.parametrize(
    ("kind", "column", "expected"),
    [
        ("int32", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
        ("bool", np.arange(6) > 3, [False] * 4 + [True] * 2),
        ("float32", ak.Array([0.5] * 6), [0.5] * 6),
        ("float32[]", [[1.0], [], [2, 3], [], [], [4]], [[1.0], [], [2.0, 3.0], [], [], [4.0]]),
        ("int32[]", [[]] * 6, [[]] * 6),
        ("int16[]", np.ones((6, 2), dtype=np.int8), [[1, 1]] * 6),
        ("float64[]", ak.Array([[9.0], [1.0]] * 4)[2:], [[9.0], [1.0]] * 3),
    ],
)
def test_a_returned_array_becomes_a_column(
    events: Path, tmp_path: Path, kind: str, column: Any, expected: list[Any]
) -> None:
    assert produced(events, tmp_path, kind, lambda _: {"x": column}) == expected


def unprintable(_: EventBlock) -> Any:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    raise SilentError


@pytest.mark.parametrize(
    ("kind", "make", "message"),
    [
        (
            "int32",
            lambda b: {"x": [2**40] * 6},
            "wanted int32, got int64 with values that do not fit",
        ),
        ("int32", lambda b: {"x": [0.5] * 6}, "wanted int32, got float64; convert it with .astype"),
        ("int32", lambda b: {"x": [1, 2]}, "for each of 6 events, got 2"),
        ("int32[]", lambda b: {"x": [[1]] * 2}, "for each of 6 events, got 2"),
        ("int32", lambda b: {"y": [1] * 6}, 'did not return column "x"'),
        (
            "int32",
            lambda b: {"x": [1] * 6, "y": 1},
            'column "y", which the module does not declare',
        ),
        ("int32", lambda b: None, "TypeError: produce() returns a dict of columns, not NoneType"),
        ("int32", lambda b: b["Jet_pt"], '"Jet_pt" is not in `consumes`'),
        ("int32", unprintable, "SilentError: (its message cannot be shown)"),
    ],
)
def test_what_a_producer_does_wrong_is_said_with_module_lumi_and_events(
    events: Path, tmp_path: Path, kind: str, make: Callable[[EventBlock], Any], message: str
) -> None:
    with pytest.raises(JobError) as error:
        produced(events, tmp_path, kind, make)
    assert message in str(error.value)
    assert str(error.value).startswith('module "makes" failed at 1:1, events 1…6: ')


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1] * 6, "one bool per event"),
        ([True] * 5, "returned 5 values for 6 events"),
        (None, "one bool per event"),
    ],
)
@pytest.mark.parametrize(("executor", "threads"), EXECUTORS)
def test_a_mask_is_one_bool_per_event(
    events: Path, answer: Any, message: str, executor: str, threads: int
) -> None:
    job = Job(events)
    job.add("answers", PythonModule(Answers(lambda _: answer)))
    job.builder.add_path("p", ["answers"])
    with pytest.raises(JobError, match=message):
        job.run(executor, threads)


def test_columns_are_read_only_views_that_outlive_their_block(events: Path) -> None:
    kept: list[EventBlock] = []
    by_first_event: dict[int, Any] = {}

    def keep(block: EventBlock) -> Any:
        kept.append(block)
        column = by_first_event[int(block.events[0])] = block["Jet_pt"]
        assert block["Jet_pt"] is column
        return np.ones(len(block), dtype=bool)

    job = Job(events)
    job.add("answers", PythonModule(Answers(keep)))
    job.builder.add_path("p", ["answers"])
    job.run("tbb", 2, block_size=2)
    del job
    gc.collect()
    columns = [by_first_event[first] for first in sorted(by_first_event)]
    values = [event for column in columns for event in ak.to_list(column)]
    with uproot.open(events) as file:
        assert values == ak.to_list(file["Events"]["Jet_pt"].array())
    memory = columns[0].layout.content.data
    assert not memory.flags.writeable
    assert not memory.flags.owndata
    with pytest.raises(ValueError, match="WRITEABLE"):
        memory.flags.writeable = True
    with pytest.raises(JobError, match="this block is over"):
        _ = kept[0].run


@pytest.mark.slow
def test_an_interpreter_that_ends_with_a_job_alive_ends_well(events: Path) -> None:
    script = f"""
from pathlib import Path
from tests.schedule.test_core import Answers, Job, PythonModule, _core, settings
import numpy as np
job = Job(Path({str(events)!r}))
job.add("a", PythonModule(Answers(lambda block: np.ones(len(block), dtype=bool))))
job.builder.add_path("p", ["a"])
schedule = job.builder.compile()
processor = _core.Processor(schedule, job.source(), settings("tbb", 2, 2))
assert processor.process(0, 1, 1, [(0, 0, 6)], {{}}).read.count == 6
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
