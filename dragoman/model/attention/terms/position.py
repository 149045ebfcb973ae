"""The term on positions in the source and target sentences."""

from typing import final

import torch
from torch import Tensor

from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float


@final
class PositionTerm(AttentionTerm):
    """`log(1 + t), log(1 + j), log(1 + |F|)` as features (Cohn et al. 2016).

    t and j are counted from 1; `|F|` is the number of source symbols, the end symbol included.
    """

    reads_ahead = True  # |F|

    def __init__(self, sizes: TermSizes) -> None:
        super().__init__(sizes, 3)

    def prepare(self, memory: Memory) -> Float[Tensor, "B S F"]:
        places = memory.mask.cumsum(1)
        counts = torch.stack([places, places[:, -1:].expand_as(places)], -1)
        return counts.to(torch.promote_types(memory.states.dtype, torch.float32)).log1p()

    def start(self, weights: Float[Tensor, "B S"], prepared: Float[Tensor, "B S F"]) -> Float[Tensor, "B S"]:
        """Return t - 1, at each position: the ONNX exporter cannot handle it as one number per row."""
        return weights

    def forward(
        self, term_input: TermInput, prepared: Float[Tensor, "B S F"], carried: Float[Tensor, "B T S"]
    ) -> TermOutput:
        step = (carried.amax(-1, keepdim=True) + 1).expand_as(carried)  # positions that arrive late start at 0
        places = prepared.unsqueeze(1).expand(*step.shape, -1)
        return TermOutput(step, torch.cat([step.log1p().unsqueeze(-1), places], -1))
