"""Providers of the payloads in one file each: arrays, objects, histograms, corrections, models."""

from __future__ import annotations

import json
import pickle
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.awkward_array import with_none
from forkrun.base.user_text import unique_keys
from forkrun.conditions.binned_table import BinnedTable, Outside
from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


class NpyProvider(ConditionsProvider):
    """An array. `memory_map`: stay on the disk; pages are read when they are first looked at, and
    shared with every process of the machine that maps the file."""

    depends_on_iov = False

    def __init__(self, memory_map: bool = False) -> None:
        self._mode: Literal["r"] | None = "r" if memory_map else None

    def load(self, file: str | None, iov: Iov) -> npt.NDArray[Any]:
        return np.asarray(np.load(str(file), mmap_mode=self._mode, allow_pickle=False))


class NpzProvider(ConditionsProvider):
    """A dict of arrays."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> dict[str, npt.NDArray[Any]]:
        with np.load(str(file), allow_pickle=False) as arrays:
            return dict(arrays)


class JsonProvider(ConditionsProvider):
    """Contents of the file."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> Any:
        text = Path(str(file)).read_text(encoding="utf-8")
        return json.loads(text, object_pairs_hook=unique_keys)


class TomlProvider(ConditionsProvider):
    """Contents of the file."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> dict[str, Any]:
        return tomllib.loads(Path(str(file)).read_text(encoding="utf-8"))


class PickleProvider(ConditionsProvider):
    """A Python object."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> Any:
        return pickle.loads(Path(str(file)).read_bytes())


class RootHistogramProvider(ConditionsProvider):
    """A BinnedTable of a TH1, TH2 or TH3. `histogram`: its name, with folders ("muon/id")."""

    depends_on_iov = False

    def __init__(self, histogram: str, outside: Outside = "nearest") -> None:
        self._histogram = histogram
        self._outside = outside

    def load(self, file: str | None, iov: Iov) -> BinnedTable:
        read = _core.read_histogram(str(file), self._histogram)
        return BinnedTable(
            read["edges"], read["values"], read["variances"], self._outside, read["axis_titles"]
        )


class CorrectionlibProvider(ConditionsProvider):
    """A correctionlib.CorrectionSet."""

    requires = "correctionlib"
    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> Any:
        import correctionlib

        return correctionlib.CorrectionSet.from_file(str(file))


class OnnxModel:
    """`model(features)` for a model of one input, `model(x=…, y=…)` for several. Gives the array of
    its output, or a dict if it has several. It runs on the calling thread and starts none, so that
    it survives a fork."""

    def __init__(self, file: str) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        # From the file: its bytes, if given, would be kept in addition to the weights.
        self._session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.inputs = {node.name: (node.type, node.shape) for node in self._session.get_inputs()}
        self.outputs = {node.name: (node.type, node.shape) for node in self._session.get_outputs()}

    def __call__(self, *values: Any, **named: Any) -> Any:
        arrays = {k: np.asarray(with_none(v)) for k, v in self._by_name(values, named).items()}
        results: list[npt.NDArray[Any]] = self._session.run(None, arrays)
        return results[0] if len(results) == 1 else dict(zip(self.outputs, results, strict=True))

    def _by_name(self, values: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(zip(self.inputs, values, strict=False)) | dict(named)
        if given.keys() != self.inputs.keys() or len(values) + len(named) != len(self.inputs):
            raise TypeError(f"the model has the inputs {', '.join(self.inputs)}")
        return given


class OnnxProvider(ConditionsProvider):
    """An OnnxModel."""

    requires = "onnxruntime"
    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> OnnxModel:
        return OnnxModel(str(file))
