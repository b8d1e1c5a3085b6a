"""Places at which programs have values that results depend on: each a function `f_NAME` of one
value, `@v@`, in the program, a helper, a package of the user's or an installed one."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """`main`: text of the program; `files`: what it adds to others; `is_plain`: nothing that
    cannot be looked into, so the result is kept while nothing changes."""

    main: str
    files: dict[str, str]
    is_plain: bool


class _Shared(NamedTuple):
    """`main`: with a function `p` that changes something; `read`: what others read of it."""

    main: str
    read: str


def _place(main: str, is_plain: bool = True, **files: str) -> Place:
    return Place(main, {name.replace("__", "/"): text for name, text in files.items()}, is_plain)


CODE = {
    "constant": _place("def f_constant(e): return e.Jet_pt * @v@"),
    "deep": _place(
        "def f_deep(e): return helpers.scaled(e.Jet_pt)",
        helpers="def scaled(x): return deeper.twice(x)",
        deeper="def twice(x): return x * @v@",
    ),
    "closure": _place(
        """
def _closed(k):
    def closed(e): return e.Jet_pt + k
    return closed
f_closure = _closed(@v@)
"""
    ),
    "inner_closure": _place(
        """
def _inner_closure():
    k = @v@
    def middle(x):
        def innermost(): return x * k
        return innermost()
    return lambda e: middle(e.Jet_pt)
f_inner_closure = _inner_closure()
"""
    ),
    "default": _place("def f_default(e, k=@v@): return e.Jet_pt + k"),
    "keyword_default": _place("def f_keyword_default(e, *, k=@v@): return e.Jet_pt + k"),
    "mutable_default": _place("def f_mutable_default(e, k=[@v@]): return e.Jet_pt + k[0]"),
    "global": _place("GLOBAL = @v@\ndef f_global(e): return e.Jet_pt * GLOBAL"),
    "global_array": _place(
        "ARRAY = np.array([1, @v@])\ndef f_global_array(e): return e.Jet_pt * ARRAY[1]"
    ),
    "masked_array": _place(
        """
MASKED = np.ma.array([3, 5], mask=[@v@ % 2, 0])
def f_masked_array(e): return e.Jet_pt * int(MASKED.sum())
"""
    ),
    "object_array": _place(
        """
OBJECTS = np.array([helpers.of_array], dtype=object)
def f_object_array(e): return OBJECTS[0](e.Jet_pt)
""",
        helpers="def of_array(x): return x * @v@",
    ),
    "awkward_array": _place(
        "AK = ak.Array([[1], [@v@]])\ndef f_awkward_array(e): return e.Jet_pt * AK[1, 0]"
    ),
    "attribute": _place(
        "def f_attribute(e): return e.Jet_pt + helpers.Cuts.low",
        helpers="class Cuts:\n    low = @v@",
    ),
    "inherited": _place(
        "class Tight(helpers.Loose): pass\ndef f_inherited(e): return e.Jet_pt + Tight().low()",
        helpers="class Loose:\n    def low(self): return @v@",
    ),
    "decorator": _place(
        "@helpers.decorated\ndef f_decorator(e): return e.Jet_pt",
        helpers="""
def decorated(f):
    @functools.wraps(f)
    def inner(e): return f(e) * @v@
    return inner
""",
    ),
    "decorator_with_argument": _place(
        """
def _times(k):
    def decorate(f): return lambda e: f(e) * k
    return decorate
@_times(@v@)
def f_decorator_with_argument(e): return e.Jet_pt
"""
    ),
    "named_as_a_library": _place(
        """
@functools.wraps(np.sum)
def wrapped_as_sum(x): return x * @v@
def f_named_as_a_library(e): return wrapped_as_sum(e.Jet_pt)
"""
    ),
    "class_named_as_a_library": _place(
        """
class Forged:
    def apply(self, x): return x * @v@
Forged.__module__ = "numpy"
def f_class_named_as_a_library(e): return Forged().apply(e.Jet_pt)
"""
    ),
    "module": _place("def f_module(e): return e.Jet_pt * helpers.SCALE", helpers="SCALE = @v@"),
    "module_by_argument": _place(
        """
