"""Embeddings: symbols to vectors. One class per kind, one table entry per class."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sized
from typing import ClassVar, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.configuration.components import Count
from dragoman.configuration.config import Text
from dragoman.model.shapes import Float, Int


class Embedding(nn.Module, ABC):
    """A vector of `size` numbers for each symbol, with dropout on single numbers.

    Constructors take the symbols (`SymbolTable`), the size and the dropout rate. An embedding that `has_table` also
    takes, last, the parameter `table` (V, E) of another one, if it is to share it. `by_symbol` names its parameters
    with a row for each symbol.
    """

    has_table: ClassVar[bool] = False
    by_symbol: ClassVar[tuple[str, ...]] = ()

    def __init__(self, symbols: int, size: int, dropout: float) -> None:
        super().__init__()
        self.symbols = symbols
        self.size = size
        self.rate = dropout

    def forward(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return functional.dropout(self.vectors(symbols), self.rate, self.training)

    @abstractmethod
    def vectors(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]: ...


@final
class Table(Embedding):
    """A learnt vector for each symbol; given the `table` of another embedding, both are tied (Press and Wolf 2017).

    Vectors are drawn at random; training then takes those that it finds in the first `pretrained_words` words of the
    file `pretrained` (training/pretrained.py). A trained model has them in its weights.
    """

    has_table = True
    by_symbol = ("table",)

    def __init__(
        self,
        symbols: Sized,
        size: int,
        dropout: float = 0.0,
        table: nn.Parameter | None = None,
        *,
        pretrained: Text | None = None,
        pretrained_words: Count = 200_000,
    ) -> None:
        super().__init__(len(symbols), size, dropout)
        self.pretrained = pretrained
        self.pretrained_words = pretrained_words
        if table is None:
            bound = (3 / size) ** 0.5  # vectors of length 1 on average
            table = nn.Parameter(torch.empty(len(symbols), size).uniform_(-bound, bound))
        if table.shape != (len(symbols), size):
            raise ValueError(f"a tied table of {tuple(table.shape)} cannot serve {len(symbols)} symbols of size {size}")
        self.table = table

    def vectors(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return functional.embedding(symbols, self.table)


EMBEDDINGS: Mapping[str, type[Embedding]] = {"table": Table}
