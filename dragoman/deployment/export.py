"""A trained model as ONNX graphs: start, step and output, in float32 or with matrices of 8-bit integers."""

import json
import logging
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from dragoman.data.batch import Sequence
from dragoman.data.source import only_text
from dragoman.deployment.engine import BEGUN, FOLDER, NOTE, VERSION, Note, Precision, digest, is_export, needed
from dragoman.errors import UserError
from dragoman.files import write_atomically
from dragoman.model.decoder.decoder import State
from dragoman.model.decoder.inputs import PreviousSymbol
from dragoman.model.output.output import Readout
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.state import each_tensor
from dragoman.run import Run

ROWS, SENTENCES, POSITIONS, STEPS = map(torch.export.Dim, "RBST")
Axes = dict[int, torch.export.Dim]
INT8 = ["MatMul", "Gemm"]  # what is done in 8-bit integers where one side is constant
WHOLE = 1 << 40  # bytes of a constant that is computed when the graph is made: however large it is


@contextmanager
def _quietly() -> Iterator[None]:
    """The exporter's and the quantiser's advice to programmers is none to users."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def write(run: Run, weights: str | None = None, *, int8: bool = False) -> Path:
    """Write the graphs of a run with these weights into its folder, and return theirs.

    UserError where the extra `onnx` is missing, and for a model that ONNX has no words for.
    """
    for module in ("onnx", "onnxscript", "onnxruntime"):
        needed(module)
    if not only_text(run.sources):
        raise UserError(f"{run.folder.path}: ONNX graphs are of models of one text; this one reads more, or numbers")
    config = run.config
    path = run.weights(weights)
    model, folder = run.model(weights), run.folder.path / FOLDER
    if what := "a sentinel" if config.combines else unknown_part(model):
        raise UserError(f"{run.folder.path}: has {what}, of which ONNX graphs know nothing")
    _begin(folder)
    try:
        graphs = export(model)
    except torch.onnx.OnnxExporterError as error:
        raise UserError(f"{run.folder.path}: this model cannot be exported ({str(error).splitlines()[0]})") from error
    files = {}
    for name, graph in graphs.models().items():
        file = folder / f"{name}.onnx"
        with write_atomically(file, "wb") as output:
            output.write((quantised(graph) if int8 else graph).SerializeToString())
        files[file.name] = digest(file)
    precision: Precision = "int8" if int8 else "float32"
    inside = path.is_relative_to(run.folder.path)
    name = str(path.relative_to(run.folder.path)) if inside else str(path.resolve())
    note = Note(VERSION, name, digest(path), precision, model.start_id, graphs.step_state, graphs.source_state, files)
    with write_atomically(folder / NOTE) as text:
        json.dump(note._asdict(), text, indent=1)
    return folder


def unknown_part(model: Seq2Seq) -> str:
    """What a model has that graphs of its decoder's step and of an output that reads features alone leave out."""
    if not isinstance(model.inputs, PreviousSymbol):
        return "a cursor"
    if not model.emission.direct:
        return "hard attention of order: 1"
    return "" if model.output.portable else f"the output {type(model.output).__name__}"


def _begin(folder: Path) -> None:
    """That the folder is an export's, or empty; only then may files be replaced there. UserError otherwise.

    A note that nothing is exported yet comes first, so that a killed export can be made again.
    """
    if is_export(folder):
        return
    if folder.is_dir() and any(path for path in folder.iterdir() if not path.name.startswith(f".{NOTE}.")):
        raise UserError(f"{folder}: exists, and is no export; move it elsewhere")
    with write_atomically(folder / NOTE) as text:
        json.dump(BEGUN, text)


class Graphs(NamedTuple):
    """ONNX models, and the names of the tensors of the state that pass between them."""

    start: Any
    step: Any
    output: Any
    step_state: list[str]
    source_state: list[str]

    def models(self) -> dict[str, Any]:
        return {"start": self.start, "step": self.step, "output": self.output}


@_quietly()
@torch.no_grad()
def export(model: Seq2Seq) -> Graphs:
    """The graphs of a model in evaluation mode. Tensors of its state that no step reads are left out."""
    ids, mask = _source(3, 5)
    state = _state(model, ids, mask, 3)
    step_state, source_state = _leaves(state.step_state), _leaves(state.source_state)
    others = [
        _leaves((other.step_state, other.source_state))
        for other in (
            _state(model, *_source(2, 5), 3),
            _state(model, *_source(3, 4), 3),
            _state(model, ids, mask, 2),
        )
    ]
    names = [f"step_state.{number}" for number in range(len(step_state))]
    fixed_names = [f"source_state.{number}" for number in range(len(source_state))]
    all_names = [*names, *fixed_names]
    axes = tuple(map(_axes, (*step_state, *source_state), *others))
    both: Axes = {0: SENTENCES, 1: POSITIONS}
    start = _exported(_Start(model), (ids, mask), (both, both), ["ids", "mask"], all_names)
    after = ["features", "weights", *(f"next.{name}" for name in names)]
    symbols, *several = (torch.cat([tensor, tensor]) for tensor in (ids[:, 0], *step_state))  # two rows of a sentence
    several_axes = ({**each, 0: ROWS} for each in axes[: len(step_state)])
    step = _exported(
        _Step(model, state),
        (symbols, (*several, *source_state)),
        ({0: ROWS}, (*several_axes, *axes[len(step_state) :])),
        ["symbols", *all_names],
        after,
    )
    features = model.step(ids[:, 0], state).features
    output = _exported(_Output(model), (features,), ({0: ROWS},), ["features"], ["log_probs"])
    _measure(step, ["symbols", *fixed_names])
    used = _read(step, names)
    moving_names, fixed_names = ([name for name in some if name in used] for some in (names, fixed_names))
    _keep(step, ["features", "weights", *(f"next.{name}" for name in moving_names)])
    _keep(start, [*moving_names, *fixed_names])
    return Graphs(start, step, output, moving_names, fixed_names)


