"""What conditions cost: reading them in a module, and the memory of children that share them.

    python tests/benchmarks/conditions.py [--megabytes 200] [--children 4]

Memory is what /proc says of each child after it has read the payload, while all children are there;
"own" is what it shares with no process (Private_Dirty and Private_Clean)."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forkrun.fork.single_thread import limit_library_threads

limit_library_threads()

import numpy as np  # noqa: E402

from forkrun.conditions import Conditions, ModuleConditions, prefetch_conditions  # noqa: E402
from forkrun.config.conditions import ConditionConfig, PrefetchConfig  # noqa: E402
from forkrun.fork.safety import check_safe_to_fork  # noqa: E402
from tests.conditions.jobs import plan_of  # noqa: E402


def prefetch(kind: str, file: Path, n_iovs: int = 1, **params: Any) -> Conditions:
    iovs = [{"since": run, "params": {**params}} for run in range(1, n_iovs + 1)]
    config = ConditionConfig.checked(
        {"label": "x", "type": kind, "file": str(file), "params": params, "iovs": iovs}
    )
    units = plan_of(*((run, 1) for run in range(1, n_iovs + 1))).units
    return prefetch_conditions([config], PrefetchConfig(), units)


def read_cost(folder: Path) -> None:
    """Nanoseconds of `self.conditions["x"]`, and of changing to the IOV of a block."""
    np.save(folder / "small.npy", np.zeros(3))
    plain = {"x": np.zeros(3)}
    conditions = prefetch("npy", folder / "small.npy")
    view = ModuleConditions(conditions)
    for what, call in {
        "a plain dict": lambda: plain["x"],
        'self.conditions["x"]': lambda: view["x"],
        "the IOV of a block": lambda: view.enter_iov(0),
    }.items():
        n = 200_000
        seconds = min(timeit.repeat(call, number=n, repeat=5)) / n
        print(f"  {what:24s} {1e9 * seconds:6.0f} ns")


def own_megabytes() -> float:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def child_memory(n_children: int, use: Callable[[], object]) -> list[float]:
    """Megabytes that each child has for itself after `use`, while all of them are there."""
    check_safe_to_fork()
    gc.collect()
    gc.freeze()
    used, measured, told = os.pipe(), os.pipe(), os.pipe()
    go, end = os.pipe(), os.pipe()
    for _ in range(n_children):
        if os.fork() == 0:
            before = own_megabytes()
            use()
            os.write(used[1], b"x")
            os.read(go[0], 1)
            own = own_megabytes() - before
            os.write(measured[1], b"x")
            os.read(end[0], 1)
            os.write(told[1], f"{own:10.2f}".encode())
            os._exit(0)
    for reached, then in ((used, go), (measured, end)):
        for _ in range(n_children):
            os.read(reached[0], 1)
        os.write(then[1], b"x" * n_children)
    for _ in range(n_children):
        os.wait()
    return [float(os.read(told[0], 10)) for _ in range(n_children)]


def write_model(file: Path, megabytes: int) -> None:
    import onnx
    from onnx import helper, numpy_helper

    n = int((megabytes / 4 * 2**20 / 4) ** 0.5)
    rng = np.random.default_rng(1)
    nodes, weights, last = [], [], "x"
    for layer in range(4):
        matrix = rng.normal(size=(n, n)).astype(np.float32) / n
        weights.append(numpy_helper.from_array(matrix, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{layer}"], [f"y{layer}"]))
        last = f"y{layer}"
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", n])]
    outputs = [helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, ["n", n])]
    graph = helper.make_graph(nodes, "layers", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.save(model, file)


def report(what: str, megabytes: float, n_children: int, use: Callable[[], object]) -> None:
    figures = child_memory(n_children, use)
    print(
        f"  {what:24s} {megabytes:6.0f} MB in the parent; own memory of each of {n_children}"
        f" children: {max(figures):.1f} MB ({max(figures) / megabytes:.1%})"
    )


def sharing(folder: Path, megabytes: int, n_children: int) -> None:
    np.save(folder / "big.npy", np.ones(megabytes * 2**20 // 8))
    for mapped in (False, True):
        array = prefetch("npy", folder / "big.npy", memory_map=mapped).outside["x"]
        what = "array, memory-mapped" if mapped else "array"
        report(what, array.nbytes / 2**20, n_children, lambda a=array: float(a.sum()))
        del array
    if importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("onnx"):
        write_model(folder / "model.onnx", megabytes)
        before = own_megabytes()
        model = prefetch("onnx", folder / "model.onnx").outside["x"]
        (_, (_, n)) = model.inputs["x"]
        events = np.ones((10, n), dtype=np.float32)
        report("ONNX model", own_megabytes() - before, n_children, lambda: model(events).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--children", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("reading a condition:")
        read_cost(Path(folder))
        print("memory of children that have read a payload:")
        sharing(Path(folder), options.megabytes, options.children)


if __name__ == "__main__":
    main()
