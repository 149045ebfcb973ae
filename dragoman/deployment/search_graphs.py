"""ONNX graphs that make several steps of a search in one call: a loop around the step and the output of a model.

Python is entered once in several steps, and of the probabilities of all symbols only the best leave the graph.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.deployment.graphs import SMALL_CONSTANT, declare_results, join

LAST = np.array([-1])


class _Builder:
    """Appends operations to a graph. Each call appends one and returns the name of its result."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def __call__(self, operation: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        return self.several(operation, *inputs, names=[name], **attributes)[0]

    def several(self, operation: str, *inputs: str, names: list[str], **attributes: Any) -> list[str]:
        """Append an operation with several results; those without a name get one."""
        from onnx import helper

        count = len(self.graph.node)
        outputs = [name or f"{self.graph.name}.{count}.{number}" for number, name in enumerate(names)]
        self.graph.node.append(helper.make_node(operation, inputs, outputs, **attributes))
        return outputs

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"{self.graph.name}.constant.{len(self.graph.initializer)}"
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def top_k(self, values: str, count: str) -> tuple[str, str]:
        """Append the search for the largest values of the last axis: the values, and their indices."""
        largest, indices = self.several("TopK", values, count, names=["", ""], axis=-1)
        return largest, indices

    def gather(self, values: str, indices: str, name: str = "") -> str:
        return self("GatherElements", values, indices, name=name, axis=1)


class GraphOutput(ABC):
    """The output layer of a search graph. `inputs` are those that the graph needs for it, with their types."""

    inputs: ClassVar[dict[str, str]] = {}
    size: int  # of the vocabulary

    @abstractmethod
    def join(self, step: Any) -> Any:
        """Return a copy of a step with this output, or to which it will be appended."""

    @abstractmethod
    def prepare(self, graph: _Builder) -> None:
        """Append what is the same in all steps: the number of `columns`, one for each symbol."""

    @abstractmethod
    def predict(self, body: _Builder) -> str:
        """Append log P of each row and column, where that is missing, and return its name."""

    @abstractmethod
    def symbols(self, body: _Builder, columns: str) -> str:
        """Append the symbols of these columns."""