def _of_module(m): return m.HANDED
def f_module_by_argument(e): return e.Jet_pt * _of_module(helpers)
""",
        helpers="HANDED = @v@",
    ),
    "module_in_container": _place(
        """
SETTINGS = {"module": helpers}
def f_module_in_container(e): return e.Jet_pt * SETTINGS["module"].CONTAINED
""",
        helpers="CONTAINED = @v@",
    ),
    "module_in_object": _place(
        """
class Owner: source = helpers
def f_module_in_object(e): return e.Jet_pt * Owner.source.OWNED
""",
        helpers="OWNED = @v@",
    ),
    "module_by_another_name": _place(
        """
def f_module_by_another_name(e):
    h = helpers
    return e.Jet_pt * h.RENAMED
""",
        helpers="RENAMED = @v@",
    ),
    "attribute_by_name": _place(
        "def f_attribute_by_name(e): return e.Jet_pt * getattr(helpers, 'BY' + '_NAME')",
        helpers="BY_NAME = @v@",
    ),
    "attrgetter": _place(
        """
_get = operator.attrgetter("GOT")
def f_attrgetter(e): return e.Jet_pt * _get(helpers)
""",
        helpers="GOT = @v@",
    ),
    "attribute_of_module_made": _place(
        "def f_attribute_of_module_made(e): return e.Jet_pt * kit.MADE",
        kit="""
def __getattr__(name):
    if name == "MADE": return @v@
    raise AttributeError(name)
""",
    ),
    "set_at_import": _place(
        "def f_set_at_import(e): return e.Jet_pt * helpers.FILLED['k']",
        helpers="FILLED = {}\nFILLED['k'] = @v@",
    ),
    "set_by_another_module": _place(
        "def f_set_by_another_module(e): return e.Jet_pt * helpers.EMPTY.get('k', 1)",
        helpers="EMPTY = deeper.EMPTY",
        deeper="EMPTY = {}\nEMPTY['k'] = @v@",
    ),
    "set_by_the_program": _place(
        """
helpers.SETTING = @v@
def f_set_by_the_program(e): return e.Jet_pt * helpers.setting()
""",
        helpers="SETTING = 1\ndef setting(): return SETTING",
    ),
    "table": _place(
        "def f_table(e): return e.Jet_pt * helpers.TABLE['k']",
        helpers='TABLE = json.loads((HERE / "table.json").read_text())',
        table='{"k": @v@}',
    ),
    "object": _place(
        """
class Tool:
    def __init__(self, k): self.k = k
    def apply(self, x): return x + self.k
tool = Tool(@v@)
def f_object(e): return tool.apply(e.Jet_pt)
"""
    ),
    "bound_method": _place(
        """
class Bound:
    def __init__(self, k): self.k = k
    def of_events(self, e): return e.Jet_pt + self.k
f_bound_method = Bound(@v@).of_events
"""
    ),
    "callable_object": _place(
        """
class Called:
    def __call__(self, x): return x * @v@
called = Called()
def f_callable_object(e): return called(e.Jet_pt)
"""
    ),
    "slots": _place(
        """
class Slots:
    __slots__ = ("k",)
    def __init__(self, k): self.k = k
    def __reduce__(self): return Slots, (0,)
slotted = Slots(@v@)
def f_slots(e): return e.Jet_pt + slotted.k
"""
    ),
    "made_by_reduce": _place(
        """
class State:
    def __init__(self, k): self.k = k
    def __getstate__(self): return {}
state = State(@v@)
def f_made_by_reduce(e): return e.Jet_pt + state.k
"""
    ),
    "property": _place(
        """
class Powered:
    @property
    def power(self): return @v@
def f_property(e): return e.Jet_pt + Powered().power
"""
    ),
    "descriptor": _place(
        """
class Descriptor:
    def __get__(self, owner, kind): return @v@
class Described: k = Descriptor()
def f_descriptor(e): return e.Jet_pt + Described().k
"""
    ),
    "static_method": _place(
        """
