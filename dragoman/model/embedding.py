"""Symbols to vectors."""

from collections.abc import Sized

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.model.shapes import Float, Int


class Embedding(nn.Module):
    """A table with one vector per symbol, and dropout of single units of what is looked up.

    `table` may be the parameter of another embedding: the two are then tied (Press and Wolf 2017).
    """

    def __init__(self, symbols: Sized, size: int, *, dropout: float = 0.0, table: nn.Parameter | None = None) -> None:
        super().__init__()
        if table is None:
            bound = (3 / size) ** 0.5  # vectors of length 1, on the average
            table = nn.Parameter(torch.empty(len(symbols), size).uniform_(-bound, bound))
        if table.shape != (len(symbols), size):
            raise ValueError(f"a tied table of {tuple(table.shape)} cannot serve {len(symbols)} symbols of size {size}")
        self.table = table
        self.size = size
        self.rate = dropout

    def forward(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return functional.dropout(functional.embedding(symbols, self.table), self.rate, self.training)
