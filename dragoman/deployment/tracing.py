"""The parts of a model that a search calls, traced to ONNX graphs: the first state, a step, and the output."""

from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.data.batch import TokenBatch
from dragoman.deployment import graphs, search_graphs
from dragoman.deployment.engine import CANDIDATES_SUFFIX
from dragoman.deployment.fused import fuse_attention, set_places
from dragoman.model.output.output import Readout
from dragoman.model.output.softmax import LogLinearOutput
from dragoman.model.seq2seq import ModelState, Seq2Seq
from dragoman.model.state import map_tensors
from dragoman.torch_internals import shared_onnx_registry

ROWS, SENTENCES, POSITIONS, STEPS, PLACES = map(torch.export.Dim, "RBSTP")
Axes = dict[int, torch.export.Dim]
WHOLE = 1 << 40  # bytes: constants of any size are folded when the graph is made
SENTENCES_TRACED, POSITIONS_TRACED, STEPS_TRACED = 3, 5, 3  # sizes of the state that a step is traced with
PREDICTED = ["features", "weights"]  # outputs of a step beside the next state


class Graphs(NamedTuple):
    """ONNX models, and the names of the state's tensors that are passed between them."""

    start: Any
    step: Any
    output: Any
    step_state: list[str]
    source_state: list[str]
    candidates: search_graphs.CandidateOutput
    state_grows: bool  # from step to step

    def models(self, *, int8: bool) -> dict[str, Any]:
        """Return all graphs by name."""
        models = {"start": self.start, "step": self.step, "output": self.output}
        converted = {name: graphs.quantised(graph) if int8 else graph for name, graph in models.items()}
        step, output = converted["step"], converted["output"]
        carried = {name: _following(name) for name in self.step_state}
        outputs = {"": search_graphs.FullOutput(output), CANDIDATES_SUFFIX: self.candidates}
        several = {
            f"{name}{suffix}": make(step, output_of_steps, carried)
            for name, make in (("greedy", search_graphs.greedy_steps), ("beam", search_graphs.beam_steps))
            for suffix, output_of_steps in outputs.items()
        }
        return {**converted, "best": graphs.with_best(step, output), **several}


@graphs.quietly()
@shared_onnx_registry()
@torch.no_grad()
def trace(model: Seq2Seq) -> Graphs:
    """The graphs of a model in evaluation mode. Tensors of its state that no step reads are left out."""
    model = fuse_attention(model)
    (ids, mask), state = _source(SENTENCES_TRACED, POSITIONS_TRACED), _state(model)
    step_state, source_state = _state_inputs(model, state)
    source: Axes = {0: SENTENCES, 1: POSITIONS}
    start = _graph(
        _Start(model), [Input("ids", ids, source), Input("mask", mask, source)], _names([*step_state, *source_state])
    )
    symbols = Input("symbols", ids[:, 0], {0: SENTENCES})
    rows = map(_two_rows, [symbols, *step_state])
    places = Input("places", torch.arange(STEPS_TRACED + 2), {0: PLACES})
    step = _graph(
        _Step(model, state), [*rows, *source_state, places], [*PREDICTED, *map(_following, _names(step_state))]
    )
    features = Input("features", model.step(ids[:, 0], state).features, {0: ROWS})
    output = _graph(_Output(model), [features], ["log_probs"])
    assert isinstance(model.output, LogLinearOutput)  # as all portable ones are
    weight, bias = (part.detach().float().numpy() for part in (model.output.weight, model.output.bias))
    candidates = search_graphs.CandidateOutput(weight, bias)
    grows = any(STEPS in part.axes.values() for part in step_state)
    return _without_unread(Graphs(start, step, output, _names(step_state), _names(source_state), candidates, grows))


def _without_unread(traced: Graphs) -> Graphs:
    """Return the graphs without the tensors of the state that no step reads except for their sizes."""
    graphs.measure_by(traced.step, ["symbols", *traced.source_state])
    read = graphs.read_inputs(traced.step, PREDICTED, {name: _following(name) for name in traced.step_state})
    step_state, source_state = (
        [name for name in names if name in read] for names in (traced.step_state, traced.source_state)
    )
    graphs.keep(traced.start, [*step_state, *source_state])
    graphs.keep(traced.step, [*PREDICTED, *map(_following, step_state)])
    return traced._replace(step_state=step_state, source_state=source_state)


class Input(NamedTuple):
    """An input of a graph: its name, an example to trace with, and the names of its dynamic axes."""

    name: str
    example: Tensor
    axes: Axes


def _names(inputs: list[Input]) -> list[str]:
    return [graph_input.name for graph_input in inputs]


