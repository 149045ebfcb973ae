"""A model in ONNX Runtime: the graphs that `export.py` wrote, behind the interface that searches use."""

from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, final

import torch
from torch import Tensor

from dragoman import devices
from dragoman.data.batch import SourceBatch, TokenBatch
from dragoman.data.vocabulary import SPECIALS
from dragoman.deployment.export_folder import ExportFolder
from dragoman.errors import UserError, missing_library
from dragoman.model.output.output import Distribution, Output, Readout
from dragoman.model.predictor import (
    UNLIMITED,
    Prediction,
    Predictor,
    RestrictableRunner,
    RestrictedPredictor,
    SearchSteps,
    StepRunner,
)
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import select_rows
from dragoman.run.run import Run

FOLDER = "onnx"  # in the run folder
CONSTANTS = "constants.bin"  # beside the graphs, which share it
Precision = Literal["float32", "int8"]


class Note(NamedTuple):
    """The description of an export: a file beside the graphs, written when they are complete."""

    version: int
    weights: str  # the file of the run that it was made from
    weights_digest: str  # SHA-256
    precision: Precision
    start_id: int
    step_state: list[str]  # names of the state's tensors that change from step to step
    source_state: list[str]  # names of the state's tensors that belong to the source
    state_grows: bool  # from step to step
    files: dict[str, str]  # SHA-256 of the graphs and their constants


VERSION = 6  # of the folder's format
CANDIDATES_SUFFIX = "_candidates"  # ends the names of graphs of searches among candidates
# Rows of models whose state grows, such as the keys of a Transformer, that several steps in one graph make faster: with
# 64, a Transformer is 10 % slower in greedy search.
MOST_ROWS = 16
# Rows with which a beam begins in the graph: otherwise its first step is a step by itself, of one row a sentence.
MOST_FIRST_ROWS = 16
# Optimizers of ONNX Runtime whose operators are slower than those that they replace: to normalize a sum of 320 rows
# takes 614 instead of 80 µs.
SLOWER = ["SkipLayerNormFusion"]
ROW_VALUES = {"greedy": "open", "beam": "totals"}  # what graphs of several steps read of each row besides its symbol


class Tensors(NamedTuple):
    """The tensors of the state that a step reads, in the order of the note's names."""

    step_state: tuple[Tensor, ...]
    source_state: tuple[Tensor, ...]


