"""ONNX models, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun.base.awkward_array import with_none
from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


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
