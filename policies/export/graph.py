"""Models as ONNX graphs: traced by torch, checked against the model, written whole.

A module of this folder describes a kind of model as a `Graph`; `write_graph` makes the file.
Inputs are raw numbers in their units: every scaling is a part of the graph.
"""

from __future__ import annotations

import inspect
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ambulo.configs.errors import ModelFileError
from ambulo.policies.export.written import Written
from ambulo.policies.files.archive import write_atomic

FORMAT = "ambulo-graph"
VERSION = 1
OPSET = 18
IR_VERSION = 8
"""ONNX file version that belongs to the operator set, read by old runtimes too."""
TOLERANCE = 1e-5
"""Largest difference between an export and the model."""
BATCH = "batch"
"""Name of the first axis of everything: as many rows as the caller likes."""
MANY = 16
"""Rows of the larger check."""
_TRACED = 3
"""Rows of the examples that are traced; 1 would be taken for a constant."""

Arrays = tuple[NDArray[Any], ...]
Runner = Callable[..., Sequence[NDArray[Any]]]
"""Arrays of a graph's inputs to arrays of its outputs."""


@dataclass(frozen=True)
class Port:
    """One input or output of a graph; the first axis is the batch."""

    name: str
    """Unique among the inputs, or the outputs."""
    shape: tuple[int | str, ...]
    """Shape of one row; a name stands for an axis of any length."""
    unit: str
    """SI; `1` for numbers without a unit, `mixed` where `parts` have it."""
    meaning: str
    """For people."""
    parts: tuple[dict[str, Any], ...] = ()
    """Rows `name`, `start`, `stop`, `unit`, ... along the last axis."""
    either_sign: bool = False
    """Whether the last axis is a quaternion, which means the same as its negative."""
    type: str = "float32"
    """Type of its numbers."""

    def row(self) -> dict[str, Any]:
        """Return it as JSON."""
        found: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "shape": [BATCH, *self.shape],
            "unit": self.unit,
            "meaning": self.meaning,
        }
        return found | ({"parts": list(self.parts)} if self.parts else {})


@dataclass(frozen=True)
class Graph:
    """A model that can become an ONNX file."""

    kind: str
    """Kind of the model (see `policies/kinds`)."""
    module: nn.Module
    """Maps the inputs, in order, to the outputs: a tensor, or a tuple of several."""
    inputs: tuple[Port, ...]
    """Inputs of the graph."""
    outputs: tuple[Port, ...]
    """Outputs of the graph."""
    examples: Callable[[np.random.Generator, int], Arrays]
    """Plausible inputs of a number of rows."""
    reference: Callable[..., Arrays]
    """The model itself: arrays of the inputs to arrays of the outputs."""
    header: dict[str, Any] = field(default_factory=dict)
    """More for the header of the file; plain JSON."""
    left_out: tuple[str, ...] = ()
    """Steps of the model that are not in the graph; one line each."""

    def metadata(self) -> dict[str, Any]:
        """Return the header of the file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "inputs": [port.row() for port in self.inputs],
            "outputs": [port.row() for port in self.outputs],
            "not_in_the_graph": list(self.left_out),
            **self.header,
        }


def write_graph(graph: Graph, path: Path) -> Written:
    """Write `graph` as one ONNX file after comparing ONNX Runtime with the model.

    The metadata property `ambulo` of the file is `Graph.metadata` as JSON.

    Raises:
        ModelFileError: It cannot be traced or written, or differs from the model.
    """
    try:
        data = onnx_bytes(graph)
    except torch.onnx.OnnxExporterError as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise ModelFileError(
            f"{path}: torch cannot make a graph of this {graph.kind} model: {reason}"
        ) from error
    check_export(graph, onnx_runner(graph, data), str(path))
    write_atomic(path, data)
    return Written((path,), graph.left_out)


def onnx_bytes(graph: Graph) -> bytes:
    """Return `graph` as the bytes of an ONNX file."""
    import onnxscript  # noqa: F401  torch's exporter needs it
    from onnx import checker, helper

    rng = np.random.default_rng(0)
    rows = tuple(map(torch.as_tensor, graph.examples(rng, _TRACED)))
    axes: Any = tuple(
        {0: torch.export.Dim(BATCH)} | _named(port) for port in graph.inputs
    )
    given = inspect.signature(graph.module.forward).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in given):
        axes = (axes,)  # of one parameter that takes all
    with torch.no_grad(), _quiet():
        program = torch.onnx.export(
            graph.module.eval(),
            rows,
            input_names=[port.name for port in graph.inputs],
            output_names=[port.name for port in graph.outputs],
            dynamic_shapes=axes,
            opset_version=OPSET,
            dynamo=True,
            optimize=False,  # ONNX Runtime optimises; here it takes minutes
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _strip(model.graph)
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "ambulo", ""
    del model.metadata_props[:]
    helper.set_model_props(model, {"ambulo": json.dumps(graph.metadata())})
    checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def onnx_runner(graph: Graph, data: bytes) -> Runner:
    """Return a function of inputs to outputs that computes ONNX `data` of `graph`."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"]
    )
    inputs = [port.name for port in graph.inputs]
    outputs = [port.name for port in graph.outputs]
    return lambda *rows: session.run(outputs, dict(zip(inputs, rows, strict=True)))


