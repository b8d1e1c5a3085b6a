"""Imports in a user's file. Its neighbours are the modules of its own folder, even if another
folder has a module of the same name, and also when a running function imports them. A statement
`import x` calls `__import__` of its module's builtins: files loaded here, and their neighbours,
have their own. The first module of a name gets the plain name in `sys.modules`, as in a program;
later ones get a name with their folder."""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from forkrun.base.user_code.installed import package_folders

_import = builtins.__import__


def load_file(path: Path) -> ModuleType:
    """Imports a file once, under a unique name: two files may have one name. `path`: resolved path
    of an existing file."""
    name = f"forkrun_user_{_digest(path)}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _Loader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _on_path(path.parent):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _Loader(SourceFileLoader):
    """Gives a module the `import` of its folder."""

    def exec_module(self, module: ModuleType) -> None:
        own = _Imports(Path(self.path).parent)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": own}
        super().exec_module(module)


def is_neighbour(spec: ModuleSpec) -> bool:
    """Whether a module belongs to a user's folder: other folders may not find it by its name."""
    return isinstance(spec.loader, _Loader)


class _Imports:
    """Behaviour of `import` in the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        name: str,
        variables: Mapping[str, Any] | None = None,
        local: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level:
            return self._relative(name, variables or {}, fromlist or (), level)
        first = name.partition(".")[0]
        if not _has_module(first, self._folder):
            return _import(name, variables, local, fromlist or (), 0)
        with _on_path(self._folder):
            return _absolute(name, self._folder, fromlist or ())

    def _relative(
        self, name: str, variables: Mapping[str, Any], fromlist: Sequence[str], level: int
    ) -> ModuleType:
        """Relative import in a file of the package formed by its folder; a folder without
        `__init__.py` forms its own package."""
        own = str(variables.get("__name__", ""))
        if not own.startswith("forkrun_user_") or "." in own:
            return _import(name, variables, None, fromlist, level)
        root, package = package_of(self._folder)
        whole = importlib.util.resolve_name("." * level + name, package)
        with _on_path(root):
            if root == self._folder:
                return _import(whole, {}, None, fromlist, 0)
            return _absolute(whole, root, fromlist)


def package_of(folder: Path) -> tuple[Path, str]:
    """Folder to search for the package formed by a folder, and the package's name."""
    parts: list[str] = []
    root = folder
    while (root / "__init__.py").exists():
        parts, root = [root.name, *parts], root.parent
    return root, ".".join(parts) or _package(folder)


def _has_module(name: str, folder: Path) -> bool:
    """Whether the folder has a module of this name; the standard library has priority."""
    if name in sys.stdlib_module_names or not name:
        return False
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


def _absolute(name: str, folder: Path, fromlist: Sequence[str]) -> ModuleType:
    first = name.partition(".")[0]
    known = sys.modules.get(first)
    if _is_in(known, folder) if known else not _is_library(first):
        return _import(name, {}, None, fromlist, 0)
    package = _package(folder)
    if fromlist:
        return _import(f"{package}.{name}", {}, None, fromlist, 0)
    importlib.import_module(f"{package}.{name}")
    return sys.modules[f"{package}.{first}"]


def _is_library(name: str) -> bool:
    """Whether an installed module has the name, which must stay free for other importers."""
    return PathFinder.find_spec(name, package_folders()) is not None


def _is_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module belongs to this folder. One without a file is judged by its folder."""
    file = getattr(module, "__file__", None)
    places = [Path(file).parent] if file else [Path(p) for p in getattr(module, "__path__", ())]
    if file and Path(file).name == "__init__.py":
        places = [places[0].parent]
    elif not file:
        places = [place.parent for place in places]
    return any(place.resolve() == folder for place in places)


def _package(folder: Path) -> str:
    """A package that represents a folder."""
    name = f"forkrun_user_{_digest(folder)}"
    if name not in sys.modules:
        made = ModuleType(name)
        made.__path__ = [str(folder)]
        sys.modules[name] = made
    return name


def _digest(path: Path) -> str:
    return hashlib.sha1(str(path).encode()).hexdigest()[:12]


_folders: set[Path] = set()
"""Folders of user files that are importing something now."""


def _within(places: Sequence[Path], folder: Path) -> bool:
    return any(place.is_relative_to(folder) for place in places)


class _Finder:
    """Finds modules in a user's folder and gives them their own neighbours."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        places = [Path(p) for p in path or ()]
        if not any(_has_module(name, f) if path is None else _within(places, f) for f in _folders):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or not spec.origin:
            return None
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


@contextlib.contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    """Puts the folder first on the import path."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    is_new = folder not in _folders
    _folders.add(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if is_new:
            _folders.discard(folder)