def _following(name: str) -> str:
    """Return the name of the output of a step that becomes this input of the next."""
    return f"next.{name}"


def _two_rows(one: Input) -> Input:
    """Return the input with two rows for each sentence."""
    return Input(one.name, torch.cat([one.example, one.example]), {**one.axes, 0: ROWS})


def _source(sentences: int, positions: int) -> tuple[Tensor, Tensor]:
    """Return a source to trace with; every sentence but the first has padding."""
    mask = torch.ones(sentences, positions, dtype=torch.bool)
    mask[1:, 2:] = False
    return torch.ones(sentences, positions, dtype=torch.long), mask


def _state(
    model: Seq2Seq,
    *,
    sentences: int = SENTENCES_TRACED,
    positions: int = POSITIONS_TRACED,
    steps: int = STEPS_TRACED,
) -> ModelState:
    """Return a state after some steps; before the first step, axes may have length 0, which cannot be traced."""
    ids, mask = _source(sentences, positions)
    state = model.begin((TokenBatch(ids, mask),))
    for _ in range(steps):
        state = model.step(ids[:, 0], state).state
    return state


def _state_inputs(model: Seq2Seq, state: ModelState) -> tuple[list[Input], list[Input]]:
    """Return the tensors of a state: those that change from step to step, and those of the source.

    The meaning of an axis is found by comparison with states of fewer sentences, shorter sentences, and fewer steps.
    """
    smaller = [
        _state(model, sentences=SENTENCES_TRACED - 1),
        _state(model, positions=POSITIONS_TRACED - 1),
        _state(model, steps=STEPS_TRACED - 1),
    ]

    def inputs(name: str, tree: Any, smaller_trees: list[Any]) -> list[Input]:
        aligned_leaves = zip(_leaves(tree), *map(_leaves, smaller_trees), strict=True)
        return [
            Input(f"{name}.{number}", tensor, _axes(tensor, compared))
            for number, (tensor, *compared) in enumerate(aligned_leaves)
        ]

    return (
        inputs("step_state", state.step_state, [smaller_state.step_state for smaller_state in smaller]),
        inputs("source_state", state.source_state, [smaller_state.source_state for smaller_state in smaller]),
    )


def _axes(tensor: Tensor, smaller: list[Tensor]) -> Axes:
    """Return the meaning of the axes whose sizes differ in a state of fewer sentences, positions or steps."""
    return {
        axis: counted
        for counted, other in zip((SENTENCES, POSITIONS, STEPS), smaller, strict=True)
        for axis in range(tensor.dim())
        if tensor.size(axis) != other.size(axis)
    }


def _leaves(tree: Any) -> list[Tensor]:
    """Return the tensors of a state, in the order of `map_tensors`."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    map_tensors(note, tree)
    return tensors


class _Start(nn.Module):
    """Maps ids and mask (B, S) to the tensors of the first state."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        ids, mask = tensors
        state = self.model.begin((TokenBatch(ids, mask),))
        return tuple(_leaves((state.step_state, state.source_state)))


class _Step(nn.Module):
    """Maps symbols (R), the tensors of a state and places of symbols to features, attention and the tensors that have
    changed.
    """

    def __init__(self, model: Seq2Seq, like: ModelState) -> None:
        super().__init__()
        self.model = model
        self.like = like

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        symbols, *tensors, places = inputs
        set_places(self.model, places)
        rest = iter(tensors)
        step_state, source_state = map_tensors(lambda _: next(rest), (self.like.step_state, self.like.source_state))
        features, weights, state = self.model.step(
            symbols, self.like._replace(step_state=step_state, source_state=source_state)
        )
        return features, weights, *_leaves(state.step_state)


class _Output(nn.Module):
    """Maps features (R, F) to log-probabilities of all symbols."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, *tensors: Tensor) -> Tensor:
        (features,) = tensors
        return self.model.output.log_probs(Readout(features))


def _graph(module: nn.Module, inputs: list[Input], outputs: list[str]) -> Any:
    """Trace a module with these inputs to a graph with these names of outputs."""
    from onnxscript.optimizer import fold_constants

    # The exporter need not infer how many rows a sentence has.
    traced = torch.export.export(
        module.eval(),
        tuple(graph_input.example for graph_input in inputs),
        dynamic_shapes=(tuple(graph_input.axes for graph_input in inputs),),
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    program = torch.onnx.export(traced, input_names=_names(inputs), output_names=outputs, dynamo=True, verbose=False)
    graph = cast(torch.onnx.ONNXProgram, program).model_proto
    fold_constants(graph, input_size_limit=WHOLE, output_size_limit=WHOLE)
    graphs.drop_unread_outputs(graph)
    return graph
