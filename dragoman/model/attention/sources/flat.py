"""One attention over the positions of all sources (Libovicky and Helcl 2017)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Size
from dragoman.model.attention.attention import (
    Attention,
    AttentionHistory,
    AttentionOutput,
    GlobalAttention,
    PreparedSource,
    flatten_sentences,
    group_by_sentence,
)
from dragoman.model.attention.normalizers import Hard, LinearChain
from dragoman.model.attention.scores import AlignmentScore
from dragoman.model.attention.sources.combination import Combination, DecoderQuery, initialize_as_sum
from dragoman.model.attention.sources.sentinel import Sentinel
from dragoman.model.linear import Linear, linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float


class ConcatenatedSources(NamedTuple):
    """Sources prepared for attention, and the values of all, concatenated."""

    sources: tuple[PreparedSource, ...]
    values: Float[Tensor, "B S C"]


@final
class Flat(Combination):
    """One distribution over the states of all encoders (LH (6)-(7)).

        e_tj^(k)     = v_a^T tanh(W_a s_t + U_a^(k) h_j^(k)) + b^(k), or another score
        alpha_tj^(k) = softmax over the positions j of all sources k
        c_t          = sum_k sum_j alpha_tj^(k) U_c^(k) h_j^(k)

    The sources share the parameters of the score for the query and the terms (of `convolutional` also K2 and K3), but
    not those for the states. `share_projections` sets U_c = U_a. With a `sentinel`, `psi_t * s_t` is one more position.
    `size` is that of the context if U_c is not shared, by default that of the decoder state. Positions of a missing
    source have weight 0.
    """

    scores_sentinel = True

    def __init__(
        self,
        attentions: Sequence[Attention],
        query_size: int,
        embedding_size: int,
        sentinel_score: AlignmentScore | None = None,
        *,
        size: Size | None = None,
        share_projections: bool = False,
        sentinel: bool = False,
    ) -> None:
        super().__init__()
        if not all(
            isinstance(attention, GlobalAttention) and not isinstance(attention.normalizer, Hard | LinearChain)
            for attention in attentions
        ):
            raise ValueError(
                "attends to all sources at once: requires a score other than none, a normalizer other than hard and "
                "linear_chain, no window and no sentences"
            )
        if size and share_projections:
            raise ValueError("size requires projections that are not shared")
        self.attentions = cast(Sequence[GlobalAttention], nn.ModuleList(attentions))
        self.sentinel = Sentinel(query_size, embedding_size) if sentinel else None
        self.sentinel_score = sentinel_score if sentinel else None
        scores = [attention.score for attention in self.attentions]
        if self.sentinel_score:
            scores.append(self.sentinel_score)
        for score in scores[1:]:
            # The query is mapped alike for all sources, so that their energies can be compared.
            score.share_query_parameters(scores[0])
        if share_projections:
            values = _projections(scores)
        else:
            values = [Linear(score.state_size, size or query_size, bias=False) for score in scores]
        initialize_as_sum(values)
        self.values = nn.ModuleList(values)
        self.size = values[0].out_features
        self.bias = nn.Parameter(torch.zeros(len(scores)))

    def project(self, number: int, states: Float[Tensor, "B S H"]) -> Float[Tensor, "B S C"]:
        """Return `U_c h_j` of a source, or of the sentinel, which is the last."""
        return linear(states, cast(Linear, self.values[number]).weight)  # b is part of the energy, if U_c = U_a

    def prepare(self, memories: tuple[Memory, ...]) -> ConcatenatedSources:
        sources = tuple(attention.prepare(memory) for attention, memory in zip(self.attentions, memories, strict=True))
        # U_c h_j once for the sentence, and not at each step.
        values = [self.project(number, source.values) for number, source in enumerate(sources)]
        return ConcatenatedSources(sources, torch.cat(values, 1))

    def start(self, prepared_sources: ConcatenatedSources) -> AttentionHistory:
        histories = tuple(
            attention.start(source) for attention, source in zip(self.attentions, prepared_sources.sources, strict=True)
        )
        weights = [history.weights for history in histories]
        if self.sentinel:
            # The sentinel is the last position, here and in `forward`.
            weights.append(weights[0].new_zeros(weights[0].size(0), 1))
        return AttentionHistory(torch.cat(weights, -1), histories)

    def forward(
        self, decoder_query: DecoderQuery, prepared_sources: ConcatenatedSources, history: AttentionHistory
    ) -> AttentionOutput:
        sentences = prepared_sources.values.size(0)
        energies: list[Tensor] = []
        carried: list[Any] = []
        for number, (attention, source, past) in enumerate(
            zip(self.attentions, prepared_sources.sources, history.term_states, strict=True)
        ):
            terms = attention.term_outputs(decoder_query.query, decoder_query.embedded, source, past)
            energies.append(
                attention.energies(group_by_sentence(decoder_query.query, source), source, terms) + self.bias[number]
            )
            carried.append(terms.carried)
        alone: Tensor | None = None
        if self.sentinel and self.sentinel_score:
            alone = self.sentinel(decoder_query).unsqueeze(1)  # (R, 1, Q)
            keys = self.sentinel_score.keys(alone, torch.ones_like(alone[..., 0], dtype=torch.bool))
            energy = self.sentinel_score(decoder_query.query.unsqueeze(1), keys) + self.bias[-1]
            energies.append(energy.view(sentences, -1, 1))
        weights = self._normalized(torch.cat(energies, -1))  # (B, T, S)
        values = prepared_sources.values
        # The sentinel differs from row to row, unlike the values of a sentence, so it is added apart.
        context = flatten_sentences(torch.bmm(weights[..., : values.size(1)].to(values.dtype), values))
        flat: Tensor = flatten_sentences(weights)
        if alone is not None:
            context = context + flat[:, -1:].to(values.dtype) * self.project(len(self.attentions), alone).squeeze(1)
        parts = self.by_source(flat, prepared_sources)
        histories = tuple(AttentionHistory(part, state) for part, state in zip(parts, carried, strict=False))
        return AttentionOutput(context, AttentionHistory(flat, histories))

    def _normalized(self, energies: Float[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        """Return the normalized weights; 0 if a sentence has none of the sources."""
        nothing = energies.isneginf().all(-1, keepdim=True) & (self.sentinel is None)
        weights: Tensor = self.attentions[0].normalizer(energies.masked_fill(nothing, 0.0))
        return weights.masked_fill(nothing, 0.0)

    def by_source(
        self, weights: Float[Tensor, "*_ S"], prepared_sources: ConcatenatedSources
    ) -> tuple[Float[Tensor, "*_ _"], ...]:
        widths = [source.mask.size(1) for source in prepared_sources.sources]
        return torch.split(weights, [*widths, 1] if self.sentinel else widths, -1)


def _projections(scores: Sequence[AlignmentScore]) -> list[Linear]:
    """Return U_a of each score. ValueError if one has none."""
    projections = [score.projection for score in scores if score.projection]
    if len(projections) < len(scores):
        raise ValueError("shares the projections of the score; use score: additive or bilinear")
    return projections