def check_export(graph: Graph, run: Runner, source: str) -> None:
    """Refuse an export that differs from the model, on one row and on many.

    Args:
        graph: The model.
        run: Computes the export.
        source: Begins every error.

    Raises:
        ModelFileError: An output differs by more than `TOLERANCE`, as a fraction of its
            largest number where that is above 1.
    """
    rng = np.random.default_rng(1)
    for count in (1, MANY):
        rows = graph.examples(rng, count)
        expected, got = graph.reference(*rows), run(*rows)
        for port, want, have in zip(graph.outputs, expected, got, strict=True):
            wrong = port_difference(port, want, have)
            if not wrong <= TOLERANCE:
                raise ModelFileError(
                    f"{source}: the export's {port.name} differs from the model by "
                    f"{wrong:.2g}, at most {TOLERANCE:g} is allowed"
                )


def port_difference(port: Port, want: NDArray[Any], have: NDArray[Any]) -> float:
    """Return the largest difference, as a part of the largest number if above 1."""
    if want.shape != have.shape:
        return float("inf")
    if port.either_sign:
        want = np.where((want * have).sum(-1, keepdims=True) < 0.0, -want, want)
    return float(np.abs(want - have).max() / max(1.0, np.abs(want).max()))


def _named(port: Port) -> dict[int, Any]:
    """Return the axes of any length besides the batch."""
    named = {k: size for k, size in enumerate(port.shape, 1) if isinstance(size, str)}
    return {k: torch.export.Dim(name) for k, name in named.items()}


def _strip(graph: Any) -> None:
    """Remove notes on the source code, with paths of this machine, from a graph."""
    del graph.metadata_props[:]
    graph.doc_string = ""
    rows: Sequence[Any] = (
        *graph.node,
        *graph.input,
        *graph.output,
        *graph.initializer,
        *graph.value_info,
    )
    for row in rows:
        del row.metadata_props[:]
        row.doc_string = ""
    del graph.value_info[:]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's notes, which are not for users, off the terminal and logs."""
    logs = [logging.getLogger(name) for name in ("torch.onnx", "torch.__trace")]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


def scalar_parts(names: Sequence[str], **columns: Sequence[Any]) -> tuple[Any, ...]:
    """Return one part for each of `names`, with a value of each of `columns`."""
    return tuple(
        {"name": name, "start": k, "stop": k + 1}
        | {key: values[k] for key, values in columns.items()}
        for k, name in enumerate(names)
    )