class WithStatic:
    @staticmethod
    def static(x): return x * @v@
def f_static_method(e): return WithStatic.static(e.Jet_pt)
"""
    ),
    "class_method": _place(
        """
class WithClass:
    K = @v@
    @classmethod
    def of_class(cls, x): return x * cls.K
def f_class_method(e): return WithClass.of_class(e.Jet_pt)
"""
    ),
    "metaclass": _place(
        """
class Meta(type):
    def __call__(cls): return @v@
class Made(metaclass=Meta): pass
def f_metaclass(e): return e.Jet_pt * Made()
"""
    ),
    "attribute_of_metaclass": _place(
        """
class MetaK(type):
    k = @v@
class MadeK(metaclass=MetaK): pass
def f_attribute_of_metaclass(e): return e.Jet_pt * MadeK.k
"""
    ),
    "subclass_hook": _place(
        """
class Registered:
    known = []
    def __init_subclass__(cls): Registered.known.append(cls.k)
class Member(Registered): k = @v@
def f_subclass_hook(e): return e.Jet_pt * Registered.known[0]
"""
    ),
    "dataclass": _place(
        """
@dataclasses.dataclass
class Data: k: int = @v@
def f_dataclass(e): return e.Jet_pt * Data().k
"""
    ),
    "dataclass_factory": _place(
        """
@dataclasses.dataclass
class Factory: k: list = dataclasses.field(default_factory=lambda: [@v@])
def f_dataclass_factory(e): return e.Jet_pt * Factory().k[0]
"""
    ),
    "dataclass_metadata": _place(
        """
@dataclasses.dataclass
class Metadata: k: int = dataclasses.field(default=1, metadata={"scale": @v@})
def f_dataclass_metadata(e):
    return e.Jet_pt * dataclasses.fields(Metadata)[0].metadata["scale"]
"""
    ),
    "struct": _place(
        """
class Struct(msgspec.Struct): k: int = @v@
def f_struct(e): return e.Jet_pt * Struct().k
""",
        is_plain=False,
    ),
    "named_tuple": _place(
        """
class Named(typing.NamedTuple): k: int = @v@
def f_named_tuple(e): return e.Jet_pt * Named().k
"""
    ),
    "annotation": _place(
        """
class Noted: k: typing.Annotated[int, @v@]
def f_annotation(e):
    noted = typing.get_type_hints(Noted, include_extras=True)["k"]
    return e.Jet_pt * noted.__metadata__[0]
""",
        is_plain=False,
    ),
    "enum": _place(
        """
class Kind(enum.Enum): A = @v@
def f_enum(e): return e.Jet_pt * Kind.A.value
"""
    ),
    "text_enum": _place(
        """
class Name(str, enum.Enum): A = "@v@"
NAME = Name.A
def f_text_enum(e): return e.Jet_pt * int(NAME.value)
"""
    ),
    "text_subclass": _place(
        """
class Text(str):
    def number(self): return @v@
TEXT = Text("a")
def f_text_subclass(e): return e.Jet_pt * TEXT.number()
"""
    ),
    "number_subclass": _place(
        """
class Number(int):
    def number(self): return @v@
NUMBER = Number(3)
def f_number_subclass(e): return e.Jet_pt * NUMBER.number()
"""
    ),
    "dictionary_subclass": _place(
        """
class Missing(dict):
    def __missing__(self, key): return @v@
MISSING = Missing()
def f_dictionary_subclass(e): return e.Jet_pt * MISSING["x"]
"""
    ),
    "array_subclass": _place(
        """
class Scaled(np.ndarray):
    def number(self): return @v@
SCALED = np.arange(3).view(Scaled)
def f_array_subclass(e): return e.Jet_pt * SCALED.number()
"""
    ),
    "partial_subclass": _place(
        """
class Partial(functools.partial):
    def __call__(self, *args): return super().__call__(*args) * @v@
PARTIAL = Partial(abs)
def f_partial_subclass(e): return PARTIAL(e.Jet_pt)
"""
    ),
    "property_subclass": _place(
        """
