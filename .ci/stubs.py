"""Writes forkrun/_core.pyi: the types of the extension as pybind11 tells them. What it tells too
widely is narrowed: numbers are int and float, and what is None by default may be None."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

TARGET = Path("forkrun/_core.pyi")
HEAD = "# Written by .ci/stubs.py (make build); what it says stands in cpp/bindings.\n"
NARROWED = (
    (r"typing\.SupportsInt \| typing\.SupportsIndex", "int"),
    (r"typing\.SupportsFloat \| typing\.SupportsIndex", "float"),
    (r"typing\.Annotated\[numpy\.typing\.ArrayLike, [\w.]+\]", "numpy.typing.ArrayLike"),
    (r"numpy\.ndarray\b", "numpy.typing.NDArray[typing.Any]"),
    (r"\bdict\b(?!\[)", "dict[str, typing.Any]"),
    (r"\blist\b(?!\[)", "list[typing.Any]"),
    (r"\btuple\b(?!\[)", "tuple[typing.Any, ...]"),
    (r"collections\.abc\.Callable\b(?!\[)", "collections.abc.Callable[..., typing.Any]"),
    (r"collections\.abc\.Iterable\b(?!\[)", "collections.abc.Iterable[typing.Any]"),
)


def narrowed(annotation: ast.expr | None) -> ast.expr | None:
    """An annotation as it is meant."""
    if annotation is None:
        return None
    text = ast.unparse(annotation)
    for wide, narrow in NARROWED:
        text = re.sub(wide, narrow, text)
    return ast.parse(text, mode="eval").body


def narrow(function: ast.FunctionDef) -> None:
    """Those of a function."""
    if function.name == "__eq__":  # as that of every object
        function.args.args[1].annotation = ast.Name("object")
    function.returns = narrowed(function.returns)
    arguments = function.args
    defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    pairs = zip(arguments.args, [*defaults, *arguments.defaults], strict=True)
    for argument, default in (
        *pairs,
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ):
        argument.annotation = narrowed(argument.annotation)
        of = ast.unparse(argument.annotation) if argument.annotation else ""
        may_be_none = of.endswith("| None") or of == "typing.Any"
        if isinstance(default, ast.Constant) and default.value is None and not may_be_none:
            argument.annotation = ast.parse(f"{of} | None", mode="eval").body


def is_left_out(statement: ast.stmt) -> bool:
    """What says nothing of types."""
    return ast.unparse(statement).startswith(("__all__:", "__hash__:"))


def main() -> None:
    """Writes the file."""
    command = [sys.executable, "-m", "pybind11_stubgen", "forkrun._core", "-o", "build/stubs"]
    subprocess.run([*command, "--exit-code"], check=True, stderr=subprocess.DEVNULL)
    tree = ast.parse(Path("build/stubs/forkrun/_core.pyi").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.Module):
            node.body = [each for each in node.body if not is_left_out(each)]
        if isinstance(node, ast.FunctionDef):
            narrow(node)
        elif isinstance(node, ast.AnnAssign):
            node.annotation = narrowed(node.annotation) or node.annotation
    TARGET.write_text(HEAD + ast.unparse(tree) + "\n")


main()
