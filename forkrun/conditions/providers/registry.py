"""From the `type` of a condition to the class of its provider."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from forkrun.base.nearest import suggestion
from forkrun.base.user_code import bind_parameters, import_home
from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider
from forkrun.conditions.providers.arrow_tables import ArrowProvider, ParquetProvider
from forkrun.conditions.providers.files import (
    CorrectionlibProvider,
    JsonProvider,
    NpyProvider,
    NpzProvider,
    OnnxProvider,
    PickleProvider,
    RootHistogramProvider,
    TomlProvider,
)
from forkrun.errors import ConfigError


class FunctionProvider(ConditionsProvider):
    """Result of the function; it gets the file, if one is given, and the params by keyword."""

    depends_on_iov = False

    def __init__(self, function: Callable[..., Any], params: Mapping[str, Any]) -> None:
        self._function = function
        self._params = params

    def load(self, file: str | None, iov: Iov) -> Any:
        return self._function(*([] if file is None else [file]), **self._params)


_PROVIDERS: Mapping[str, type[ConditionsProvider]] = {
    "npy": NpyProvider, "npz": NpzProvider, "json": JsonProvider, "toml": TomlProvider,
    "pickle": PickleProvider, "parquet": ParquetProvider, "arrow": ArrowProvider,
    "root": RootHistogramProvider, "correctionlib": CorrectionlibProvider, "onnx": OnnxProvider,
}  # fmt: skip


def find_provider(kind: str, where: str) -> type[ConditionsProvider] | Callable[..., Any]:
    """A class of providers or a user's function. Raises ConfigError, which begins with `where`, if
    there is none or a package that it needs is not installed."""
    if kind.startswith("python:"):
        return _find_user_code(kind, where)
    provider = _PROVIDERS[kind]
    if provider.requires and importlib.util.find_spec(provider.requires) is None:
        raise ConfigError(
            f'{where}: type "{kind}" needs the package {provider.requires}, which is not installed;'
            " pip install 'forkrun[conditions]'"
        )
    return provider


def _find_user_code(kind: str, where: str) -> type[ConditionsProvider] | Callable[..., Any]:
    _, home, name = kind.split(":")
    source = import_home(home, where)
    found: Callable[..., Any] | None = getattr(source, name, None)
    if not callable(found):
        what = f'{where}: {home} has no function or class "{name}"'
        callables = [n for n, v in vars(source).items() if callable(v)]
        raise ConfigError(what + suggestion(name, callables))
    if inspect.isclass(found) and not issubclass(found, ConditionsProvider):
        raise ConfigError(
            f"{where}: {name} is neither a function nor a forkrun.ConditionsProvider; derive it"
            " from that one"
        )
    return found


def make_provider(
    found: type[ConditionsProvider] | Callable[..., Any],
    params: Mapping[str, Any],
    has_file: bool,
    where: str,
) -> ConditionsProvider:
    """Makes a provider with its parameters. Raises ConfigError if these do not fit."""
    if isinstance(found, type):
        provider: ConditionsProvider = found(**bind_parameters(found, params, where))
        return provider
    return FunctionProvider(found, bind_parameters(found, params, where, n_given=int(has_file)))
