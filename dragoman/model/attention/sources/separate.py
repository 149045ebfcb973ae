"""Separate attention to each source, whose contexts are then combined (Libovicky and Helcl 2017)."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Size
from dragoman.model.attention.attention import Attention, AttentionHistory, AttentionOutput
from dragoman.model.attention.normalizers import softmax
from dragoman.model.attention.sources.combination import Combination, DecoderQuery, initialize_as_sum
from dragoman.model.attention.sources.sentinel import Sentinel
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float


class SeparateSources(NamedTuple):
    """Sources prepared for attention, and which of them each sentence has."""

    sources: tuple[Any, ...]
    there: Bool[Tensor, "B N"]

    def of(self, rows: Float[Tensor, "R _"]) -> Bool[Tensor, "R N"]:
        """Return which sources each row has; several rows, next to each other, can belong to one sentence."""
        return self.there.repeat_interleave(rows.size(0) // self.there.size(0), 0)


class Separate(Combination):
    """One attention for each source. A missing source has a context and weights of 0."""

    def __init__(self, attentions: Sequence[Attention]) -> None:
        super().__init__()
        self.attentions = cast(Sequence[Attention], nn.ModuleList(attentions))

    def prepare(self, memories: tuple[Memory, ...]) -> SeparateSources:
        there = torch.stack([memory.mask.any(1) for memory in memories], 1)
        # A missing source is opened at one position, for attention to be a number; its context and weights become 0.
        opened = (
            memory._replace(mask=torch.cat([memory.mask[:, :1] | ~present.unsqueeze(1), memory.mask[:, 1:]], 1))
            for memory, present in zip(memories, there.unbind(1), strict=True)
        )
        prepared = (attention.prepare(memory) for attention, memory in zip(self.attentions, opened, strict=True))
        return SeparateSources(tuple(prepared), there)

    def start(self, prepared_sources: SeparateSources) -> AttentionHistory:
        histories = tuple(
            attention.start(source) for attention, source in zip(self.attentions, prepared_sources.sources, strict=True)
        )
        return AttentionHistory(self.joined([history.weights for history in histories]), histories)

    def joined(self, weights: list[Float[Tensor, "R _"]]) -> Float[Tensor, "R S"]:
        """Return the weights of all sources, concatenated."""
        return torch.cat(weights, -1)

    def forward(
        self, decoder_query: DecoderQuery, prepared_sources: SeparateSources, history: AttentionHistory
    ) -> AttentionOutput:
        there = prepared_sources.of(decoder_query.query)
        parts = zip(self.attentions, prepared_sources.sources, history.term_states, strict=True)
        columns = torch.split(there, 1, 1)
        outputs = [attention(decoder_query.query, decoder_query.embedded, *rest) for attention, *rest in parts]
        contexts = [output.context * column for output, column in zip(outputs, columns, strict=True)]
        weights = [output.history.weights * column for output, column in zip(outputs, columns, strict=True)]
        context, all_weights = self.join(decoder_query, contexts, weights, there)
        return AttentionOutput(context, AttentionHistory(all_weights, tuple(output.history for output in outputs)))

    @abstractmethod
    def join(
        self,
        decoder_query: DecoderQuery,
        contexts: list[Float[Tensor, "R _"]],
        weights: list[Float[Tensor, "R _"]],
        there: Bool[Tensor, "R N"],
    ) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R S"]]:
        """Return the context, and the weights of all sources."""

    def by_source(
        self, weights: Float[Tensor, "*_ S"], prepared_sources: SeparateSources
    ) -> tuple[Float[Tensor, "*_ _"], ...]:
        widths = [source.mask.size(1) for source in prepared_sources.sources]
        rest = weights.size(-1) - sum(widths)
        return torch.split(weights, [*widths, rest] if rest else widths, -1)


@final
class Concatenation(Separate):
    """`c_t = [c_t^(1); ...; c_t^(N)]` (LH section 3)."""

    weighs = False

    def __init__(self, attentions: Sequence[Attention], query_size: int, embedding_size: int) -> None:
        super().__init__(attentions)
        self.size = sum(attention.size for attention in attentions)

    def join(
        self, decoder_query: DecoderQuery, contexts: list[Tensor], weights: list[Tensor], there: Bool[Tensor, "R N"]
    ) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R S"]]:
        return torch.cat(contexts, -1), self.joined(weights)


@final
class Sum(Separate):
    """`c_t = c_t^(1) + ... + c_t^(N)` (LH section 5, Caglayan et al. 2016): all encoders must share one space."""

    def __init__(self, attentions: Sequence[Attention], query_size: int, embedding_size: int) -> None:
        super().__init__(attentions)
        sizes = [attention.size for attention in attentions]
        if len(set(sizes)) > 1:
            raise ValueError(f"adds contexts of sizes {', '.join(map(str, sizes))}: they must be equal")
        self.size = sizes[0]

    def join(
        self, decoder_query: DecoderQuery, contexts: list[Tensor], weights: list[Tensor], there: Bool[Tensor, "R N"]
    ) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R S"]]:
        return torch.stack(contexts).sum(0), self.joined(weights)


@final
class Hierarchical(Separate):
    """Attention to the contexts (LH (8)-(10)).

        e_t^(k) = v_b^T tanh(W_b s_t + U_b^(k) c_t^(k)) + b^(k)
        beta_t  = softmax over the sources k
        c_t     = sum_k beta_t^(k) U_c^(k) c_t^(k)

    `share_projections` sets U_c = U_b. A `sentinel` is one more source, with the context `psi_t * s_t`. `size` is
    that of the context and of v_b, by default that of the decoder state. The weight of a position is the product of its
    weight in the source and that of the source. v_b starts at 0: with the usual initialization, what all energies of a
    source have in common soon dominates, and one source gets all the weight permanently.
    """

    def __init__(
        self,
        attentions: Sequence[Attention],
        query_size: int,
        embedding_size: int,
        *,
        size: Size | None = None,
        share_projections: bool = False,
        sentinel: bool = False,
    ) -> None:
        super().__init__(attentions)
        self.size = size or query_size
        self.sentinel = Sentinel(query_size, embedding_size) if sentinel else None
        sizes = [attention.size for attention in attentions] + [query_size] * sentinel
        self.query = Linear(query_size, self.size, bias=False)
        keys = [Linear(input_size, self.size, bias=False) for input_size in sizes]
        values = keys if share_projections else [Linear(input_size, self.size, bias=False) for input_size in sizes]
        initialize_as_sum(values)
        self.keys = nn.ModuleList(keys)
        self.values = self.keys if share_projections else nn.ModuleList(values)
        self.vector = nn.Parameter(torch.zeros(self.size))  # so that all beta start equal
        self.bias = nn.Parameter(torch.zeros(len(sizes)))

    def joined(self, weights: list[Float[Tensor, "R _"]]) -> Float[Tensor, "R S"]:
        return super().joined(weights if not self.sentinel else [*weights, weights[0].new_zeros(weights[0].size(0), 1)])

    def join(
        self, decoder_query: DecoderQuery, contexts: list[Tensor], weights: list[Tensor], there: Bool[Tensor, "R N"]
    ) -> tuple[Float[Tensor, "R C"], Float[Tensor, "R S"]]:
        if self.sentinel:
            contexts = [*contexts, self.sentinel(decoder_query)]
            there = torch.cat([there, torch.ones_like(there[:, :1])], 1)
        # Contexts of sources may have different sizes: each has a map of its own.
        keys = torch.stack([key(context) for key, context in zip(self.keys, contexts, strict=True)], 1)  # (R, N, C)
        values = torch.stack([value(context) for value, context in zip(self.values, contexts, strict=True)], 1)
        energies = torch.tanh(self.query(decoder_query.query).unsqueeze(1) + keys) @ self.vector + self.bias
        beta = softmax(energies.masked_fill(~there, torch.finfo(energies.dtype).min)) * there  # all missing: all 0
        context = torch.bmm(beta.unsqueeze(1).to(values.dtype), values).squeeze(1)
        shares = torch.split(beta, 1, 1)
        weighted = [share * source_weights for share, source_weights in zip(shares, weights, strict=False)]
        return context, torch.cat([*weighted, *shares[len(weights) :]], -1)