class Property(property):
    def __get__(self, owner, kind=None): return @v@
class WithProperty:
    k = Property(lambda self: 1)
def f_property_subclass(e): return e.Jet_pt * WithProperty().k
""",
        is_plain=False,
    ),
    "path_subclass": _place(
        """
class Way(type(pathlib.Path())):
    def number(self): return @v@
WAY = Way("a")
def f_path_subclass(e): return e.Jet_pt * WAY.number()
"""
    ),
    "module_subclass": _place(
        """
class Live(types.ModuleType):
    @property
    def k(self): return @v@
live = Live("live")
def f_module_subclass(e): return e.Jet_pt * live.k
"""
    ),
    "partial": _place(
        "def _partial(e, k): return e.Jet_pt * k\nf_partial = functools.partial(_partial, k=@v@)"
    ),
    "partial_inside": _place(
        "_add = functools.partial(helpers.add, @v@)\n"
        "def f_partial_inside(e): return _add(e.Jet_pt)",
        helpers="def add(k, x): return x + k",
    ),
    "partial_method": _place(
        """
class Partly:
    def scale(self, k, x): return x * k
    fixed = functools.partialmethod(scale, @v@)
def f_partial_method(e): return Partly().fixed(e.Jet_pt)
"""
    ),
    "lambda": _place("f_lambda = lambda e: e.Jet_pt * @v@"),
    "lambda_in_dictionary": _place(
        """
CHOICES = {"a": lambda x: x * @v@}
def f_lambda_in_dictionary(e): return CHOICES["a"](e.Jet_pt)
"""
    ),
    "cached": _place(
        """
@functools.cache
def remembered(): return @v@
def f_cached(e): return e.Jet_pt * remembered()
"""
    ),
    "cached_property": _place(
        """
class Lazy:
    @functools.cached_property
    def k(self): return @v@
def f_cached_property(e): return e.Jet_pt * Lazy().k
"""
    ),
    "single_dispatch": _place(
        """
@functools.singledispatch
def dispatched(x): return x
@dispatched.register
def _(x: int): return x * @v@
def f_single_dispatch(e): return e.Jet_pt * dispatched(1)
""",
        is_plain=False,
    ),
    "context_manager": _place(
        """
@contextlib.contextmanager
def context(): yield @v@
def f_context_manager(e):
    with context() as k: return e.Jet_pt * k
"""
    ),
    "generator": _place(
        """
def generated():
    yield @v@
def f_generator(e): return e.Jet_pt * next(generated())
"""
    ),
    "comprehension": _place(
        "def f_comprehension(e): return e.Jet_pt * sum([i * @v@ for i in range(3)])"
    ),
    "walrus": _place("def f_walrus(e): return e.Jet_pt * (k := @v@) + k"),
    "match": _place(
        """
def f_match(e):
    match 3:
        case k if k < 10: return e.Jet_pt * @v@
"""
    ),
    "exception": _place(
        """
def f_exception(e):
    try: raise ValueError(@v@)
    except ValueError as error: return e.Jet_pt * error.args[0]
"""
    ),
    "format": _place("def f_format(e): return e.Jet_pt * int(f'{@v@:02}')"),
    "complex": _place("def f_complex(e): return e.Jet_pt * abs(@v@j)"),
    "set": _place("CHOSEN = {@v@, 0}\ndef f_set(e): return e.Jet_pt * max(CHOSEN)"),
    "namespace": _place(
        """
SPACE = types.SimpleNamespace(function=helpers.of_space)
def f_namespace(e): return SPACE.function(e.Jet_pt)
""",
        helpers="def of_space(x): return x * @v@",
    ),
    "deque": _place(
        """
QUEUE = collections.deque([helpers.of_queue])
def f_deque(e): return QUEUE[0](e.Jet_pt)
""",
        helpers="def of_queue(x): return x * @v@",
    ),
    "map": _place(
        """
class Mapped:
    functions = map(helpers.of_map, [1])
