"""Callables of every kind that a program has, or that its functions use: handed over to children as
they are, or refused with what to do; and what they do is part of what a job depends on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import program

KINDS = """
import abc, collections, contextlib, dataclasses, enum, functools, operator, types, typing, weakref
import msgspec, numpy as np

def plain(x): return x > 3

@functools.lru_cache
def cached(x): return x > LIMIT
@functools.cache
def cached_for_ever(x): return x > LIMIT
@functools.lru_cache(maxsize=3, typed=True)
def cached_by_type(x): return x > LIMIT
LIMIT = 3
@functools.singledispatch
def dispatched(x): return x > 3
@dispatched.register
def _(x: str): return False
@functools.wraps(plain)
def wrapped(x): return plain(x)
def closing():
    limit = 3
    return lambda x: x > limit

class Cut:
    limit = 3
    def __init__(self): self.own = 3
    def __call__(self, x): return x > self.own
    def method(self, x): return x > self.own
    @staticmethod
    def static(x): return x > 3
    @classmethod
    def of_class(cls, x): return x > cls.limit
    @functools.cached_property
    def kept(self): return 3
    @functools.singledispatchmethod
    def dispatched(self, x): return x > self.own
    @functools.lru_cache
    def cached(self, x): return x > self.own
    given = functools.partialmethod(lambda self, limit, x: x > limit, 3)
    class Inner:
        @functools.lru_cache
        def cached(self, x): return x > 3

@dataclasses.dataclass(frozen=True)
class Data:
    limit: int = 3
    def __call__(self, x): return x > self.limit
@dataclasses.dataclass(slots=True)
class Slots:
    limit: int = 3
    def __call__(self, x): return x > self.limit
class Struct(msgspec.Struct):
    limit: int
    more: list[int] = []
    def __call__(self, x): return x > self.limit and Struct(1).more == []
T = typing.TypeVar("T")
class Tagged(msgspec.Struct, typing.Generic[T], frozen=True, kw_only=True, tag="t", rename="camel"):
    upper_limit: T
    made: dict = msgspec.field(default_factory=lambda: {"l": 3}, name="m")
class Derived(Tagged[int], frozen=True):
    name: str
    def __call__(self, x): return x > self.made["l"] and msgspec.json.encode(self) == ENCODED
ENCODED = b'{"type":"t","name":"d","upperLimit":9,"m":{"l":3}}'
class Choice(enum.Enum):
    A = 3
    def __call__(self, x): return x > self.value
class Abstract(abc.ABC):
    @abc.abstractmethod
    def __call__(self, x): ...
class Concrete(Abstract):
    def __call__(self, x): return x > 3
class Generic(typing.Generic[T]):
    def __call__(self, x): return x > 3
class Meta(type): ...
class WithMeta(metaclass=Meta):
    def __call__(self, x): return x > 3
Named = collections.namedtuple("Named", "limit")
named, mapping, space = Named(3), types.MappingProxyType({"l": 3}), types.SimpleNamespace(limit=3)
weak = weakref.WeakKeyDictionary()
@contextlib.contextmanager
def opened(): yield 3
def in_context(x):
    with opened() as limit: return x > limit

cut = Cut()
kinds = {
    "cached": cached, "cached_for_ever": cached_for_ever, "cached_by_type": cached_by_type,
    "dispatched": dispatched, "wrapped": wrapped, "closure": closing(), "object": cut,
    "partial": functools.partial(lambda limit, x: x > limit, 3), "method": cut.method,
    "static": Cut.static, "of_class": Cut.of_class, "dispatched_method": cut.dispatched,
    "cached_method": functools.partial(Cut.cached, cut), "given": cut.given,
    "inner": Cut.Inner().cached, "cached_bound": functools.lru_cache(cut.method),
    "cached_lambda": functools.lru_cache(lambda x: x > 3), "kept": lambda x: x > cut.kept,
    "data": Data(), "slots": Slots(), "struct": Struct(3),
    "derived": Derived("d", upper_limit=9), "enum": Choice.A, "abstract": Concrete(),
    "generic": Generic(), "alias": Generic[int](), "meta": WithMeta(),
    "vectorized": np.vectorize(plain), "dynamic": type("D", (), {"__call__": lambda s, x: x > 3})(),
    "named": lambda x: x > named.limit, "mapping": lambda x: x > mapping["l"],
    "space": lambda x: x > space.limit, "context": in_context, "weak": lambda x: x > 3 + len(weak),
}
"""
USED = """
import sys, forkrun
job = forkrun.Job("a.root", name="job" + sys.argv[1])
for name, kind in kinds.items():
    def accept(events, kind=kind):
        return (events["event"] > 0) & bool(kind(5)) & (not kind(2))
    job.filter(accept, label=name)