@final
class FullOutput(GraphOutput):
    """The graph of an output, with a column for each of the symbols."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        [log_probs] = graph.graph.output
        self.size = log_probs.type.tensor_type.shape.dim[1].dim_value

    def join(self, step: Any) -> Any:
        return join(step, self._graph)

    def prepare(self, graph: _Builder) -> None:
        graph("Identity", graph.constant(np.array([self.size])), name="columns")

    def predict(self, body: _Builder) -> str:
        return "log_probs"

    def symbols(self, body: _Builder, columns: str) -> str:
        return columns


@final
class CandidateOutput(GraphOutput):
    """A softmax of `W features + b` over candidates alone, with W (V, F) and b (V). Further inputs of the graph are the
    symbols that are `candidates` (C), in ascending order, and what is `disallowed` (B, C) or (1, 1): -inf for those
    that are candidates of other sentences only, otherwise 0.
    """

    inputs: ClassVar[dict[str, str]] = {"candidates": "INT64", "disallowed": "FLOAT"}

    def __init__(self, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        self._weight = weight
        self._bias = bias
        self.size = len(bias)

    def join(self, step: Any) -> Any:
        joined = type(step)()
        joined.CopyFrom(step)
        return joined

    def prepare(self, graph: _Builder) -> None:
        graph("Gather", graph.constant(self._weight), "candidates", name="candidates.weight", axis=0)
        graph("Gather", graph.constant(self._bias), "candidates", name="candidates.bias")
        graph("Shape", "candidates", name="columns")
        graph("Unsqueeze", "disallowed", graph.constant(np.array([1])), name="disallowed in rows")

    def predict(self, body: _Builder) -> str:
        logits = body("Gemm", "features", "candidates.weight", "candidates.bias", transB=1)
        by_sentence = body("Reshape", logits, "rows of sentences")  # (B, W, C)
        normalized = body("LogSoftmax", body("Add", by_sentence, "disallowed in rows"), axis=-1)
        return body("Reshape", normalized, body("Shape", logits))

    def symbols(self, body: _Builder, columns: str) -> str:
        return body("Gather", "candidates", columns)


def greedy_steps(step: Any, output: GraphOutput, carried: dict[str, str]) -> Any:
    """Return a graph of up to `steps` steps of greedy search; it stops when half of its rows have ended (if there is
    one row, when that has ended). `carried` maps inputs of the step to the outputs that are their next values.

    It returns the next symbols and the state after the last step, the symbols chosen in each step and their log P (T,
    R), and attention (T, R, S). A row that has ended goes on like the others; what it chooses then has no meaning.
    """

    def prepare(graph: _Builder) -> None:
        one = graph("Identity", graph.constant(np.array([1])), name="count")
        graph("Concat", graph("Shape", "first symbols"), one, graph.constant(LAST), name="rows of sentences", axis=0)

    def choose(body: _Builder) -> None:
        log_probs, symbols = _most_probable(body, output)
        best, index = body.top_k(log_probs, "count")
        last = body.constant(LAST)
        chosen = body("Squeeze", body.gather(symbols, index), last, name="symbol")
        body("Squeeze", best, last, name="log_prob")
        body("Identity", chosen, name="next.symbols")
        ends = body("Equal", chosen, body.constant(np.array(EOS)))
        still_open = body("Where", ends, body.constant(np.float32(0)), "open", name="next.open")
        body("Greater", body("ReduceMean", still_open, keepdims=0), body.constant(np.float32(0.5)), name="go_on")

    return _loop(step, output, carried, "open", prepare, choose, {"symbol": "INT64", "log_prob": "FLOAT"})


def beam_steps(step: Any, output: GraphOutput, carried: dict[str, str]) -> Any:
    """Return a graph of up to `steps` steps of beam search; it stops when a hypothesis of every sentence ends. `totals`
    (B, W) are log P of its rows so far.

    It returns the next symbols and totals, and the state after the last step; of each step the P = 2 W best
    continuations of each sentence, as rows within the sentence, symbols and log P (T, B, P), best first; and attention
    (T, R, S). The rows of the next step are the best continuations that do not end: at most W of them do.
    """

    def prepare(graph: _Builder) -> None:
        width = graph("Shape", "first totals", start=1, name="width")
        graph("Add", width, width, name="count")
        last = graph.constant(LAST)
        graph("Concat", graph("Shape", "first totals"), last, name="rows of sentences", axis=0)
        graph("Concat", graph("Shape", "first totals", end=1), last, name="sentences", axis=0)
        scalar_width = graph("Squeeze", "width", name="scalar width")
        starts = graph("Range", graph.constant(np.array(0)), graph("Size", "first totals"), scalar_width)
        graph("Unsqueeze", starts, last, name="first rows")

    def choose(body: _Builder) -> None:
        log_probs, symbols = _most_probable(body, output)
        last = body.constant(LAST)
        # All continuations of the rows of a sentence side by side.
        row_width = body("Shape", log_probs, start=1)
        continued = body("Add", body("Reshape", log_probs, "rows of sentences"), body("Unsqueeze", "totals", last))
        sums = body("Reshape", continued, "sentences")
        # TopK ranks NaN lowest, and the search would not see it.
        visible = body("Where", body("IsNaN", sums), body.constant(np.float32(np.inf)), sums)
        totals, indices = body.top_k(visible, "count")
        proposed = body.gather(body("Reshape", symbols, "sentences"), indices, name="symbol")
        body.gather(body("Reshape", log_probs, "sentences"), indices, name="log_prob")
        rows = body("Div", indices, row_width, name="row")
        # Those that do not end go on, however improbable they are.
        possible = body("Max", totals, body.constant(np.finfo(np.float32).min))
        ends = body("Equal", proposed, body.constant(np.array(EOS)))
        _, kept = body.top_k(body("Where", ends, body.constant(np.float32(-np.inf)), possible), "width")
        body.gather(totals, kept, name="next.totals")
        body("Reshape", body.gather(proposed, kept), last, name="next.symbols")
        parents = body("Reshape", body("Add", body.gather(rows, kept), "first rows"), last)
        for name in carried.values():
            body("Gather", name, parents, name=f"kept.{name}")
        # Without an end among the best, those are kept. The last one has the highest index.
        last_kept = body("Gather", kept, body.constant(np.array(-1)), axis=1)
        body("Less", body("ReduceMin", last_kept, keepdims=0), "scalar width", name="go_on")

    next_state = {name: f"kept.{following}" for name, following in carried.items()}
    chosen = {"row": "INT64", "symbol": "INT64", "log_prob": "FLOAT"}
    return _loop(step, output, next_state, "totals", prepare, choose, chosen)


def _most_probable(body: _Builder, output: GraphOutput) -> tuple[str, str]:
    """Append the `count` most probable symbols of each row that a translation may contain: log P and ids. The symbols
    that none contains may come last, with log P of -inf.
    """
    forbidden = np.zeros(output.size, np.float32)
    forbidden[PAD : BOS + 1] = -np.inf
    more = body("Add", "count", body.constant(np.array([BOS + 1 - PAD])))
    log_probs, columns = body.top_k(output.predict(body), body("Min", more, "columns"))
    symbols = output.symbols(body, columns)
    return body("Add", log_probs, body("Gather", body.constant(forbidden), symbols)), symbols


class _LoopState(NamedTuple):
    """A tensor that goes from step to step: its names as a step reads it and as it returns it, its type, and its axes,
    as far as they are the same in all steps.
    """

    name: str
    next_name: str
    dtype: str
    axes: list[int | str | None] | None


def _loop(
    step: Any,
    output: GraphOutput,
    carried: dict[str, str],
    value: str,
    prepare: Callable[[_Builder], None],
    choose: Callable[[_Builder], None],
    chosen: dict[str, str],
) -> Any:
    """Return a graph that repeats the step, the output and what `choose` appends to them, which decides by `go_on`
    whether another step follows. What `prepare` appends is computed once before.

    From step to step go the symbols, a further `value` of each row, and the state, whose inputs and outputs of the step
    are `carried`. The graph returns these after the last step, and of all steps what was `chosen`, by name and type,
    and attention.
    """
    from onnx import TensorProto, helper

    merged = output.join(step)
    body = merged.graph
    types = {read.name: read.type.tensor_type for read in body.input}
    [rows] = types["symbols"].shape.dim
    loop_state = [
        _LoopState("symbols", "next.symbols", "INT64", [rows.dim_param]),
        _LoopState(value, f"next.{value}", "FLOAT", None),
    ]
    for name, following in carried.items():
        # ONNX Runtime uses a buffer again for a tensor that has the same shape; other axes may grow with each step.
        axes = [axis.dim_value or (axis.dim_param if axis == rows else None) for axis in types[name].shape.dim]
        dtype = TensorProto.DataType.Name(types[name].elem_type)
        loop_state.append(_LoopState(name, following, dtype, axes))
    sources = [read for read in body.input if read.name not in {tensor.name for tensor in loop_state}]
    step_outputs = {**chosen, "weights": "FLOAT"}
    choose(_Builder(body))
    for name in step_outputs:  # a result of the step may be the value of the next one, too
        body.node.append(helper.make_node("Identity", [name], [f"{name} of step"]))
    _declare_body(body, loop_state, step_outputs)
    first, last = ([f"{place} {tensor.name}" for tensor in loop_state] for place in ("first", "last"))
    graph = helper.make_graph(
        [],
        "search",
        [
            _declare("steps", "INT64", []),
            *(_declare(name, tensor.dtype) for name, tensor in zip(first, loop_state, strict=True)),
            *sources,
            *(_declare(name, dtype) for name, dtype in output.inputs.items()),
        ],
        [
            *(_declare(name, tensor.dtype) for name, tensor in zip(last, loop_state, strict=True)),
            *(_declare(name, dtype) for name, dtype in step_outputs.items()),
        ],
    )
    prepare(_Builder(graph))
    output.prepare(_Builder(graph))
    _move_invariants(body, graph)
    graph.node.append(helper.make_node("Loop", ["steps", "", *first], [*last, *step_outputs], body=body))
    merged.graph.CopyFrom(graph)
    return merged


def _move_invariants(body: Any, graph: Any) -> None:
    """Move what is the same in all steps from the body of a loop to the graph before it: mostly sizes, since the number
    of rows does not change.
    """
    constants = {tensor.name: tensor for tensor in body.initializer if len(tensor.raw_data) < SMALL_CONSTANT}
    outputs = (name for node in graph.node for name in node.output)
    invariants = {"", *constants, *(graph_input.name for graph_input in graph.input), *outputs}
    moved = []
    for node in body.node:
        if node.op_type == "Shape" and node.input[0] == "symbols":
            node.input[0] = "first symbols"
        if invariants.issuperset(node.input) and not any(attribute.HasField("g") for attribute in node.attribute):
            invariants.update(node.output)
            moved.append(node)
    read = {name for node in moved for name in node.input}
    for part, field in (
        *((node, "node") for node in moved),
        *((tensor, "initializer") for name, tensor in constants.items() if name in read),
    ):
        getattr(graph, field).append(part)
        getattr(body, field).remove(part)


def _declare_body(body: Any, loop_state: list[_LoopState], step_outputs: dict[str, str]) -> None:
    """Declare the inputs and outputs of the body of a loop, in the order of those of the loop."""
    for field in (body.input, body.output, body.value_info):
        del field[:]
    body.input.extend([_declare("iteration", "INT64", []), _declare("continue", "BOOL", [])])
    body.input.extend(_declare(tensor.name, tensor.dtype, tensor.axes) for tensor in loop_state)
    declare_results(body)
    body.output.append(_declare("go_on", "BOOL", []))
    body.output.extend(_declare(tensor.next_name, tensor.dtype) for tensor in loop_state)
    body.output.extend(_declare(f"{name} of step", dtype) for name, dtype in step_outputs.items())


def _declare(name: str, dtype: str, axes: list[int | str | None] | None = None) -> Any:
    """Return the declaration of a tensor with these axes, or with any."""
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.DataType.Value(dtype), axes)