@final
class OnnxModel(Predictor[Tensors]):
    """Several graphs: `start` reads a source, `step` reads a symbol for each row, `output` turns features into log P;
    `best`, step and output in one, gives log P of the most probable symbols alone; `greedy` and `beam` make several
    steps of a search, those with CANDIDATES_SUFFIX among candidates. All but the first are loaded when they are needed.

    Inputs and outputs share memory with torch, so that searches select rows of a state as with a torch model.
    """

    def __init__(self, folder: Path, note: Note, threads: int, output: Callable[[], Output]) -> None:
        self.start_id = note.start_id
        self.weights = note.weights
        self.state_grows = note.state_grows
        self._moving = len(note.step_state)
        self._reads = ["symbols", *note.step_state, *note.source_state, "places"]
        self._search_graphs: dict[str, _Graph] = {}
        self._loop_inputs = [*(f"first {name}" for name in note.step_state), *note.source_state, "places"]
        self._folder = folder
        self._versions = {file: self._version(file) for file in note.files}
        self._threads = threads
        self._start = self._graph("start", ["ids", "mask"])
        self._torch_output = output

    def _graph(self, name: str, names: list[str], *, kept: bool = False) -> "_Graph":
        """Load a graph. UserError if another export has taken its place."""
        for file in (f"{name}.onnx", CONSTANTS):
            if self._version(file) != self._versions[file]:
                raise UserError(f"{self._folder / file}: has changed since the run was loaded; load it again")
        return _Graph(self._folder, self._threads, name, names, kept=kept)

    def _version(self, file: str) -> tuple[int, int] | None:
        """Return what differs after a file was replaced or written to; None if it is missing."""
        try:
            status = (self._folder / file).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    @cached_property
    def _step(self) -> "_Graph":
        return self._graph("step", self._reads, kept=True)

    @cached_property
    def _output(self) -> "_Graph":
        return self._graph("output", ["features"])

    @cached_property
    def _best(self) -> "_Graph":
        return self._graph("best", ["count", *self._reads], kept=True)

    def search_graph(self, name: str) -> "_Graph":
        """Return the graph of several steps of a search, with or without candidates."""
        if name not in self._search_graphs:
            value = ROW_VALUES[name.removesuffix(CANDIDATES_SUFFIX)]
            names = ["steps", "first symbols", f"first {value}", *self._loop_inputs, "candidates", "disallowed"]
            self._search_graphs[name] = self._graph(name, names, kept=True)
        return self._search_graphs[name]

    def begin(self, sources: tuple[SourceBatch, ...]) -> Tensors:
        (source,) = sources
        assert isinstance(source, TokenBatch)
        state = self._start(source.ids, source.mask)
        return Tensors(tuple(state[: self._moving]), tuple(state[self._moving :]))

    def predict(self, symbols: Int[Tensor, "R"], state: Tensors) -> Prediction[Tensors]:
        return self._predict(lambda features: Distribution(self._output(features)[0]), symbols, state)

    def _predict(
        self, output: Callable[[Float[Tensor, "R F"]], Distribution], symbols: Int[Tensor, "R"], state: Tensors
    ) -> Prediction[Tensors]:
        features, weights, *step_state = self._step(symbols, *self.inputs(state, 1))
        distribution, following = output(features), Tensors(tuple(step_state), state.source_state)
        return Prediction(distribution.log_probs, (weights,), following, distribution.ids, distribution.statistics)

    def _predict_best(self, count: Int[Tensor, "1"], symbols: Int[Tensor, "R"], state: Tensors) -> Prediction[Tensors]:
        log_probs, ids, weights, *step_state = self._best(count, symbols, *self.inputs(state, 1))
        return Prediction(log_probs, (weights,), Tensors(tuple(step_state), state.source_state), ids)

    def inputs(self, state: Tensors, steps: int) -> tuple[Tensor, ...]:
        """Return what the graph of some steps reads besides the last symbols: a state, and the places of the symbols in
        it and of those of the steps.
        """
        first = state.step_state[0]  # (R, K, T, P) if it is the keys of a layer; no other model reads places
        before = first.size(2) if first.dim() == 4 else 0
        return (*state.step_state, *state.source_state, torch.arange(before + steps))

    def reorder(self, state: Tensors, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Tensors:
        return Tensors(
            select_rows(state.step_state, rows),
            state.source_state if sentences is None else select_rows(state.source_state, sentences),
        )

    def restrict_to(self, symbols: Int[Tensor, "C"]) -> Predictor[Tensors]:
        output = self._torch_output().restrict_to(symbols)
        if output is None:
            return self
        return RestrictedPredictor(self, partial(self._predict, lambda features: output.predict(Readout(features))))

    def greedy_runner(self) -> RestrictableRunner:
        return _GreedyRunner(self)

    def beam_runner(self) -> RestrictableRunner:
        return _BeamRunner(self)

    def most_probable(self, count: int) -> Predictor[Tensors]:
        return RestrictedPredictor(self, partial(self._predict_best, torch.tensor([count + len(SPECIALS)])))


class _Runner(RestrictableRunner):
    """Runs the graph of several steps of a search, for all symbols or for `candidates`."""

    graph: ClassVar[str]

    def __init__(self, model: OnnxModel, candidates: tuple[Tensor, ...] = ()) -> None:
        self._model = model
        self._candidates = candidates
        self.most_rows = MOST_ROWS if model.state_grows else UNLIMITED
        self.most_first_rows = MOST_FIRST_ROWS

    def restrict_to(self, symbols: Int[Tensor, "C"], disallowed_mask: Bool[Tensor, "B C"] | None) -> StepRunner:
        mask = torch.zeros(1, 1, dtype=torch.bool) if disallowed_mask is None else disallowed_mask
        disallowed = torch.zeros(mask.shape).masked_fill_(mask, float("-inf"))
        return type(self)(self._model, (symbols, disallowed))

    def _run(
        self, steps: int, symbols: Int[Tensor, "R"], value: Tensor, state: Tensors
    ) -> tuple[list[Tensor], Float[Tensor, "T R S"], Tensors]:
        """Return what was chosen in each step, attention, and the following state."""
        graph = self._model.search_graph(f"{self.graph}{CANDIDATES_SUFFIX}" if self._candidates else self.graph)
        tensors = (torch.tensor(steps), symbols, value, *self._model.inputs(state, steps), *self._candidates)
        results = graph(*tensors)[2:]  # without the symbols and the value of a further step
        count = len(state.step_state)
        *chosen, weights = results[count:]
        return chosen, weights, state._replace(step_state=tuple(results[:count]))


@final
class _GreedyRunner(_Runner):
    """Ends when half of the rows have ended, so that the others go on without them."""

    graph = "greedy"
    most_steps = 64  # a deadline is looked at in between

    def __call__(
        self, symbols: Int[Tensor, "R"], totals: Float[Tensor, "R 1"], state: Tensors, steps: int
    ) -> SearchSteps:
        (chosen, log_probs), weights, following = self._run(steps, symbols, torch.ones(len(symbols)), state)
        rows = torch.zeros_like(chosen)
        return SearchSteps(rows.unsqueeze(2), chosen.unsqueeze(2), log_probs.unsqueeze(2), (weights,), following)


@final
class _BeamRunner(_Runner):
    """Proposes twice as many continuations as the beam is wide: that many go on, even if as many end."""

    graph = "beam"
    most_steps = 4  # more would go on longer with sentences that are done, fewer would be called more often
    most_open_steps = 64

    def __call__(
        self, symbols: Int[Tensor, "R"], totals: Float[Tensor, "B W"], state: Tensors, steps: int
    ) -> SearchSteps:
        (rows, proposed, log_probs), weights, following = self._run(steps, symbols, totals.float(), state)
        return SearchSteps(rows, proposed, log_probs, (weights,), following)


class _Graph:
    """One graph, from tensors to tensors; `names` are those of the inputs that it is called with, used or not. A graph
    that runs at each step has its memory `kept` between two calls, which is a tenth faster.
    """

    def __init__(self, folder: Path, threads: int, name: str, names: list[str], *, kept: bool = False) -> None:
        runtime = needed("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        options.enable_mem_pattern = False  # it would keep a memory plan for each shape, of which there are many
        options.enable_cpu_mem_arena = kept  # without it, memory goes back to the system at once
        options.add_session_config_entry("session.x64quantprecision", str(int(devices.switches().unsigned_int8)))
        # A spinning thread would take the core from torch, which does the search between two steps.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = runtime.InferenceSession(
            folder / f"{name}.onnx", options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
        used = {graph_input.name for graph_input in self._session.get_inputs()}
        self._inputs = [(name, place) for place, name in enumerate(names) if name in used]

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        arrays = self._session.run(None, {name: tensors[place].numpy() for name, place in self._inputs})
        return [torch.from_numpy(array) for array in arrays]


def folder_of(run: Run) -> ExportFolder:
    """The folder of the graphs of a run."""
    return ExportFolder(run.folder.path / FOLDER, "--onnx", VERSION)


def read(run: Run, weights: str | None, threads: int, output: Callable[[], Output]) -> OnnxModel:
    """Read the export in a run folder. Raises UserError if there is none, if it is damaged, if the weights that it was
    made from have changed, or if the named ones are others. `output` is the model's, for candidates.
    """
    needed("onnxruntime")
    note = read_note(run)
    folder_of(run).check(run, weights, note.weights, note.weights_digest, note.files)
    return OnnxModel(folder_of(run).path, note, threads, output)


def read_note(run: Run) -> Note:
    folder = folder_of(run)
    fields = folder.read()
    try:
        return Note(**fields)
    except TypeError as error:
        raise folder.damaged(error) from error


def needed(name: str) -> Any:
    """Import a module of the extra `onnx`. Raises UserError if the extra is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "onnx") from error