result = job.run(children=int(sys.argv[1]), quiet=True, plots=False)
print(len(kinds), [cut["n_events"] for cut in result.cutflow["main"]])
"""
CALLED = """
import sys, forkrun
job = forkrun.Job("a.root", name="job" + sys.argv[1])
def of_event(kind, events): return kind(events["event"])
names = ("dispatched", "wrapped", "closure", "method", "static", "of_class", "given", "context")
for name in names:
    job.filter(functools.partial(of_event, kinds[name]), label=name)
    job.define("c_" + name, functools.partial(of_event, kinds[name]))
class Directly:
    def __call__(self, events): return cut(events["event"])
    def method(self, events): return cut(events["event"])
    @staticmethod
    def static(events): return cut(events["event"])
    @classmethod
    def of_class(cls, events): return cut(events["event"])
    given = functools.partialmethod(lambda self, limit, events: events["event"] > limit, 3)
@functools.singledispatch
def directly(events): return cut(events["event"])
@dataclasses.dataclass(slots=True)
class Slotted:
    limit: int = 3
    def __call__(self, events): return events["event"] > self.limit
d = Directly()
filters = (d, d.method, d.static, d.of_class, d.given, directly, Slotted())
for n, what in enumerate(filters):
    job.filter(what, label=f"directly{n}")
job.hist(lambda events: events["event"], (5, 0, 100), name="h", weight=lambda events: d(events))
result = job.run(children=int(sys.argv[1]), quiet=True, plots=False)
print(result.histograms["h"].sum(flow=True).value, [c["n_events"] for c in result.cutflow["main"]])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_events(tmp_path / "a.root", [(1, 1, 40)])
    return tmp_path


def run(folder: Path, text: str, *words: str) -> tuple[int, str, str]:
    (folder / "analysis.py").write_text(text)
    ended = program(folder / "analysis.py", *words, cwd=folder)
    return ended.code, ended.out.strip().rpartition("\n")[2], ended.err


@pytest.mark.slow
@pytest.mark.parametrize("children", ["0", "2"])
def test_callables_of_every_kind_are_used_by_functions(folder: Path, children: str) -> None:
    code, out, err = run(folder, KINDS + USED, children)
    assert code == 0, err
    assert out == f"34 {[40] * 35}"


@pytest.mark.slow
@pytest.mark.parametrize("children", ["0", "2"])
def test_callables_of_every_kind_are_filters(folder: Path, children: str) -> None:
    code, out, err = run(folder, KINDS + CALLED, children)
    assert code == 0, err
    assert out == f"37.0 {[40] + [37] * 15}"


CHANGED = {
    "LIMIT = 3": "LIMIT = 4",
    "def kept(self): return 3": "def kept(self): return 4",
    "def dispatched(self, x): return x > self.own": "def dispatched(self, x): return x >= self.own",
    "limit, x: x > limit, 3)\n    class": "limit, x: x > limit, 4)\n    class",
    "def cached(x): return x > LIMIT": "def cached(x): return x > LIMIT + 0",
}


@pytest.mark.long
def test_a_job_with_another_helper_is_computed_again(folder: Path) -> None:
    code, _, err = run(folder, KINDS + USED, "1")
    assert code == 0, err
    code, out, err = run(folder, KINDS + "# a comment\n" + USED, "1")
    assert (code, out) == (0, f"34 {[40] * 35}"), err
    for before, after in CHANGED.items():
        assert before in KINDS
        code, out, err = run(folder, KINDS.replace(before, after) + USED, "1")
        assert code == 0, err
        assert "already done" not in err, before


REFUSED = {
    "ufunc": "made = np.frompyfunc(plain, 1, 1)",
    "lock": "import threading\nmade = threading.Lock()",
    "generator": "made = (n for n in range(9))",
    "weakref": "made = weakref.ref(cut)",
    "reduce": ("class Single:\n    def __reduce__(self): return 'made'\nmade = Single()"),
    "unpickle": (
        "def fails(): raise ValueError('not here')\n"
        "class Fails:\n    def __reduce__(self): return fails, ()\nmade = Fails()"
    ),
    "missing": (
        "import types\nmodule = types.ModuleType('not_there')\nsys.modules['not_there'] = module\n"
        "exec('def made(x): return x', vars(module))\nmade = module.made"
    ),
}


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_handed_over_is_refused_with_what_to_do(folder: Path, kind: str) -> None:
    text = (
        f"{KINDS}\nimport sys, forkrun\n{REFUSED[kind]}\n"
        "def uses(events):\n    return (events['event'] > 0) & (made is not None)\n"
        "job = forkrun.Job('a.root').filter(uses) and None\n"
        "job = forkrun.Job('a.root')\njob.filter(uses, label='uses')\n"
        "try: job.run(children=1, quiet=True, plots=False)\n"
        "except forkrun.ConfigError as error: print(repr(str(error)))\n"
    )
    code, out, err = run(folder, text)
    assert code == 0, err
    assert "uses" in out
    assert "take job.run(children=0)" in out
