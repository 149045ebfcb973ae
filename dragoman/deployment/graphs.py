"""Analysis, pruning, joining and quantisation of ONNX graphs: what outputs depend on, and what can be left out."""

import hashlib
import logging
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.data.vocabulary import SPECIALS

SMALL_CONSTANT = 1024  # bytes; smaller ones stay in the graph
PAGE = 4096  # bytes; ONNX Runtime maps constants that begin with a page
INT8 = ["MatMul", "Gemm"]  # operations done in 8-bit integers if one operand is constant


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the exporter and the quantiser, whose advice is for programmers."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def keep(model: Any, outputs: list[str]) -> None:
    """Keep only these outputs, in this order, and what they are computed from."""
    graph = model.graph
    needed = _needed(graph, outputs)
    by_name = {value_info.name: value_info for value_info in graph.output}
    kept = {
        "output": [by_name[name] for name in outputs],
        "node": [node for node in graph.node if needed.intersection(node.output)],
        "input": [graph_input for graph_input in graph.input if graph_input.name in needed],
        "initializer": [initializer for initializer in graph.initializer if initializer.name in needed],
    }
    for field, parts in kept.items():
        held = getattr(graph, field)
        del held[:]
        held.extend(parts)


def drop_unread_outputs(model: Any) -> None:
    """Take the names of results that nothing reads from operators of ONNX Runtime, which do not compute them then."""
    graph = model.graph
    read = {name for node in _nodes(graph) for name in node.input} | {output.name for output in graph.output}
    for node in graph.node:
        if node.domain:
            outputs = [name if name in read else "" for name in node.output]
            while not outputs[-1]:
                outputs.pop()
            node.output[:] = outputs


def join(step: Any, output: Any) -> Any:
    """Return the step and the output as one graph."""
    from onnx import compose

    named = compose.add_prefix(output, "output.", rename_inputs=False, rename_outputs=False)
    return compose.merge_models(step, named, [("features", "features")])


def with_best(step: Any, output: Any) -> Any:
    """Return the step and the output as one graph, which leaves out most symbols: it has those that are among the
    `count` most probable ones of any row, and the specials. It returns their log P, their ids in ascending order, and
    the other outputs of the step.
    """
    from onnx import TensorProto, helper, numpy_helper

    merged = join(step, output)
    graph, [log_probs] = merged.graph, output.graph.output
    other_outputs = [output_info.name for output_info in step.graph.output if output_info.name != "features"]
    symbols = log_probs.type.tensor_type.shape.dim[1].dim_value
    for name, numbers in (("best.most", [symbols]), ("best.specials", range(len(SPECIALS))), ("best.row", [-1])):
        graph.initializer.append(numpy_helper.from_array(np.array(numbers, dtype=np.int64), name))
    graph.input.append(helper.make_tensor_value_info("count", TensorProto.INT64, [1]))
    graph.node.extend(
        [
            helper.make_node("Min", ["count", "best.most"], ["best.count"]),
            helper.make_node("TopK", ["log_probs", "best.count"], ["best.values", "best.columns"]),
            helper.make_node("Reshape", ["best.columns", "best.row"], ["best.flat"]),
            helper.make_node("Concat", ["best.specials", "best.flat"], ["best.all"], axis=0),
            helper.make_node("Unique", ["best.all"], ["ids"]),
            helper.make_node("Gather", ["log_probs", "ids"], ["best.log_probs"], axis=1),
        ]
    )
    graph.output.append(helper.make_tensor_value_info("best.log_probs", TensorProto.FLOAT, ["R", "C"]))
    graph.output.append(helper.make_tensor_value_info("ids", TensorProto.INT64, ["C"]))
    keep(merged, ["best.log_probs", "ids", *other_outputs])
    return merged


@quietly()
def quantised(model: Any) -> Any:
    """Quantise the constant matrices of a graph to 8-bit integers, with a scale for each column. What they multiply is
    quantised at each call (dynamic quantisation), with one scale for all rows. A matrix of one column, such as the
    vector of an additive score, stays in float32: quantising what it multiplies takes longer than the product.
    """
    from onnx import TensorProto, load
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    del model.graph.value_info[:]  # shapes that become wrong while the graph is rewritten
    single_columns = {tensor.name for tensor in model.graph.initializer if tensor.dims[1:] == [1]}
    add_pre_process_metadata(model)  # the exporter has already folded constants and inferred shapes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantised.onnx"
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=INT8,
            per_channel=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=[node.name for node in _nodes(model.graph) if single_columns.intersection(node.input)],
            # Subgraphs: the encoder's loop. The types of results of ONNX Runtime's own operators are not inferred.
            extra_options={"EnableSubgraph": True, "DefaultTensorType": TensorProto.FLOAT},
        )
        model = load(path)
    declare_results(model.graph)
    return model


def declare_results(graph: Any) -> None:
    """Declare the results of ONNX Runtime's own operators, whose types it does not always infer."""
    from onnx import TensorProto, helper

    names = [name for node in graph.node if node.domain for name in node.output if name]
    graph.value_info.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)


def share_constants(models: Iterable[Any], file: str) -> bytearray:
    """Move the large constants of all models into one file of this name beside them, in which equal ones are stored
    once, and return its content.
    """
    from onnx import TensorProto
    from onnx.external_data_helper import set_external_data

    content = bytearray()
    offsets: dict[bytes, int] = {}
    for model in models:
        for tensor in _constants(model.graph):
            data = tensor.raw_data
            if len(data) < SMALL_CONSTANT:
                continue
            digest = hashlib.sha256(data).digest()
            if digest not in offsets:
                content.extend(bytes(-len(content) % PAGE))
                offsets[digest] = len(content)
                content.extend(data)
            set_external_data(tensor, file, offsets[digest], len(data))
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
    return content


def read_inputs(step: Any, outputs: Iterable[str], carried: dict[str, str]) -> set[str]:
    """Return the inputs that affect these outputs, of this step or of a later one. `carried` maps an input to the
    output of the step before that it receives.
    """
    wanted = set(outputs)
    needed: set[str] = set()
    while not wanted <= needed:
        needed = _needed(step.graph, wanted)
        wanted |= {output for name, output in carried.items() if name in needed}
    return needed


def measure_by(model: Any, names: Iterable[str]) -> None:
    """Read sizes from these inputs instead of others, so that an input of which only sizes are read is not needed."""
    sizes = {
        graph_input.name: [axis.dim_param for axis in graph_input.type.tensor_type.shape.dim]
        for graph_input in model.graph.input
    }
    places = {size: (name, axis) for name in names for axis, size in enumerate(sizes[name]) if size}
    for node in model.graph.node:
        bounds = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type != "Shape" or node.input[0] not in sizes or bounds.keys() != {"start", "end"}:
            continue
        start, end = bounds["start"], bounds["end"]
        size = sizes[node.input[0]][start.i]
        if end.i == start.i + 1 and size in places:
            node.input[0], start.i = places[size]
            end.i = start.i + 1


def _needed(graph: Any, outputs: Iterable[str]) -> set[str]:
    """Return the names of everything that these outputs are computed from; nodes are in topological order."""
    needed = set(outputs)
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            for attribute in node.attribute:
                needed.update(name for inner in _nodes(attribute.g) for name in inner.input)
    return needed


def _constants(graph: Any) -> Iterator[Any]:
    """Yield the constants of a graph, and those of the loops in it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield from _constants(attribute.g)


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, and those of the loops in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g)