def f_map(e): return e.Jet_pt * list(copy.copy(Mapped.functions) and [helpers.of_map(1)])[0]
""",
        helpers="def of_map(x): return x * @v@",
    ),
    "python_ufunc": _place(
        """
_ufunc = np.frompyfunc(helpers.of_ufunc, 1, 1)
def f_python_ufunc(e): return e.Jet_pt * int(_ufunc(1))
""",
        is_plain=False,
        helpers="def of_ufunc(x): return x * @v@",
    ),
    "vectorize": _place(
        """
_vectorized = np.vectorize(lambda x: x * @v@)
def f_vectorize(e): return e.Jet_pt * int(_vectorized(1))
"""
    ),
    "kind_of_method": _place(
        """
_shown = (int.__repr__, float.__repr__)[@v@ % 2]
def f_kind_of_method(e): return e.Jet_pt * len(_shown((3, 3.0)[@v@ % 2]))
"""
    ),
    "function_changed": _place(
        """
def changed(x): return x
def changing(x): return x * @v@
changed.__code__ = changing.__code__
def f_function_changed(e): return changed(e.Jet_pt)
"""
    ),
    "attribute_of_function": _place(
        """
def holder(): pass
holder.k = @v@
def f_attribute_of_function(e): return e.Jet_pt * holder.k
"""
    ),
    "patched_function": _place(
        """
def f_patched_function(e): return ak.num_times(e.Jet_pt)
""",
        helpers="ak.num_times = lambda x: x * @v@",
    ),
    "patched_number": _place(
        "def f_patched_number(e): return e.Jet_pt * math.e_times", helpers="math.e_times = @v@"
    ),
    "patched_class": _place(
        """
def f_patched_class(e): return e.Jet_pt * fractions.Fraction(1, 3).times()
""",
        helpers="fractions.Fraction.times = lambda self: @v@",
    ),
    "patched_array": _place(
        "def f_patched_array(e): return e.Jet_pt.times_of_array()",
        helpers="ak.Array.times_of_array = lambda self: self * @v@",
    ),
    "patched_builtin": _place(
        "def f_patched_builtin(e): return e.Jet_pt * times_of_all()",
        helpers="builtins.times_of_all = lambda: @v@",
    ),
    "patched_inside": _place(
        "def f_patched_inside(e): return e.Jet_pt * physlib.twice(1)",
        helpers="physlib._inner = lambda x: x * @v@",
    ),
    "package": _place(
        "def f_package(e): return physlib.scale(e.Jet_pt)",
        physlib="__version__ = '@v@.0'\ndef scale(x): return x * @v@",
    ),
    "package_edited": _place(
        "def f_package_edited(e): return editedlib.scale(e.Jet_pt)",
        editedlib="__version__ = '1.0'\ndef scale(x): return x * @v@",
    ),
    "import_when_called": _place(
        """
def f_import_when_called(e):
    import deeper
    return e.Jet_pt * deeper.CALLED
""",
        deeper="CALLED = @v@",
    ),
    "from_when_called": _place(
        """
def f_from_when_called(e):
    from deeper import FROM as k
    return e.Jet_pt * k
""",
        deeper="FROM = @v@",
    ),
    "dotted_import_when_called": _place(
        """
def f_dotted_import_when_called(e):
    import kit.parts
    return e.Jet_pt * kit.TOP
""",
        kit="TOP = @v@",
    ),
    "relative_import": _place(
        "def f_relative_import(e): return kit.parts.related(e.Jet_pt)",
        kit__parts="from . import deeper as near\ndef related(x): return x * near.NEAR",
        kit__deeper="NEAR = @v@",
    ),
    "relative_import_when_called": _place(
        "def f_relative_import_when_called(e): return kit.parts.late(e.Jet_pt)",
        kit__parts="def late(x):\n    from .deeper import LATE\n    return x * LATE",
        kit__deeper="LATE = @v@",
        deeper="LATE = 1",
    ),
    "relative_module_when_called": _place(
        "def f_relative_module_when_called(e): return kit.parts.later(e.Jet_pt)",
        kit__parts="def later(x):\n    from . import deeper\n    return x * deeper.LATER",
        kit__deeper="LATER = @v@",
    ),
    "module_of_namespace": _place(
        "def f_module_of_namespace(e): return e.Jet_pt * spread.inner.SPREAD",
        spread__inner="SPREAD = @v@",
    ),
    "behavior": _place(
        """
