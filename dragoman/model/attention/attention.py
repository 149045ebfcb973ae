"""Attention is one equation: score, mask, normalize, sum. Variants differ in their choice of parts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast, final

import torch
from torch import Tensor, nn

from dragoman.model.attention.normalizers import AttentionNormalizer, WeightedValues
from dragoman.model.attention.scores import AlignmentScore
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput
from dragoman.model.linear import matmul_dtype
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import Tree, map_tensors


class PreparedSource(NamedTuple):
    """A source prepared for attention; computed once per sentence."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S C"]
    mask: Bool[Tensor, "B S"]
    prepared_terms: tuple[Any, ...] = ()  # computed from the source by each term
    sentence_of_word: Any = ()  # Int (B, S): the sentence number of each word of a document; -1 at padding


class AttentionHistory(NamedTuple):
    """The state of attention, passed from each step to the next."""

    weights: Float[Tensor, "R S"]
    term_states: tuple[Any, ...] = ()
    window: Any = ()  # the state of the window


class AttentionOutput(NamedTuple):
    """The result of one step of attention."""

    context: Float[Tensor, "R C"]
    history: AttentionHistory
    drawn: Int[Tensor, "R"] | None = None  # the drawn position, if attention is hard


NO_TERMS = TermOutput(())


class Attention(nn.Module, ABC):
    """`attention(query, embedded, prepared_source, history)`: one step of attention to the source for each row.

    Several neighboring rows can belong to one sentence. `embedded` is the embedding of the symbol that each row read
    last.
    """

    size: int  # C, of a context
    batches_steps = False  # whether independent steps are faster when computed together

    @abstractmethod
    def prepare(self, memory: Memory) -> PreparedSource:
        """Return what attention needs of a source, computed once for all steps."""

    def start(self, prepared_source: PreparedSource) -> AttentionHistory:
        """Return the history before the first step, one row per sentence: weights of 0."""
        values = prepared_source.values
        return AttentionHistory(
            values.new_zeros(prepared_source.mask.shape, dtype=torch.promote_types(values.dtype, torch.float32))
        )

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "R Q"],
        embedded: Float[Tensor, "R E"],
        prepared_source: PreparedSource,
        history: AttentionHistory,
    ) -> AttentionOutput:
        """Return the context of each row, and the history after the step."""


