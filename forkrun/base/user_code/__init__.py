"""User code in Python: imports files and modules, and checks parameters of classes and
functions."""

from __future__ import annotations

import functools
import importlib
import inspect
import linecache
import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from forkrun.base.importing import collector_paused
from forkrun.base.nearest import suggestion
from forkrun.base.user_code.installed import is_installed
from forkrun.base.user_code.neighbours import load_file
from forkrun.errors import ConfigError

_FORKRUN = Path(__file__).resolve().parents[2]
AT_EXPRESSION = "<expression "
"""File name in frames of expressions of a configuration."""
program_names: dict[str, str] = {}
"""Names, by file, of modules that the program has imported: the job uses the same modules, with
values set by the program."""
_STACK_LINE = re.compile(r'  File "(.+)", line (\d+) in (.+)')
_MOST_LINES = 6
"""Maximum lines of a traceback: recursion makes thousands."""


def import_home(home: str, where: str) -> ModuleType:
    """Imports a file or a module. Raises ConfigError, which begins with `where`."""
    try:
        with collector_paused():
            is_file = home.endswith(".py")
            return _import_file(Path(home)) if is_file else importlib.import_module(home)
    except FileNotFoundError:
        raise ConfigError(f"{where}: file not found: {home}") from None
    except ConfigError as error:
        raise ConfigError([f"{where}: {problem}" for problem in error.problems]) from None
    except (Exception, SystemExit) as error:  # a script may call exit
        raise ConfigError(f"{where}: {home} cannot be imported: {in_user_code(error)}") from None


def _import_file(path: Path) -> ModuleType:
    """The program's own module, or the file imported under a unique name."""
    path = path.resolve(strict=True)
    name = program_names.get(str(path))
    return importlib.import_module(name) if name else load_file(path)