@_quietly()
def quantised(model: Any) -> Any:
    """The same graph with its constant matrices as 8-bit integers, a scale for each column; what they multiply is cut
    to 8 bits anew at each call, with one scale for all rows.
    """
    from onnx import load
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    del model.graph.value_info[:]  # shapes that are no longer right while the graph is rewritten
    add_pre_process_metadata(model)  # the exporter has folded constants and found shapes already
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantised.onnx"
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=INT8,
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"EnableSubgraph": True},  # the encoder's loop
        )
        return load(path)


class _Start(nn.Module):
    """ids and mask (B, S) to the tensors of the first state."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        state = self.model.begin((Sequence(ids, mask),))
        return tuple(_leaves((state.step_state, state.source_state)))


class _Step(nn.Module):
    """Symbols (B) and the tensors of a state to features, attention and the tensors that have changed."""

    def __init__(self, model: Seq2Seq, like: State) -> None:
        super().__init__()
        self.model = model
        self.like = like

    def forward(self, symbols: Tensor, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        given = iter(tensors)
        step_state, source_state = each_tensor(lambda _: next(given), (self.like.step_state, self.like.source_state))
        features, weights, state = self.model.step(
            symbols, self.like._replace(step_state=step_state, source_state=source_state)
        )
        return features, weights, *_leaves(state.step_state)


class _Output(nn.Module):
    """Features (B, F) to log-probabilities of all symbols."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> Tensor:
        return self.model.output.log_probs(Readout(features))


def _source(rows: int, positions: int) -> tuple[Tensor, Tensor]:
    """A source to trace with; every row but the first has padding."""
    mask = torch.ones(rows, positions, dtype=torch.bool)
    mask[1:, 2:] = False
    return torch.ones(rows, positions, dtype=torch.long), mask


def _state(model: Seq2Seq, ids: Tensor, mask: Tensor, steps: int) -> State:
    """After some steps: the axes of one before the first step may have no length to trace with."""
    state = model.begin((Sequence(ids, mask),))
    for _ in range(steps):
        state = model.step(ids[:, 0], state).state
    return state


def _leaves(tree: Any) -> list[Tensor]:
    """The tensors of a state, in the order of `each_tensor`."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    each_tensor(note, tree)
    return found


def _axes(tensor: Tensor, *others: Tensor) -> Axes:
    """Which axes of a tensor count sentences, positions of the source and steps: it is compared with that of a state
    of fewer sentences, of shorter ones, and after fewer steps.
    """
    return {
        axis: kind
        for kind, other in zip((SENTENCES, POSITIONS, STEPS), others, strict=True)
        for axis in range(tensor.dim())
        if tensor.size(axis) != other.size(axis)
    }


def _exported(
    module: nn.Module, given: tuple[Any, ...], axes: tuple[Any, ...], inputs: list[str], outputs: list[str]
) -> Any:
    from onnxscript.optimizer import fold_constants

    # The exporter need not find out how many rows a sentence has.
    traced = torch.export.export(
        module.eval(), given, dynamic_shapes=axes, prefer_deferred_runtime_asserts_over_guards=True
    )
    program = torch.onnx.export(traced, input_names=inputs, output_names=outputs, dynamo=True, verbose=False)
    graph = cast(torch.onnx.ONNXProgram, program).model_proto
    fold_constants(graph, input_size_limit=WHOLE, output_size_limit=WHOLE)
    return graph


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, and those of the loops in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g)


def _needs(graph: Any, outputs: Iterable[str]) -> set[str]:
    """The names of all that these outputs are computed from."""
    needed = set(outputs)
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            for attribute in node.attribute:
                needed.update(name for inner in _nodes(attribute.g) for name in inner.input)
    return needed


def _read(step: Any, step_state: list[str]) -> set[str]:
    """The inputs that have an effect on what this step or a later one predicts or attends to."""
    needed: set[str] = set()
    wanted = {"features", "weights"}
    while not wanted <= needed:
        needed = _needs(step.graph, wanted)
        wanted |= {f"next.{name}" for name in step_state if name in needed}
    return needed


def _measure(step: Any, names: list[str]) -> None:
    """Let numbers of rows and positions be taken from these inputs: one that is only measured need not be there."""
    shapes = {each.name: [axis.dim_param for axis in each.type.tensor_type.shape.dim] for each in step.graph.input}
    places = {size: (name, axis) for name in names for axis, size in enumerate(shapes[name]) if size}
    for node in step.graph.node:
        if node.op_type == "Shape" and node.input[0] in shapes:
            bounds = {each.name: each for each in node.attribute}
            if bounds.keys() == {"start", "end"} and bounds["end"].i == bounds["start"].i + 1:
                size = shapes[node.input[0]][bounds["start"].i]
                if size in places:
                    node.input[0], bounds["start"].i = places[size]
                    bounds["end"].i = bounds["start"].i + 1


def _keep(model: Any, outputs: list[str]) -> None:
    """Leave these outputs, in this order, and what they are computed from."""
    graph = model.graph
    needed = _needs(graph, outputs)
    by_name = {each.name: each for each in graph.output}
    kept = {
        "output": [by_name[name] for name in outputs],
        "node": [node for node in graph.node if needed.intersection(node.output)],
        "input": [each for each in graph.input if each.name in needed],
        "initializer": [each for each in graph.initializer if each.name in needed],
    }
    for field, found in kept.items():
        held = getattr(graph, field)
        del held[:]
        held.extend(found)
