"""A memory that the decoder reads and writes at each step, beside its state."""

from typing import NamedTuple, final

import torch
from torch import Tensor, nn

from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.linear import Linear
from dragoman.model.memory import Memory
from dragoman.model.shapes import Float

SPREAD = 0.1  # standard deviation of the initial offsets of the cells


class Cells(NamedTuple):
    """The memory between two steps, and the weights of the last step."""

    contents: Float[Tensor, "B K D"]
    weights: Float[Tensor, "B K"]


@final
class ExternalMemory(nn.Module):
    """K cells M(i) of the size of a decoder state, read before its update and written after it (Wang et al. 2016).

        w_t = g w_(t-1) + (1 - g) softmax_i(v^T tanh(W M_(t-1)(i) + U s_(t-1) + b)),  g = sigmoid(w_g . s_(t-1) + b_g)
        r_t = sum_i w_t(i) M_(t-1)(i)
        M_t(i) = M_(t-1)(i) (1 - w_t(i) erase_t) + w_t(i) add_t,  erase_t, add_t = sigmoid(V s_t + d)
        M_0(i) = sigmoid(W_0 mean_j h_j + b_0) + o_i,  w_0(i) = 1 / K

    Reading and writing share their weights. The paper has no tanh, without which the state would cancel in the softmax.
    Its o_i is noise; here it is learned, so that decoding is deterministic.
    """

    def __init__(self, size: int, memory_size: int, cells: int) -> None:
        super().__init__()
        self.first = Linear(memory_size, size)
        self.offsets = nn.Parameter(SPREAD * torch.randn(cells, size))
        self.score = AdditiveScore(size, size)
        self.gate = Linear(size, 1)
        self.change = Linear(size, 2 * size)

    def start(self, memories: tuple[Memory, ...]) -> Cells:
        means = torch.cat([memory.mean() for memory in memories], -1)
        contents = torch.sigmoid(self.first(means)).unsqueeze(1) + self.offsets
        return Cells(contents, contents.new_full(contents.shape[:2], 1 / contents.size(1)))

    def read(self, state: Float[Tensor, "B D"], cells: Cells) -> tuple[Float[Tensor, "B D"], Cells]:
        """Return r_t, and the cells with the weights of this step."""
        everywhere = torch.ones_like(cells.weights, dtype=torch.bool)
        energies = self.score(state.unsqueeze(1), self.score.keys(cells.contents, everywhere)).squeeze(1)
        fresh = torch.softmax(energies, -1, dtype=cells.weights.dtype)
        weights = fresh + torch.sigmoid(self.gate(state)) * (cells.weights - fresh)
        return (weights.unsqueeze(1) @ cells.contents).squeeze(1), cells._replace(weights=weights)

    def write(self, state: Float[Tensor, "B D"], cells: Cells) -> Cells:
        erase, add = torch.sigmoid(self.change(state)).unsqueeze(1).chunk(2, -1)  # (B, 1, D)
        weights = cells.weights.unsqueeze(-1)  # (B, K, 1)
        return cells._replace(contents=cells.contents * (1 - weights * erase) + weights * add)