def f_behavior(e): return ak.with_name(ak.zip({"x": e.Jet_pt}), "Edited").times()
""",
        helpers="""
class Edited(ak.Record): pass
class EditedArray(ak.Array):
    def times(self): return self.x * @v@
ak.behavior["Edited"] = Edited
ak.behavior["*", "Edited"] = EditedArray
""",
    ),
    "precision": _place(
        """
decimal.getcontext().prec = @v@
def f_precision(e): return e.Jet_pt * float(decimal.Decimal(1) / decimal.Decimal(3))
"""
    ),
    "random": _place(
        """
def f_random(e):
    rng = np.random.default_rng(@v@)
    return e.Jet_pt * rng.integers(1, 1000)
""",
        is_plain=False,
    ),
    "exec": _place(
        """
def f_exec(e):
    space = {}
    exec("k = @v@", space)
    return e.Jet_pt * space["k"]
""",
        is_plain=False,
    ),
    "made_by_exec": _place(
        """
_space = {"k": @v@}
exec("def made_by_exec(x): return x * k", _space)
made_by_exec = _space["made_by_exec"]
def f_made_by_exec(e): return made_by_exec(e.Jet_pt)
"""
    ),
    "globals_by_name": _place(
        "HIDDEN = @v@\ndef f_globals_by_name(e): return e.Jet_pt * globals()['HID' + 'DEN']",
        is_plain=False,
    ),
    "modules_by_name": _place(
        """
def f_modules_by_name(e): return e.Jet_pt * sys.modules["helpers"].BY_MODULES
""",
        is_plain=False,
        helpers="BY_MODULES = @v@",
    ),
    "imported_by_name": _place(
        """
def f_imported_by_name(e): return e.Jet_pt * importlib.import_module("helpers").BY_IMPORT
""",
        is_plain=False,
        helpers="BY_IMPORT = @v@",
    ),
    "subclasses": _place(
        """
class Parent: pass
class Child(Parent): k = @v@
def f_subclasses(e): return e.Jet_pt * Parent.__subclasses__()[0].k
""",
        is_plain=False,
    ),
    "globals_of_function": _place(
        """
OF_GLOBALS = @v@
def f_globals_of_function(e): return e.Jet_pt * _partial_sum.__globals__["OF_" + "GLOBALS"]
def _partial_sum(): pass
""",
        is_plain=False,
    ),
    "text_of_function": _place(
        """
def documented(): "@v@"
def f_text_of_function(e): return e.Jet_pt * int(documented.__doc__)
""",
        is_plain=False,
    ),
    "file": _place(
        """
HERE = pathlib.Path(__file__).parent
def f_file(e):
    with open(HERE / "opened.json") as file: return e.Jet_pt * json.load(file)
""",
        is_plain=False,
        opened="@v@",
    ),
    "file_by_method": _place(
        """
HERE = pathlib.Path(__file__).parent
def f_file_by_method(e):
    with (HERE / "method.json").open() as file: return e.Jet_pt * json.load(file)
""",
        is_plain=False,
        method="@v@",
    ),
    "file_by_builtins": _place(
        """
HERE = pathlib.Path(__file__).parent
def f_file_by_builtins(e):
    with builtins.open(HERE / "builtin.json") as file: return e.Jet_pt * json.load(file)
""",
        is_plain=False,
        builtin="@v@",
    ),
    "file_by_codecs": _place(
        """
HERE = pathlib.Path(__file__).parent
def f_file_by_codecs(e):
    with codecs.open(str(HERE / "codec.json")) as file: return e.Jet_pt * json.load(file)
""",
        is_plain=False,
        codec="@v@",
    ),
    "file_by_parser": _place(
        """
