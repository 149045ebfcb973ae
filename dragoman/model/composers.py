"""Composers: from the characters of words to their vectors."""

from abc import ABC, abstractmethod
from typing import cast, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.data.vocabulary import PAD
from dragoman.model.linear import Linear
from dragoman.model.recurrent import CELLS, Cell, CellKind
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.unrolled import run_cell


class Composer(nn.Module, ABC):
    """`composer(characters)`: the vectors (W, E) of words, given as numbers of an alphabet (see `Alphabet`). Padding
    changes nothing. `table` has a vector for each character, whose numbers begin with a `variance` with which composed
    vectors differ about as much as those of a table of words.
    """

    def __init__(self, characters: int, character_size: int, variance: float = 1.0) -> None:
        super().__init__()
        bound = (3 * variance) ** 0.5
        self.table = nn.Parameter(torch.empty(characters, character_size).uniform_(-bound, bound))

    def forward(self, characters: Int[Tensor, "W L"]) -> Float[Tensor, "W E"]:
        real = characters != PAD
        longest = int(real.sum(1).max()) if real.numel() else 0
        characters, real = characters[:, : max(1, longest)], real[:, : max(1, longest)]
        return self.compose(functional.embedding(characters, self.table), real)

    @abstractmethod
    def compose(self, vectors: Float[Tensor, "W L X"], real: Bool[Tensor, "W L"]) -> Float[Tensor, "W E"]:
        """The vectors of words whose characters have these vectors."""


@final
class BothWays(Composer):
    """`e_w = W_f h_f + W_b h_b + b`, h_f and h_b the last states of two cells, of which one reads the word forwards and
    the other backwards (Ling et al. 2015, CN 7.2).
    """

    def __init__(self, characters: int, size: int, character_size: int, hidden: int, cell: str) -> None:
        super().__init__(characters, character_size)
        self.forward_cell = CELLS[cell](character_size, hidden)
        self.backward_cell = CELLS[cell](character_size, hidden)
        self.mix = Linear(2 * hidden, size)

    def compose(self, vectors: Float[Tensor, "W L X"], real: Bool[Tensor, "W L"]) -> Float[Tensor, "W E"]:
        ends = [
            run_cell(cell, vectors, real, backward=backward)[1][0]
            for cell, backward in ((self.forward_cell, False), (self.backward_cell, True))
        ]
        mixed: Tensor = self.mix(torch.cat(ends, 1))
        return mixed


@final
class LastState(Composer):
    """The last state of the top layer of cells that read the word forwards (Luong and Manning 2016, 4.1)."""

    def __init__(self, characters: int, size: int, character_size: int, layers: int, cell: CellKind) -> None:
        super().__init__(characters, character_size)
        sizes = [character_size] + [size] * (layers - 1)
        self.cells = nn.ModuleList(CELLS[cell](inputs, size) for inputs in sizes)

    def compose(self, vectors: Float[Tensor, "W L X"], real: Bool[Tensor, "W L"]) -> Float[Tensor, "W E"]:
        state = vectors[:, 0]
        for cell in self.cells:
            vectors, (state, *_) = run_cell(cast(Cell, cell), vectors, real)
        return state


@final
class ConvolutionalComposer(Composer):
    """`e_w = W g(y) + b`, y the largest value of each filter over the word (Kim et al. 2016, CN 7.2):

        y_f = max_i tanh(<F_f, C[i : i + w]> + b_f)

    with `filters` w filters of each width w, and g layers of highway: `z = t relu(W_H y + b_H) + (1 - t) y`,
    `t = sigm(W_T y + b_T)`. A word that is shorter than a filter is followed by zeros.
    """

    def __init__(
        self, characters: int, size: int, character_size: int, widths: tuple[int, ...], filters: int, highway: int
    ) -> None:
        super().__init__(characters, character_size, 1 / character_size)  # or tanh saturates
        self.widths = widths
        self.filters = nn.ModuleList(Linear(width * character_size, filters * width) for width in widths)
        values = filters * sum(widths)
        self.highway = nn.ModuleList(Linear(values, 2 * values) for _ in range(highway))
        for layer in self.highway:
            nn.init.constant_(cast(Linear, layer).bias[values:], -2.0)  # carries y as it is, at first
        self.mix = Linear(values, size)

    def compose(self, vectors: Float[Tensor, "W L X"], real: Bool[Tensor, "W L"]) -> Float[Tensor, "W E"]:
        lengths = real.sum(1, keepdim=True)
        padded = functional.pad(vectors * real.unsqueeze(2), (0, 0, 0, max(self.widths) - 1))
        maxima = []
        for width, filters in zip(self.widths, self.filters, strict=True):
            windows = padded[:, : real.size(1) + width - 1].unfold(1, width, 1)  # (W, L, X, w)
            values = torch.tanh(filters(windows.transpose(2, 3).flatten(2)))
            first = torch.arange(real.size(1), device=real.device)
            within = first <= (lengths - width).clamp(min=0)  # (W, L)
            maxima.append(values.masked_fill(~within.unsqueeze(2), -torch.inf).amax(1))
        y = torch.cat(maxima, 1)
        for layer in self.highway:
            new, gate = layer(y).chunk(2, 1)
            t = torch.sigmoid(gate)
            y = t * functional.relu(new) + (1 - t) * y
        mixed: Tensor = self.mix(y)
        return mixed
