"""From `python:FILE.py:Class` or `python:package.module:Class` and parameters to a module."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pydantic

from forkrun.config.nearest import suggestion
from forkrun.errors import ConfigError
from forkrun.modules import KINDS, Module, PythonModule


def load_module(
    label: str, name: str, params: Mapping[str, Any], conditions: Mapping[str, Any]
) -> PythonModule:
    """Constructs a module. `name`: `FILE.py:Class` or `package.module:Class`. Raises ConfigError,
    with the place in the user's own code where that fails."""
    where = f'module "{label}"'
    kind = _find_class(name, where)
    arguments = _bind(kind, params, where)
    module = kind.__new__(kind)
    module.conditions = MappingProxyType(dict(conditions))
    try:
        kind.__init__(module, **arguments)
    except Exception as error:
        raise ConfigError(f"{where}: {_in_user_code(error)}") from None
    _check_declarations(module, where)
    return PythonModule(module)


def _check_declarations(module: Module, where: str) -> None:
    """`consumes` and `produces` as the user wrote them: ("Muon_pt") without a comma is a str."""
    if isinstance(module.consumes, str):
        name = module.consumes
        raise ConfigError(f"{where}: `consumes` is the text {name!r}; write ({name!r},)")
    produces = getattr(module, "produces", {})
    if not isinstance(produces, Mapping):
        raise ConfigError(f'{where}: `produces` is a dict like {{"Dimuon_mass": "float32"}}')


def _find_class(name: str, where: str) -> type[Module]:
    home, _, class_name = name.rpartition(":")
    source = import_home(home, where)
    kind = getattr(source, class_name, None)
    if kind is None:
        classes = [n for n, v in vars(source).items() if inspect.isclass(v)]
        hint = suggestion(class_name, classes)
        raise ConfigError(f"{where}: {home} has no class {class_name!r}{hint}")
    known = tuple(base for _, base in KINDS)
    if not (inspect.isclass(kind) and issubclass(kind, known)):
        raise ConfigError(
            f"{where}: {class_name} is no forkrun.Producer, Filter or Analyzer; derive it from one"
        )
    return kind


def import_home(home: str, where: str) -> ModuleType:
    """A file or an importable module. Raises ConfigError, which begins with `where`."""
    try:
        return _import_file(Path(home)) if home.endswith(".py") else importlib.import_module(home)
    except FileNotFoundError:
        raise ConfigError(f"{where}: there is no file {home}") from None
    except Exception as error:
        raise ConfigError(f"{where}: {home} cannot be imported: {_in_user_code(error)}") from None


def _import_file(path: Path) -> ModuleType:
    """The file under a name of its own, so that two files may have one name; its folder is on the
    import path while it is read, so that it can import its siblings."""
    path = path.resolve(strict=True)
    unique = f"forkrun_user_{hashlib.sha1(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    if unique in sys.modules:
        return sys.modules[unique]
    spec = importlib.util.spec_from_file_location(unique, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[unique]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module


def _bind(kind: type[Module], params: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Parameters checked against the annotations of `__init__`."""
    signature = inspect.signature(kind.__init__)
    wanted = {n: p for n, p in list(signature.parameters.items())[1:] if p.kind != p.VAR_KEYWORD}
    takes_any = any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values())
    if kind.__init__ is object.__init__:
        wanted, takes_any = {}, False
    problems = [
        f"{where}: {kind.__name__} has no parameter {name!r}{suggestion(name, list(wanted))}"
        for name in params
        if name not in wanted and not takes_any
    ]
    problems += [
        f"{where}: {kind.__name__} needs the parameter {name!r}"
        for name, p in wanted.items()
        if p.default is p.empty and p.kind != p.VAR_POSITIONAL and name not in params
    ]
    hints = inspect.get_annotations(kind.__init__, eval_str=True)
    values = dict(params)
    for name in values.keys() & hints.keys():
        try:
            values[name] = pydantic.TypeAdapter(hints[name]).validate_python(params[name])
        except pydantic.ValidationError as error:
            what = error.errors()[0]["msg"]
            problems.append(f"{where}: parameter {name!r} of {kind.__name__}: {what}")
    if problems:
        raise ConfigError(problems)
    return values


def _in_user_code(error: BaseException) -> str:
    """Type, message and the last line of the user's own code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _is_ours(filename: str) -> bool:
    return filename.startswith("<frozen") or Path(filename).is_relative_to(Path(__file__).parent)