def bind_parameters(
    target: Callable[..., Any], params: Mapping[str, Any], where: str, n_given: int = 0
) -> dict[str, Any]:
    """Parameters checked against the annotations of a class's `__init__` or a function, except its
    first `n_given` parameters, which forkrun passes. Raises ConfigError with all problems."""
    function = target.__init__ if inspect.isclass(target) else target
    name = getattr(unpartial(target), "__name__", str(target))
    named = _parameters(function)[n_given + inspect.isclass(target) :]
    wanted = {p.name: p for p in named if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    takes_any = any(p.kind == p.VAR_KEYWORD for p in named)
    problems = [
        f"{where}: {name} has no parameter {given!r}{suggestion(given, list(wanted))}"
        for given in params
        if given not in wanted and not takes_any
    ]
    problems += [
        f"{where}: {name} needs the parameter {needed!r}"
        for needed, p in wanted.items()
        if p.default is p.empty and needed not in params
    ]
    values, wrong = _validated(function, params, f"{where}: parameter {{!r}} of {name}: ")
    if problems + wrong:
        raise ConfigError(problems + wrong)
    return values


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    if function is object.__init__:
        return []
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # written in C, without a signature
        return [inspect.Parameter("params", inspect.Parameter.VAR_KEYWORD)]


def _validated(
    function: Callable[..., Any], params: Mapping[str, Any], what: str
) -> tuple[dict[str, Any], list[str]]:
    hints = inspect.get_annotations(unpartial(function))
    values, problems = dict(params), []
    for name in [name for name in values if name in hints]:
        try:
            values[name] = _converted(_evaluated(hints[name], function), params[name])
        except ValueError as error:
            problems.append(what.format(name) + str(error))
    return values, problems


def _converted(hint: Any, value: Any) -> Any:
    """The value as an annotation has it. Raises ValueError."""
    if hint in (bool, int, float, str) and type(value) in (hint, int if hint is float else hint):
        return hint(value)  # without pydantic, which takes 0.1 s to import
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from None


def _evaluated(hint: Any, function: Callable[..., Any]) -> Any:
    """An evaluated annotation; Any for text that cannot be evaluated here: its names were imported
    for type checkers only, or in another process."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, dict(function.__globals__))
    except (NameError, AttributeError):
        return Any


_REMEDIES = (
    ("destination is read-only", "columns are read-only: change a copy, numpy.array(column)"),
    ("truth value of an", "for arrays write & | ~ instead of and, or, not, each part in ( )"),
    ("object of type 'NoneType'", "a function without `return` gives None"),
    ("'NoneType' object", "a function without `return` gives None"),
    ("'bitwise_", "put comparisons next to & | ~ in ( ), or write `and`, `or`, `not`"),
)
"""Part of an exception's text, and the remedy, where the text itself does not tell."""


def in_user_code(error: BaseException) -> str:
    """Type and message of an error, with the last line of user code."""
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename:
        what = f"{type(error).__name__}: {error.msg}"
        return f"{what} ({error.filename}, line {error.lineno}{_quoted(error.text)})"
    frames = _frames_of_user(error)
    if not frames:
        return what
    return f"{what} ({frames[-1].filename}, line {frames[-1].lineno}{_quoted(frames[-1].line)})"


def _quoted(line: str | None) -> str:
    return f": {line.strip()}" if line and line.strip() else ""


def lines_in_user_code(error: BaseException) -> str:
    """Lines of user code that led to an exception, each on a new line; lines of libraries only if
    there are no others. Then the remedy, where the exception does not tell."""
    lines = [
        _line(frame.filename, frame.lineno or 1, frame.name, frame.line or "")
        for frame in _frames_of_user(error)[-_MOST_LINES:]
    ]
    text = str(error)
    return "".join(lines) + next((f"\n  {do}" for part, do in _REMEDIES if part in text), "")


def lines_of_stack(text: str) -> str:
    """Lines of user code in the first stack written by `faulthandler`, innermost first, up to the
    last call by forkrun; lines of libraries only if there are no others."""
    stack = text.partition("(most recent call first):\n")[2].partition("\n\n")[0]
    called: list[tuple[str, int, str]] = []
    for file, number, name in _STACK_LINE.findall(stack):
        if _is_ours(file) and any(not _is_of_library(each[0]) for each in called):
            break
        if not _is_ours(file):
            called.insert(0, (file, int(number), name))
    own = [each for each in called if not _is_of_library(each[0])] or called
    return "".join(
        _line(file, number, name, linecache.getline(file, number).strip())
        for file, number, name in own[-_MOST_LINES:]
    )


def _line(file: str, number: int, name: str, text: str) -> str:
    if file.startswith(AT_EXPRESSION):
        return f"\n  in the expression: {file.removeprefix(AT_EXPRESSION)[:-1]}"
    return f"\n  {file}, line {number}, in {name}: {text}"


def unpartial(function: Any) -> Any:
    """The function called by a `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def place_of(function: Callable[..., Any]) -> str:
    """First line of a user's function or expression, in the form of `lines_in_user_code`; empty if
    unknown, as for compiled code."""
    plain = inspect.unwrap(getattr(unpartial(function), "__func__", unpartial(function)))
    code = getattr(plain, "__code__", None) or getattr(plain, "code", None)
    if code is None:
        return ""
    first = code.co_firstlineno
    lines = linecache.getlines(code.co_filename)[first - 1 : first + 20]  # decorators come first
    begin = f"def {code.co_name}("
    n = next((n for n, line in enumerate(lines) if line.lstrip().startswith(begin)), 0)
    return _line(code.co_filename, first + n, code.co_name, lines[n].strip() if lines else "")


def place_of_class(kind: type) -> str:
    """First line of a class, in the form of `lines_in_user_code`."""
    try:
        lines, first = inspect.getsourcelines(kind)
        return f"\n  {inspect.getsourcefile(kind)}, line {first}: {lines[0].strip()}"
    except (OSError, TypeError):
        return ""


def _frames_of_user(error: BaseException) -> list[traceback.FrameSummary]:
    """Frames except forkrun's own; frames of libraries only if there are no others."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    return [frame for frame in frames if not _is_of_library(frame.filename)] or frames


def _is_of_library(filename: str) -> bool:
    return filename.startswith("<") or is_installed(filename)


def _is_ours(filename: str) -> bool:
    return filename.startswith("<frozen") or Path(filename).is_relative_to(_FORKRUN)
