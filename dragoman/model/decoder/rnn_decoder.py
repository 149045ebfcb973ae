"""The recurrent decoder."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Layers, Rate, Size
from dragoman.model.attention.attention import Attention, AttentionHistory, AttentionOutput, GlobalAttention
from dragoman.model.attention.normalizers import WeightedValues
from dragoman.model.attention.sources.combination import Combination, DecoderQuery, OneSource, as_combination
from dragoman.model.decoder.decoder import Decoder, DecoderState, DecoderStep, StepByPosition, StepsByPosition, Unrolled
from dragoman.model.decoder.external_memory import Cells, ExternalMemory
from dragoman.model.decoder.input_feeding import INPUT_FEEDINGS, InputFeedingKind, ReadoutInputs
from dragoman.model.decoder.timing import TIMINGS, AttendKind, StepOutput
from dragoman.model.dropout import Dropout
from dragoman.model.linear import deferred_weight_gradients
from dragoman.model.memory import Memory, StateShape
from dragoman.model.projection_norm import ProjectionNormKind
from dragoman.model.readout import READOUTS, ReadoutKind, ReadoutSizes, TanhReadout
from dragoman.model.recurrent import CELLS, CellKind, CellState, Recurrence, Transitions, build_cell
from dragoman.model.shapes import Float

Attend = Callable[[Tensor, Tensor, DecoderState], AttentionOutput]


class Masks(NamedTuple):
    """Variational dropout masks, drawn once per sentence; None if no mask is shared over time."""

    fed: Tensor | None  # also of the vector read from an external memory
    context: Tensor | None
    layers: tuple[Tensor | None, ...]
    recurrent: tuple[Tensor | None, ...]  # one per layer, then one for the second cell of layer 1
    features: Tensor | None


class RnnStepState(NamedTuple):
    """The state of the decoder that changes from step to step."""

    layers: tuple[CellState, ...]
    fed: Float[Tensor, "R X"]  # read by the next step in addition to the symbol; X = 0 for `input_feeding: none`
    history: AttentionHistory  # of attention
    cells: Cells | tuple[()] = ()  # of an external memory


class _UnrolledSteps(NamedTuple):
    """All steps over a reference."""

    outputs: Float[Tensor, "B T D"]
    weights: Float[Tensor, "B T S"]
    weighted_values: WeightedValues
    fed: list[Float[Tensor, "R X"]]  # the vector that each step passes to the next


@final
class RnnDecoder(Decoder):
    """A stack of `layers` recurrent layers, of cells of the kind `cell`, that attends to the source once per symbol.

    `attend` says when: `before` the update, with s_(t-1) as query and the context among the cell's inputs (CN, AN);
    `after` it, with s_t as query (NT, Luong); `between` the two cells of the first layer, the conditional GRU
    (Firat and Cho; LH 4.1), with any cell. Query and state are the top layer's, except that `between` queries with
    the first cell's output (with `residual`, `before` queries with the top cell's own state). `input_feeding` is what
    the next step reads in addition to its symbol: `none`, the `context` (NT (72)) or the `attentional` vector, which is
    the features (Luong's input feeding: concatenated with the embedding). `readout` is what the output layer
    reads; see `readout.py`. `external_memory` is the number of memory cells that the decoder reads and writes at each
    step, with the state of the top layer; the vector read is another input of the first cell; see
    `external_memory.py`.

    `input_size` is the size of the embeddings, `memory_sizes` are those of the encoder states of each source, and
    `attend_to(query size, state sizes)` builds the attention, or a combination of several.

    `dropout` acts on contexts, fed vectors and vectors read from memory as they enter a cell, between layers, and on
    the features as the output layer reads them; with `variational`, its masks are shared over time. `recurrent_dropout`
    acts on h before the recurrent matrix of a cell, with one mask per cell and sentence. `size` is the size of each
    cell's state, `readout_size` that of the features (by default the size of the embeddings, so that the output layer
    can be tied to them). `transitions` are further cells in each step of the first layer, after the one that reads the
    context, and `upper_transitions` those of each other layer (`DeepCell`). `layer_norm` normalizes the products of
    cells, `readout_norm` those of the readout, one for each of its inputs.
    """

    reports_drawn = True

    def __init__(
        self,
        input_size: int,
        memory_sizes: tuple[int, ...],
        attend_to: Callable[[int, tuple[int, ...]], Attention | Combination],
        *,
        cell: CellKind = "gru",
        size: Size = 512,
        layers: Layers = 1,
        attend: AttendKind = "after",
        input_feeding: InputFeedingKind = "none",
        readout: ReadoutKind = "tanh",
        readout_size: Size | None = None,
        residual: bool = False,
        external_memory: Size | None = None,
        dropout: Rate = 0.0,
        variational: bool = True,
        recurrent_dropout: Rate = 0.0,
        layer_norm: ProjectionNormKind = "none",
        transitions: Transitions = 0,
        upper_transitions: Transitions = 0,
        readout_norm: ProjectionNormKind = "none",
    ) -> None:
        super().__init__()
        self.attention = as_combination(attend_to(size, memory_sizes))
        context = self.attention.size
        _check(context, attend, input_feeding, readout, readout_size)
        timing, kind = TIMINGS[attend], READOUTS[readout]
        # An external memory reads the source, too.
        self.attends = context > 0 or external_memory is not None
        self.reads_ahead = external_memory is not None  # its initial contents depend on the whole source
        self.features = kind(ReadoutSizes(size, context, input_size, readout_size or input_size, readout_norm))
        self.features_size = self.features.size
        self.feed = INPUT_FEEDINGS[input_feeding](self.features, context)
        self.defers_attention = not (timing.enters_a_cell() or self.feed.feeds_back) and self.attention.batches_steps
        self.external = ExternalMemory(size, sum(memory_sizes), external_memory) if external_memory else None
        self.input_size = input_size
        self.extra_size = self.feed.size + (size if self.external else 0)
        context_offset = input_size + self.extra_size
        first_input_size = context_offset + (context if timing.first_reads_context else 0)
        build = partial(build_cell, cell, size=size, layer_norm=layer_norm)
        second = timing.second_reads_context
        lowest = build(first_input_size, transitions=0 if second else transitions)
        cells = nn.ModuleList([lowest, *(build(size, transitions=upper_transitions) for _ in range(layers - 1))])
        self.cells = cast(Sequence[Recurrence], cells)
        self.second = build(context, transitions=transitions) if second else None
        self.residual = residual
        self.dropout = Dropout(dropout, variational)
        self.timing = timing(self.cells[0], self.second, context_offset, self.dropout)
        self.recurrent_dropout = Dropout(recurrent_dropout)
        self.state_shape = StateShape(layers, size, CELLS[cell].components)

    @classmethod
    def ignores_attention(cls, options: Mapping[str, Any]) -> bool:
        # The features may read the context, but no state does.
        return not (TIMINGS[options["attend"]].enters_a_cell() or INPUT_FEEDINGS[options["input_feeding"]].feeds_back)

    def add_second_readout(self, size: int) -> None:
        """Add a vector that one kind of output needs (`Output.second_readout_size`); it is not fed back."""
        self.second_readout = TanhReadout(
            ReadoutSizes(self.state_shape.size, self.attention.size, self.input_size, size)
        )
        self.features_size += size

    def start(self, memories: tuple[Memory, ...], layers: tuple[CellState, ...]) -> DecoderState:
        like = layers[0][0]
        size = self.state_shape.size
        # Drawn once: with `variational`, all steps of a sentence share a mask.
        masks = Masks(
            fed=self.dropout.mask(like, self.extra_size),
            context=self.dropout.mask(like, self.attention.size),
            layers=tuple(self.dropout.mask(like, size) for _ in layers[1:]),
            recurrent=tuple(
                self.recurrent_dropout.mask(like, size) for _ in range(len(layers) + (self.second is not None))
            ),
            features=self.dropout.mask(like, self.features_size),
        )
        prepared_sources = self.attention.prepare(memories)
        cells = self.external.start(memories) if self.external else ()
        step_state = RnnStepState(
            layers, like.new_zeros(like.size(0), self.feed.size), self.attention.start(prepared_sources), cells
        )
        return DecoderState(step_state, prepared_sources, masks)

    def step(self, embedded: Float[Tensor, "R E"], state: DecoderState) -> DecoderStep:
        step, state = self._advance(embedded, self.cells[0].project(embedded), state, self.attend)
        inputs = ReadoutInputs(step.output, step.attention_output.context, embedded)
        # With input feeding of the attentional vector, this is the features, and is not computed again.
        features = self._with_second_readout(self.feed.features(inputs, lambda: state.step_state.fed), inputs)
        return DecoderStep(
            self.dropout.step(features, state.masks.features), step.attention_output.history.weights, state
        )

    def unroll(self, embedded: Float[Tensor, "B T E"], state: DecoderState) -> Unrolled:
        """Return all steps; whatever does not depend on the loop is computed for all steps together."""
        unrolled = self._unrolled(embedded, state)
        inputs = ReadoutInputs(unrolled.outputs, unrolled.weighted_values.context, embedded)
        features = self._with_second_readout(self.feed.features(inputs, lambda: torch.stack(unrolled.fed, 1)), inputs)
        features = self.dropout.steps(features, state.masks.features)
        return Unrolled(features, unrolled.weights, unrolled.weighted_values.drawn)

    def step_by_position(self, embedded: Float[Tensor, "R E"], state: DecoderState) -> StepByPosition:
        """Return one step in evaluation, with the features for each position that hard attention could draw: it sums
        the probabilities of the next symbol over all of them.
        """
        step, state = self._advance(embedded, self.cells[0].project(embedded), state, self.attend)
        weights = step.attention_output.history.weights
        rows, width = weights.shape
        values = state.source_state.values  # (B, S, C)
        contexts = values.repeat_interleave(rows // values.size(0), 0)
        output, read = (tensor.unsqueeze(1).expand(-1, width, -1) for tensor in (step.output, embedded))
        return StepByPosition(self.features(output, contexts, read), weights, state)

    def unroll_by_position(self, embedded: Float[Tensor, "B T E"], state: DecoderState) -> StepsByPosition:
        """Unroll for `attend: after` with `input_feeding: none`, where no state depends on positions drawn before."""
        unrolled = self._unrolled(embedded, state)

        def expand(tensor: Tensor, axis: int) -> Tensor:
            """Return (B, T, X) or (B, S, X) as (B, T, S, X)."""
            return tensor.unsqueeze(axis).expand(*unrolled.weights.shape, -1)

        contexts = expand(state.source_state.values, 1)
        features = self.features(expand(unrolled.outputs, 2), contexts, expand(embedded, 2))
        flat = self.dropout.steps(features.flatten(1, 2), state.masks.features)  # (B, T S, F)
        return StepsByPosition(unrolled.outputs, unrolled.weights, flat.view_as(features))

    def by_source(self, weights: Float[Tensor, "*_ S"], state: DecoderState) -> tuple[Float[Tensor, "*_ _"], ...]:
        return self.attention.by_source(weights, state.source_state)

    def _with_second_readout(
        self, features: Float[Tensor, "*rows _"], inputs: ReadoutInputs
    ) -> Float[Tensor, "*rows F"]:
        return features if self.second_readout is None else torch.cat([features, self.second_readout(*inputs)], -1)

    def _unrolled(self, embedded: Float[Tensor, "B T E"], state: DecoderState) -> _UnrolledSteps:
        steps: list[StepOutput] = []
        fed: list[Tensor] = []
        # The part of the first cell's input that is known before the loop: one product for all steps.
        projected = self.cells[0].project(embedded)
        # No state depends on these contexts: one product over all steps is faster than one for each.
        attend = self._defer_attention if self.defers_attention else self.attend
        # Gradients of weights are computed once, after the loop (`linear.py`): saves 4 % of a training step.
        with deferred_weight_gradients():
            for now, now_projected in zip(embedded.unbind(1), projected.unbind(1), strict=True):
                step, state = self._advance(now, now_projected, state, attend)
                steps.append(step)
                fed.append(state.step_state.fed)
        outputs = torch.stack([step.output for step in steps], 1)  # (B, T, D)
        if self.defers_attention:
            # Only global attention to a single source can be computed for all steps at once.
            assert isinstance(self.attention, OneSource)
            assert isinstance(self.attention.attention, GlobalAttention)
            weights, weighted_values = self.attention.attention.attend(outputs, state.source_state)
        else:
            weights, weighted_values = _stack_outputs([step.attention_output for step in steps])
        return _UnrolledSteps(outputs, weights, weighted_values, fed)

    def _advance(
        self, embedded: Tensor, projected: Tensor, state: DecoderState, attend: Attend
    ) -> tuple[StepOutput, DecoderState]:
        """Return one step, and the state after it, including the vector fed to the next step."""
        extra_input, cells = state.step_state.fed, state.step_state.cells
        if self.external:
            read, cells = self.external.read(state.step_state.layers[-1][0], cells)
            extra_input = torch.cat([extra_input, read], -1)
        # W [x; extra] = W_x x + W_extra extra, of which `projected` is W_x x: only the columns of `extra` are missing.
        if self.extra_size:
            dropped = self.dropout.step(extra_input, state.masks.fed)
            projected = projected + self.cells[0].project(dropped, self.input_size)
        step = self.timing.step(
            projected,
            state,
            lambda query: attend(query, embedded, state),
            lambda first: self.upper_layers(first, state),
        )
        if self.external:
            cells = self.external.write(step.layers[-1][0], cells)
        fed = self.feed.following(
            state.step_state.fed, ReadoutInputs(step.output, step.attention_output.context, embedded)
        )
        return step, state._replace(step_state=RnnStepState(step.layers, fed, step.attention_output.history, cells))

    def attend(
        self, query: Float[Tensor, "R D"], embedded: Float[Tensor, "R E"], state: DecoderState
    ) -> AttentionOutput:
        decoder_query = DecoderQuery(query, embedded, previous_state=state.step_state.layers[-1][0])
        attention_output: AttentionOutput = self.attention(decoder_query, state.source_state, state.step_state.history)
        return attention_output

    def _defer_attention(
        self, query: Float[Tensor, "R D"], embedded: Float[Tensor, "R E"], state: DecoderState
    ) -> AttentionOutput:
        """Return a placeholder context of size 0; the contexts are computed later, for all steps at once."""
        return AttentionOutput(query[:, :0], state.step_state.history)

    def upper_layers(self, first: CellState, state: DecoderState) -> tuple[tuple[CellState, ...], Float[Tensor, "R D"]]:
        """Go on from the first layer's new state to the top: all new states, and the output of the last layer.

        Each layer reads the output of the one below; with `residual`, this is added to its own output.
        """
        layers, output = [first], first[0]
        for depth, cell in enumerate(list(self.cells)[1:], start=1):
            dropped = self.dropout.step(output, state.masks.layers[depth - 1])
            new = cell(cell.project(dropped), state.step_state.layers[depth], state.masks.recurrent[depth])
            layers.append(new)
            output = output + new[0] if self.residual else new[0]
        return tuple(layers), output


def _check(
    context: int, attend: AttendKind, input_feeding: InputFeedingKind, readout: ReadoutKind, size: int | None
) -> None:
    """Raise ValueError if these options cannot be combined, for contexts and features of these sizes."""
    if context == 0 and (TIMINGS[attend].enters_a_cell() or INPUT_FEEDINGS[input_feeding].needs_context):
        raise ValueError(
            f"has no attention (score: none), so there is no context to attend {attend} or to feed; "
            "use attend: after with input_feeding: none or attentional"
        )
    if INPUT_FEEDINGS[input_feeding].needs_mixture and not READOUTS[readout].mixes:
        raise ValueError(
            f"input_feeding: {input_feeding} feeds the vector that readout: tanh or deep make, "
            f"and readout: {readout} makes none"
        )
    if size is not None and not READOUTS[readout].mixes:
        raise ValueError("readout_size requires readout: tanh or deep")


def _stack_outputs(outputs: list[AttentionOutput]) -> tuple[Float[Tensor, "B T S"], WeightedValues]:
    """Return the attention outputs of all steps, in the form that `GlobalAttention.attend` returns."""
    contexts, weights = zip(*((output.context, output.history.weights) for output in outputs), strict=True)
    drawn = [output.drawn for output in outputs if output.drawn is not None]
    return torch.stack(weights, 1), WeightedValues(torch.stack(contexts, 1), torch.stack(drawn, 1) if drawn else None)
