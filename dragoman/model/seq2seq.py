"""The whole model: encodes sources, unrolls over references for training and scoring, and predicts step by step."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast, final

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch, SourceBatch
from dragoman.data.vocabulary import BOS, EOS, UNK
from dragoman.model.alignment_model import AlignmentModel, IndependentAlignment
from dragoman.model.attention.terms.term import AttentionTerm
from dragoman.model.bridge import Bridge
from dragoman.model.decoder.decoder import Decoder, DecoderState, Unrolled
from dragoman.model.decoder.decoder_input import DecoderInput
from dragoman.model.embedding import Embedding
from dragoman.model.encoder.source_encoder import SourceEncoder
from dragoman.model.memory import Memory
from dragoman.model.output.output import Distribution, Output, Readout
from dragoman.model.predictor import Continuations, Prediction, Predictor, RestrictedPredictor, ScoredBatch, StepRunner
from dragoman.model.shapes import Float, Int
from dragoman.model.state import extend_state, first_tensor, select_rows
from dragoman.model.step_recorder import Body, StepRecorder, record_cuda
from dragoman.model.step_runners import BeamRunner, GreedyRunner

StartSymbol = Literal["bos", "eos", "none", "prefix"]
START_IDS: dict[StartSymbol, tuple[int, ...]] = {"bos": (BOS,), "eos": (EOS,), "none": (BOS,), "prefix": ()}


class Parts(NamedTuple):
    """The built parts of a model, in the order in which a sentence passes through them."""

    source_encoders: Sequence[SourceEncoder]  # one for each source
    bridge: Bridge
    inputs: DecoderInput
    decoder: Decoder
    output: Output
    alignment_model: AlignmentModel = IndependentAlignment()


class ForwardPass(NamedTuple):
    """The results of teacher forcing over a batch, before the loss: nested tuples of tensors."""

    memories: tuple[Memory, ...]
    state: "ModelState"  # before the first target symbol
    unrolled: Unrolled


class StepState(NamedTuple):
    """The states of the parts that change from step to step."""

    decoder: Any
    inputs: Any
    alignment_model: Any = ()
    output: Any = ()  # what it needs to spell unknown words of the last step


class SourceState(NamedTuple):
    """The values that each part computed from the sources."""

    decoder: Any
    inputs: Any
    output: Any


class ModelState(NamedTuple):
    """The state of the model between two steps, from the states of its parts: like `DecoderState`, with a row for each
    hypothesis in `step_state` and `masks`, and a row for each sentence in `source_state`.
    """

    step_state: StepState
    source_state: SourceState
    masks: Any  # of the decoder


class ModelStep(NamedTuple):
    """The result of one step: features for the output layer, attention weights, and the state after the step."""

    features: Float[Tensor, "R F"]
    weights: Float[Tensor, "R S"]
    state: ModelState


@final
class Seq2Seq(nn.Module, Predictor[ModelState]):
    """An attentional encoder-decoder, `P(y | x) = prod_t P(y_t | y_<t, x)`.

    `start_symbol` is what the decoder reads before its first word: `<s>`, `</s>` as in CN's text, or a zero
    vector instead of `<s>` (Marian, Nematus). The symbols `prefix` follow it, or take its place; they are given, not
    predicted, as the code of the target language is (Fan et al. 2021): `P(y | x) = prod_t P(y_t | prefix, y_<t, x)`.
    `alignment_model` computes the distribution of a step from decoder and output: from the decoder's step alone, or,
    with hard attention, as a sum over all positions it may have drawn.
    """

    def __init__(self, parts: Parts, start_symbol: StartSymbol = "bos", prefix: Sequence[int] = ()) -> None:
        super().__init__()
        self.source_encoders = cast(Sequence[SourceEncoder], nn.ModuleList(parts.source_encoders))
        self.bridge = parts.bridge
        self.inputs = parts.inputs
        self.decoder = parts.decoder
        self.output = parts.output
        self.alignment_model = parts.alignment_model
        self._runners = GreedyRunner(self), BeamRunner(self)
        # All but the last one are read when a sentence is begun; searches and references begin with the last one.
        *self.read_first, self.start_id = *START_IDS[start_symbol], *prefix

    @property
    def target_embedding(self) -> Embedding:
        return self.inputs.embedding

    def by_symbol(self) -> dict[str, int]:
        """The names of the parameters with a row for each symbol, and the index of the source whose vocabulary they
        use; -1: target.
        """
        names = {parameter: name for name, parameter in self.named_parameters()}
        parts: list[tuple[int, Embedding | Output | AttentionTerm]] = [(-1, self.output), *self._embeddings()]
        parts += [(term.source, term) for term in self.decoder.modules() if isinstance(term, AttentionTerm)]
        return {names[part.get_parameter(name)]: side for side, part in parts for name in part.by_symbol}

    def by_character(self) -> dict[str, int]:
        """The same for the parameters with a row for each character of that side's words."""
        names = {parameter: name for name, parameter in self.named_parameters()}
        parts: list[tuple[int, Embedding | Output]] = [(-1, self.output), *self._embeddings()]
        return {names[part.get_parameter(name)]: side for side, part in parts for name in part.by_character}

    def _embeddings(self) -> list[tuple[int, Embedding]]:
        """Each embedding with the number of its source, -1 for the target's."""
        of_sources = [
            (number, source_encoder.embedding)
            for number, source_encoder in enumerate(self.source_encoders)
            if source_encoder.embedding is not None
        ]
        return [(-1, self.target_embedding), *of_sources]

    def encode(self, sources: tuple[SourceBatch, ...]) -> tuple[Memory, ...]:
        """One memory for each source."""
        return tuple(
            source_encoder(source) for source_encoder, source in zip(self.source_encoders, sources, strict=True)
        )

    def start(self, memories: tuple[Memory, ...]) -> ModelState:
        """The state before the first target symbol."""
        attended_memories = tuple(
            memory
            for source_encoder, memory in zip(self.source_encoders, memories, strict=True)
            if source_encoder.attended
        )
        step_state, source_state, masks = self.decoder.start(attended_memories, self.bridge(memories))
        # Both are () except for edit operations, which also read the source symbol that is being edited.
        input_step_state, input_source_state = self.inputs.start(memories)
        state = ModelState(
            StepState(step_state, input_step_state),
            SourceState(source_state, input_source_state, self.output.prepare(memories)),
            masks,
        )
        for symbol in self.read_first:
            state = self.step(torch.full_like(memories[0].mask[:, 0], symbol, dtype=torch.long), state).state
        return state

    def begin(self, sources: tuple[SourceBatch, ...]) -> ModelState:
        """The state before the first target symbol of these sources."""
        return self.start(self.encode(sources))

    def step(self, symbols: Int[Tensor, "R"], state: ModelState) -> ModelStep:
        """Read one symbol per row; the output predicts the next one from the features (`readout`)."""
        embedded, inputs = self._embed_symbols(symbols, state)
        features, weights, after = self.decoder.step(embedded, self.decoder_state(state))
        return ModelStep(features, weights, _next_state(state, after, inputs, state.step_state.alignment_model))

    def predict(self, symbols: Int[Tensor, "R"], state: ModelState) -> Prediction[ModelState]:
        """One step of a search: read one symbol per row, predict the next."""
        return self.predict_by(self.output, symbols, state)

    def predict_by(self, output: Output, symbols: Int[Tensor, "R"], state: ModelState) -> Prediction[ModelState]:
        """As `predict`, with another output layer."""

        def distribution(features: Tensor, weights: Callable[[], Tensor]) -> Distribution:
            return output.predict(self.readout(features, weights, None, state))

        embedded, inputs = self._embed_symbols(symbols, state)
        rest = self.decoder_state(state), state.step_state.alignment_model, distribution
        output_distribution, weights, after, alignment_model = self.alignment_model.step(
            self.decoder, symbols, embedded, *rest
        )
        following = _next_state(state, after, inputs, alignment_model, output_distribution.kept)
        return Prediction(
            output_distribution.log_probs,
            self.by_source(weights, state),
            following,
            output_distribution.ids,
            output_distribution.statistics,
        )

    def replace_candidates(self, candidates: Continuations, step: Prediction[ModelState]) -> Continuations:
        return self.output.spell_unknown(candidates, step.state.step_state.output)

    def replay_steps(self, record: Callable[[Body], Body] = record_cuda) -> None:
        """Record the steps of searches, and replay them from then on, as a model on a GPU does."""
        recorder = StepRecorder([*self.parameters()], record)
        self._runners = GreedyRunner(self, recorder), BeamRunner(self, recorder)

    def greedy_runner(self) -> StepRunner | None:
        return None if self.output.spells else self._runners[0]

    def beam_runner(self) -> StepRunner | None:
        # On a processor, single steps are faster by a sixth for one sentence, and as fast in batches.
        return self._runners[1] if next(self.parameters()).is_cuda and not self.output.spells else None

    def restrict_to(self, symbols: Int[Tensor, "C"]) -> Predictor[ModelState]:
        output = self.output.restrict_to(symbols) if self.alignment_model.reads_one_step else None
        return self if output is None else RestrictedPredictor(self, partial(self.predict_by, output))

    def reorder(
        self, state: ModelState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> ModelState:
        source_state = state.source_state if sentences is None else select_rows(state.source_state, sentences)
        return ModelState(select_rows(state.step_state, rows), source_state, select_rows(state.masks, rows))

    def extend(self, state: ModelState, sources: tuple[SourceBatch, ...]) -> ModelState:
        """The state, with one row per sentence, after more of the sources has arrived; the step state is kept, with
        initial values at the new positions.
        """
        fresh = self.begin(sources)
        return ModelState(extend_state(state.step_state, fresh.step_state), fresh.source_state, state.masks)

    def unroll(self, state: ModelState, targets: Int[Tensor, "B T"]) -> Unrolled:
        """All steps over a reference: the decoder reads `start_id` and the reference without its last symbol."""
        return self.decoder.unroll(self.embed_targets(targets, state), self.decoder_state(state))

    def embed_targets(self, targets: Int[Tensor, "B T"], state: ModelState) -> Float[Tensor, "B T E"]:
        """The embeddings that the decoder reads of a reference."""
        shifted = torch.cat([torch.full_like(targets[:, :1], self.start_id), targets[:, :-1]], dim=1)
        return self.inputs.unroll(shifted, state.step_state.inputs, state.source_state.inputs)

    def forward(self, batch: Batch) -> Unrolled:
        """Teacher forcing over a batch."""
        return self.forward_pass(batch.sources, batch.target.ids).unrolled

    def forward_pass(self, sources: tuple[SourceBatch, ...], targets: Int[Tensor, "B T"]) -> ForwardPass:
        """All results of teacher forcing before the loss."""
        memories = self.encode(sources)
        state = self.start(memories)
        return ForwardPass(memories, state, self.unroll(state, targets))

    def score(self, batch: Batch) -> ScoredBatch:
        """Score given pairs under teacher forcing."""
        if not self.alignment_model.reads_one_step:
            return super().score(batch)
        state = self.begin(batch.sources)
        unrolled, real = self.unroll(state, batch.target.ids), batch.target.mask
        # Labels are the ids, but words outside the vocabulary keep their own numbers, for outputs that copy or spell.
        scores = self.output.score_targets(self.readouts(unrolled, batch, state), batch.target.labels[real])
        log_probs = scores.log_probs.new_zeros(real.shape).masked_scatter(real, scores.log_probs)
        correct = torch.zeros_like(real).masked_scatter(real, scores.correct)
        statistics = {
            name: statistic.new_zeros(real.shape).masked_scatter(real, statistic)
            for name, statistic in scores.statistics.items()
        }
        return ScoredBatch(log_probs, correct, self.by_source(unrolled.weights, state), statistics)

    def readouts(self, unrolled: Unrolled, batch: Batch, state: ModelState) -> Readout:
        """The output's readout of the real symbols of a reference."""
        real = batch.target.mask
        readout = self.readout(
            unrolled.features[real], lambda: unrolled.weights[real], lambda: real.nonzero()[:, 0], state
        )
        spelled = batch.target.spelled
        # For outputs that are normalized over the symbols of a portion of the corpus, and those that spell words.
        return readout._replace(portion=batch.target.portion, words=spelled and spelled.characters)

    def readout(
        self,
        features: Float[Tensor, "N F"],
        weights: Callable[[], Float[Tensor, "N S"]],
        sentences: Callable[[], Int[Tensor, "N"]] | None,
        state: ModelState,
    ) -> Readout:
        """The input of the output layer for some rows: features and, if it reads the source, the attention weights and
        the number of each row's sentence. Without `sentences`, every sentence has equally many neighboring rows.
        """
        if not self.output.reads_source:
            return Readout(features)
        prepared = state.source_state.output
        numbers = sentences() if sentences else _sentence_numbers(prepared, len(features))
        return Readout(features, self.by_source(weights(), state), numbers, prepared)

    def by_source(self, weights: Float[Tensor, "*_ S"], state: ModelState) -> tuple[Float[Tensor, "*_ _"], ...]:
        """The weights of one or several steps on each source (of width 0 on one that only starts the decoder), and on a
        sentinel if there is one.
        """
        rest = iter(self.decoder.by_source(weights, self.decoder_state(state)))
        return (
            *(next(rest) if source_encoder.attended else weights[..., :0] for source_encoder in self.source_encoders),
            *rest,
        )

    def decoder_state(self, state: ModelState) -> DecoderState:
        """The decoder's part of a state."""
        return DecoderState(state.step_state.decoder, state.source_state.decoder, state.masks)

    def _embed_symbols(self, symbols: Int[Tensor, "R"], state: ModelState) -> tuple[Float[Tensor, "R E"], Any]:
        """Embed one symbol per row; a symbol outside the vocabulary becomes `<unk>`."""
        symbols = symbols.masked_fill(symbols >= self.target_embedding.symbols, UNK)
        return self.inputs.step(symbols, state.step_state.inputs, state.source_state.inputs)


def _next_state(
    state: ModelState, decoder: DecoderState, inputs: Any, alignment_model: Any, output: Any = ()
) -> ModelState:
    """The state after a step, from the states of its parts."""
    return state._replace(step_state=StepState(decoder.step_state, inputs, alignment_model, output))


def _sentence_numbers(prepared: Any, rows: int) -> Int[Tensor, "N"]:
    """The number of each row's sentence; `prepared` has one row for each sentence."""
    first = first_tensor(prepared)
    return torch.arange(len(first), device=first.device).repeat_interleave(rows // len(first))