HERE = pathlib.Path(__file__).parent
def f_file_by_parser(e):
    parser = configparser.ConfigParser()
    parser.read(HERE / "parsed.json")
    return e.Jet_pt * int(parser["a"]["k"])
""",
        is_plain=False,
        parsed="[a]\nk = @v@",
    ),
    "opened_file": _place(
        """
handle = io.StringIO("@v@")
def f_opened_file(e): return e.Jet_pt * int(handle.getvalue())
""",
        is_plain=False,
    ),
    "environment": _place(
        "def f_environment(e): return e.Jet_pt * int(os.environ['K'])",
        is_plain=False,
        helpers="os.environ['K'] = '@v@'",
    ),
    "thread": _place(
        """
LOCAL = threading.local()
LOCAL.k = @v@
def f_thread(e): return e.Jet_pt * LOCAL.k
""",
        is_plain=False,
    ),
    "context_variable": _place(
        """
VARIABLE = contextvars.ContextVar("k", default=@v@)
def f_context_variable(e): return e.Jet_pt * VARIABLE.get()
""",
        is_plain=False,
    ),
    "weak_reference": _place(
        """
class Weak: k = @v@
weak, reference = Weak(), None
reference = weakref.ref(weak)
def f_weak_reference(e): return e.Jet_pt * reference().k
""",
        is_plain=False,
    ),
}
"""By name."""

SHARED = {
    "container": _Shared(
        """
STORE = {}
def p(e):
    STORE['k'] = @v@
    return e
""",
        "STORE.get('k', 0)",
    ),
    "through_a_name": _Shared(
        """
STORE = {}
def p(e):
    s = STORE
    s.update(k=@v@)
    return e
""",
        "STORE.get('k', 0)",
    ),
    "through_a_key": _Shared(
        """
STORE = {}
def p(e):
    own = {}
    own['a'] = 1
    STORE[own['a']] = @v@
    return e
""",
        "STORE.get(1, 0)",
    ),
    "through_a_call": _Shared(
        """
STORE = []
def get(): return STORE
def p(e):
    s = get()
    s += [@v@]
    return e
""",
        "(STORE or [0])[0]",
    ),
    "global": _Shared(
        """
STORE = 0
def p(e):
    global STORE
    STORE = @v@
    return e
""",
        "STORE",
    ),
    "object": _Shared(
        """
class Store:
    k = 0
    def put(self, k): self.k = k
STORE = Store()
def p(e):
    STORE.put(@v@)
    return e
""",
        "STORE.k",
    ),
    "class": _Shared(
        """
class STORE: k = 0
def p(e):
    STORE.k = @v@
    return e
""",
        "STORE.k",
    ),
    "function": _Shared(
        """
def STORE(): pass
STORE.k = 0
def p(e):
    STORE.k = @v@
    return e
""",
        "STORE.k",
    ),
    "module": _Shared(
        """
helpers.STORED = 0
def p(e):
    helpers.STORED = @v@
    return e
""",
        "helpers.STORED",
    ),
    "deque": _Shared(
        """
STORE = collections.deque([0], 1)
def p(e):
    STORE.append(@v@)
    return e
""",
        "STORE[0]",
    ),
    "bound_method": _Shared(
        """
STORE = [0]
push = STORE.append
def p(e):
    push(@v@)
    return e
""",
        "STORE[-1]",
    ),
    "operator": _Shared(
        """
STORE = {}
put = operator.setitem
def p(e):
    put(STORE, 'k', @v@)
    return e
""",
        "STORE.get('k', 0)",
    ),
    "heap": _Shared(
        """
STORE = []
def p(e):
    heapq.heappush(STORE, @v@)
    return e
""",
        "(STORE or [0])[0]",
    ),
    "iterator": _Shared(
        """
STORE = itertools.count()
def p(e):
    for _ in range(@v@): next(STORE)
    return e
""",
        "next(STORE)",
    ),
    "cell": _Shared(
        """
def _both():
    k = 0
    def p(e):
        nonlocal k
        k = @v@
        return e
    return p, lambda: k
p, STORE = _both()
""",
        "STORE()",
    ),
}
"""By what is shared."""
