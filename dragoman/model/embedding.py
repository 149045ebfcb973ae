"""Embeddings: symbols to vectors. One class per kind, one table entry per class."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sized
from typing import Annotated, Any, ClassVar, NamedTuple, final

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.configuration.values import Count, Layers, Size, Text
from dragoman.data.alphabet import LONGEST_WORD, Alphabet
from dragoman.data.vocabulary import PAD, UNK, SymbolTable
from dragoman.model.composers import BothWays, Composer, ConvolutionalComposer, LastState
from dragoman.model.linear import use_backend
from dragoman.model.recurrent import CellKind
from dragoman.model.shapes import Float, Int

ROWS = 1024  # words whose vectors are computed at once while nothing is trained
Characters = Int[Tensor, "W L"]  # of words that the vocabulary does not have
Widths = Annotated[tuple[Annotated[int, Field(ge=1, le=LONGEST_WORD)], ...], Field(min_length=1)]


class Embedding(nn.Module, ABC):
    """A vector of `size` numbers for each symbol, with dropout on single numbers.

    Constructors take the symbols (`SymbolTable`), the size and the dropout rate. An embedding that `has_table` also
    takes, last, the parameter `table` (V, E) of another one, if it is to share it. `by_symbol` names its parameters
    with a row for each symbol, `by_character` those with a row for each character. One that `reads_characters` has a
    vector for every word.
    """

    has_table: ClassVar[bool] = False
    reads_characters: ClassVar[bool] = False
    of_sources_only: ClassVar[bool] = False  # whether it is about words that a decoder never reads
    by_symbol: ClassVar[tuple[str, ...]] = ()
    by_character: ClassVar[tuple[str, ...]] = ()

    def __init__(self, symbols: int, size: int, dropout: float) -> None:
        super().__init__()
        self.symbols = symbols
        self.size = size
        self.rate = dropout

    def forward(self, symbols: Int[Tensor, "*rows"], words: Characters | None = None) -> Float[Tensor, "*rows E"]:
        """The vectors of symbols. Numbers from the size of the vocabulary on are those of `words` (`Spelled`)."""
        vectors = self.vectors(symbols) if words is None else self.of_words(symbols, words)
        return functional.dropout(vectors, self.rate, self.training)

    @abstractmethod
    def vectors(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]: ...

    def of_words(self, symbols: Int[Tensor, "*rows"], words: Characters) -> Float[Tensor, "*rows E"]:
        """The vectors of symbols, and of words outside the vocabulary: `<unk>`, unless it `reads_characters`."""
        return self.vectors(symbols.masked_fill(symbols >= self.symbols, UNK))


@final
class LookupEmbedding(Embedding):
    """A learned vector for each symbol; given the `table` of another embedding, both are tied (Press and Wolf 2017).

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
        self.table = _table(len(symbols), size, table)

    def vectors(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return functional.embedding(symbols, self.table)


def _table(symbols: int, size: int, table: nn.Parameter | None) -> nn.Parameter:
    """A table (V, E), that of another embedding if it is given. ValueError if that has another size."""
    if table is None:
        bound = (3 / size) ** 0.5  # vectors of length 1 on average
        table = nn.Parameter(torch.empty(symbols, size).uniform_(-bound, bound))
    if table.shape != (symbols, size):
        raise ValueError(f"a tied table of {tuple(table.shape)} cannot serve {symbols} symbols of size {size}")
    return table


class Composed(Embedding):
    """Vectors composed by a `composer` of the characters of symbols, and of words outside the vocabulary.

    In training each distinct word of a batch is composed once. Otherwise the vector of a word of the vocabulary is
    composed when it is first needed, and cache until weights change.
    """

    reads_characters = True
    by_character = ("composer.table",)

    def __init__(
        self, symbols: SymbolTable, size: int, dropout: float, composer: Callable[[int, int], Composer]
    ) -> None:
        super().__init__(len(symbols), size, dropout)
        alphabet = Alphabet.of(symbols)
        self.spellings: Tensor
        with torch.device("cpu"):  # not saved, so it is computed even where parameters have no memory
            self.register_buffer("spellings", alphabet.vocabulary(symbols), persistent=False)  # (V, L)
        self.composer = composer(len(alphabet), size)
        self._cache: VectorCache | None = None

    def vectors(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return self.of_words(symbols, self.spellings[:0])

    def of_words(self, symbols: Int[Tensor, "*rows"], words: Characters) -> Float[Tensor, "*rows E"]:
        distinct, places = torch.unique(symbols, return_inverse=True)
        symbols_of_vocabulary = distinct[distinct < self.symbols]
        own = words[distinct[len(symbols_of_vocabulary) :] - self.symbols]
        if self.training or torch.is_grad_enabled():
            return functional.embedding(
                places, self.composer(_stack_characters(self.spellings[symbols_of_vocabulary], own))
            )
        with torch.inference_mode(False), torch.no_grad():  # kept vectors may be read anywhere
            vectors = torch.cat([self._cached_vectors(symbols_of_vocabulary), self._compose(own)])
        return functional.embedding(places, vectors)

    def train(self, mode: bool = True) -> "Composed":
        self._cache = None
        return super().train(mode)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:  # moves it, or changes its precision
        self._cache = None
        return super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]

    def _cached_vectors(self, symbols: Int[Tensor, "X"]) -> Float[Tensor, "X E"]:
        """The vectors of these symbols of the vocabulary, of which those that are not cached yet are composed."""
        versions = [parameter._version for parameter in self.parameters()]
        if self._cache is None or self._cache.versions != versions:
            table = self.composer.table
            self._cache = VectorCache(
                table.new_empty(self.symbols, self.size), table.new_zeros(self.symbols).bool(), versions
            )
        cache = self._cache
        missing = symbols[~cache.there[symbols]]
        if missing.numel():
            cache.vectors[missing] = self._compose(self.spellings[missing]).to(cache.vectors.dtype)
            cache.there[missing] = True
        return cache.vectors[symbols]

    def _compose(self, words: Characters) -> Float[Tensor, "W E"]:
        """The vectors of words, in full precision whatever the engine, some at a time, those of similar length."""
        vectors = words.new_empty(len(words), self.size, dtype=self.composer.table.dtype)
        by_length = (words != PAD).sum(1).argsort(stable=True)
        with use_backend(None), torch.autocast(words.device.type, enabled=False):
            for rows in torch.split(by_length, ROWS) if len(words) else ():
                vectors[rows] = self.composer(words[rows])
        return vectors


class VectorCache(NamedTuple):
    """The vectors (V, E) of the symbols that are `there`, by parameters of these versions."""

    vectors: Tensor
    there: Tensor
    versions: list[int]


def _stack_characters(upper: Int[Tensor, "_ _"], lower: Int[Tensor, "_ _"]) -> Characters:
    """Rows of characters below each other."""
    width = max(upper.size(1), lower.size(1))
    return torch.cat([functional.pad(rows, (0, width - rows.size(1)), value=PAD) for rows in (upper, lower)])


@final
class CharacterRnn(Composed):
    """Vectors composed by cells that read the characters of a word both ways (Ling et al. 2015): `BothWays`.

    `characters` is the size of the vector of a character, `cell` the kind of the cells and `hidden` the size of their
    states.
    """

    def __init__(
        self,
        symbols: SymbolTable,
        size: int,
        dropout: float = 0.0,
        *,
        characters: Size = 50,
        hidden: Size = 150,
        cell: CellKind = "lstm",
    ) -> None:
        super().__init__(
            symbols, size, dropout, lambda letters, size: BothWays(letters, size, characters, hidden, cell)
        )


@final
class CharacterCnn(Composed):
    """Vectors composed by convolutions over the characters of a word, and highway layers (Kim et al. 2016):
    `ConvolutionalComposer`.

    `characters` is the size of the vector of a character; there are `filters` times w filters of each width w of
    `widths`, and `highway` layers.
    """

    def __init__(
        self,
        symbols: SymbolTable,
        size: int,
        dropout: float = 0.0,
        *,
        characters: Size = 15,
        widths: Widths = (1, 2, 3, 4, 5, 6),
        filters: Size = 25,
        highway: Annotated[int, Field(ge=0, le=100)] = 1,
    ) -> None:
        def composer(letters: int, size: int) -> Composer:
            return ConvolutionalComposer(letters, size, characters, widths, filters, highway)

        super().__init__(symbols, size, dropout, composer)


@final
class HybridEmbedding(Embedding):
    """A learned vector for each symbol and, for a word that the vocabulary does not have, the last state of `layers`
    cells that read its characters (Luong and Manning 2016, 4.1).

    Each such word of a batch is read once. `characters` is the size of the vector of a character, `cell` the kind of
    the cells.
    """

    has_table = True
    reads_characters = True
    of_sources_only = True
    by_symbol = ("table",)
    by_character = ("composer.table",)

    def __init__(
        self,
        symbols: SymbolTable,
        size: int,
        dropout: float = 0.0,
        table: nn.Parameter | None = None,
        *,
        characters: Size = 50,
        layers: Layers = 2,
        cell: CellKind = "lstm",
    ) -> None:
        super().__init__(len(symbols), size, dropout)
        self.table = _table(len(symbols), size, table)
        self.composer = LastState(len(Alphabet.of(symbols)), size, characters, layers, cell)

    def vectors(self, symbols: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows E"]:
        return functional.embedding(symbols, self.table)

    def of_words(self, symbols: Int[Tensor, "*rows"], words: Characters) -> Float[Tensor, "*rows E"]:
        own = symbols >= self.symbols
        vectors = self.vectors(symbols.masked_fill(own, UNK))
        if not len(words):
            return vectors
        composed = self.composer(words)[symbols[own] - self.symbols]
        return vectors.index_put((own,), composed.to(vectors.dtype))


EMBEDDINGS: Mapping[str, type[Embedding]] = {
    "lookup": LookupEmbedding,
    "hybrid": HybridEmbedding,
    "character_rnn": CharacterRnn,
    "character_cnn": CharacterCnn,
}