@final
class GlobalAttention(Attention):
    """A query attends to all values through their keys (SL; NT (73)-(74), (76)-(80); "global" is Luong's word).

        energies = score(query, keys, features of the terms) + priors of the terms
        weights = normalizer(energies where mask)
        context = weights @ values

    Terms are what energies depend on besides query and keys, such as earlier weights (coverage) or positions
    (`terms/term.py`). A term gives features to the score, or a prior: a number that is added to each energy.
    Source padding is masked here: its weight is exactly 0.
    """

    def __init__(
        self, score: AlignmentScore, normalizer: AttentionNormalizer, terms: Iterable[AttentionTerm] = ()
    ) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer
        self.terms = cast(Sequence[AttentionTerm], nn.ModuleList(terms))
        self.size = score.state_size
        self.batches_steps = score.is_matmul and not self.terms

    def prepare(self, memory: Memory) -> PreparedSource:
        states = memory.states.to(matmul_dtype(memory.states))  # autocast would cast the values again at every step
        prepared_terms = tuple(term.prepare(memory) for term in self.terms)
        return PreparedSource(self.score.keys(states, memory.mask), states, memory.mask, prepared_terms)

    def start(self, prepared_source: PreparedSource) -> AttentionHistory:
        history = super().start(prepared_source)
        prepared_terms = zip(self.terms, prepared_source.prepared_terms, strict=True)
        return history._replace(
            term_states=tuple(term.start(history.weights, prepared) for term, prepared in prepared_terms)
        )

    def forward(
        self,
        query: Float[Tensor, "R Q"],
        embedded: Float[Tensor, "R E"],
        prepared_source: PreparedSource,
        history: AttentionHistory,
    ) -> AttentionOutput:
        term_output = self.term_outputs(query, embedded, prepared_source, history)
        weights, weighted_values = self.attend(group_by_sentence(query, prepared_source), prepared_source, term_output)
        return AttentionOutput(
            flatten_sentences(weighted_values.context),
            AttentionHistory(flatten_sentences(weights), term_output.carried),
            flatten_sentences(weighted_values.drawn),
        )

    def term_outputs(
        self,
        query: Float[Tensor, "R Q"],
        embedded: Float[Tensor, "R E"],
        prepared_source: PreparedSource,
        history: AttentionHistory,
    ) -> TermOutput:
        """Return the combined output of all terms."""
        if not self.terms:
            return NO_TERMS
        term_input = TermInput(
            *(group_by_sentence(tensor, prepared_source) for tensor in (query, embedded, history.weights))
        )
        outputs = [
            term(term_input, prepared, group_by_sentence(state, prepared_source))
            for term, prepared, state in zip(
                self.terms, prepared_source.prepared_terms, history.term_states, strict=True
            )
        ]
        features = [output.features for output in outputs if output.features is not None]
        priors = [output.prior for output in outputs if output.prior is not None]
        return TermOutput(
            tuple(flatten_sentences(output.carried) for output in outputs),
            torch.cat(features, -1) if features else None,
            torch.stack(priors).sum(0) if priors else None,
        )

    def attend(
        self, query: Float[Tensor, "B T Q"], prepared_source: PreparedSource, term_output: TermOutput = NO_TERMS
    ) -> tuple[Float[Tensor, "B T S"], WeightedValues]:
        """Return the weights and contexts of T queries per sentence; the caller computes the terms."""
        weights = self.weights(query, prepared_source, term_output)
        return weights, self.normalizer.read(weights, prepared_source.values)

    def weights(
        self, query: Float[Tensor, "B T Q"], prepared_source: PreparedSource, term_output: TermOutput
    ) -> Float[Tensor, "B T S"]:
        weights: Tensor = self.normalizer(self.energies(query, prepared_source, term_output))
        return weights

    def energies(
        self, query: Float[Tensor, "B T Q"], prepared_source: PreparedSource, term_output: TermOutput
    ) -> Float[Tensor, "B T S"]:
        """Return the energies of all positions; -inf at masked positions."""
        energies: Tensor = self.score(query, prepared_source.keys, term_output.features)
        if term_output.prior is not None:
            energies = energies + term_output.prior
        return energies.masked_fill(~prepared_source.mask.unsqueeze(1), float("-inf"))


def group_by_sentence(rows: Tree, prepared_source: PreparedSource) -> Tree:
    """Return (R, ...) as (B, T, ...), T rows per sentence; likewise all tensors of a tuple; None stays None."""
    sentences = prepared_source.mask.size(0)
    return map_tensors(lambda tensor: tensor.view(sentences, -1, *tensor.shape[1:]), rows)


def flatten_sentences(rows: Tree) -> Tree:
    """Return (B, T, ...) as (R, ...)."""
    return map_tensors(lambda tensor: tensor.flatten(0, 1), rows)


@final
class NoAttention(Attention):
    """The plain encoder-decoder (CN 1.2-1.5): contexts of size 0 and weights of 0, so callers need no special case."""

    size = 0

    def prepare(self, memory: Memory) -> PreparedSource:
        nothing = memory.states[:, :, :0]
        return PreparedSource(nothing, nothing, memory.mask)

    def forward(
        self,
        query: Float[Tensor, "R Q"],
        embedded: Float[Tensor, "R E"],
        prepared_source: PreparedSource,
        history: AttentionHistory,
    ) -> AttentionOutput:
        return AttentionOutput(query.new_zeros(query.size(0), 0), history)
