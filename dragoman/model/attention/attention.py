"""Attention is one equation: score, mask, normalise, sum. A variant is a choice of its parts."""

from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.model.attention.scores import Score
from dragoman.model.linear import product_kind
from dragoman.model.shapes import Bool, Float


class Attended(NamedTuple):
    """A source made ready to be attended to; computed once per sentence."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S C"]
    mask: Bool[Tensor, "B S"]


class Attention(nn.Module):
    """A query attends to values through their keys (SL; NT (73)-(74), (76)-(80)).

        weights = softmax(score(query, keys) where mask)
        context = weights @ values

    This is the only attention mask in the code: a padded position has weight 0 exactly.
    """

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score
        self.size = score.state_size

    def prepare(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Attended:
        states = states.to(product_kind(states))  # autocast would cast the values anew at every step
        return Attended(self.score.keys(states), states, mask)

    def forward(
        self, query: Float[Tensor, "R Q"] | Float[Tensor, "B T Q"], attended: Attended
    ) -> tuple[Tensor, Tensor]:
        """Context and weights: (B, T, C) and (B, T, S) for T queries a sentence. Without a time axis, the rows of a
        sentence, of which a beam has several, stand side by side: (R, C) and (R, S).
        """
        if query.dim() == 2:
            rows = query.size(0)
            context, weights = self(query.view(attended.mask.size(0), -1, query.size(1)), attended)
            return context.view(rows, context.size(2)), weights.view(rows, weights.size(2))
        energies = self.score(query, attended.keys).masked_fill(~attended.mask.unsqueeze(1), float("-inf"))
        weights = torch.softmax(energies, dim=-1)
        return torch.bmm(weights, attended.values), weights


@final
class NoAttention(nn.Module):
    """The plain encoder-decoder (CN 1.2-1.5): contexts of size 0 and weights of 0, so that no caller need ask."""

    size = 0

    def prepare(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Attended:
        nothing = states[:, :, :0]
        return Attended(nothing, nothing, mask)

    def forward(self, query: Tensor, attended: Attended) -> tuple[Tensor, Tensor]:
        steps = query.shape[:-1]
        return query.new_zeros(*steps, 0), query.new_zeros(*steps, attended.mask.size(1))
