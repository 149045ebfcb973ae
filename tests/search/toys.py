"""What the searches are tried on: a model whose probabilities are written down, and all translations of a model."""

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import BOS, EOS
from dragoman.model.predictor import Prediction, Predictor
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.state import select_rows
from tests.builders import pairs, tile

UNK, A, B, C = 0, 4, 5, 6
SYMBOLS = 7

Prefix = tuple[int, ...]
Chances = Mapping[int, float]


class State(NamedTuple):
    prefix: Tensor  # (R, t)
    words: Tensor  # (B,) the first of the source
    masks: tuple[Tensor, ...]  # (B, S) for each source

    @property
    def width(self) -> int:
        """Rows of a sentence."""
        return len(self.prefix) // len(self.words)


class Written(Predictor[State]):
    """`chances(first word of the source, prefix)` are the probabilities of the next symbol; those unnamed are 0.

    Attention at step t is on position t of every source, or on its last one.
    """

    start_id = BOS

    def __init__(self, chances: Callable[[int, Prefix], Chances]) -> None:
        self.chances = chances

    def begin(self, sources: tuple[SourceBatch, ...]) -> State:
        ids = sources[0].ids
        return State(ids[:, :0], ids[:, 0], tuple(source.mask for source in sources))

    def predict(self, symbols: Tensor, state: State) -> Prediction[State]:
        prefix = torch.cat([state.prefix, symbols.unsqueeze(1)], 1)
        words_of, *masks = tile((state.words, *state.masks), state.width)
        here = [mask.sum(1).clamp(max=prefix.size(1)) - 1 for mask in masks]
        attention = (one_hot(place, mask.size(1)).float() for place, mask in zip(here, masks, strict=True))
        features = torch.zeros(len(symbols), SYMBOLS, dtype=torch.double)
        for row, (words, word) in enumerate(zip(prefix.tolist(), words_of.tolist(), strict=True)):
            assert words[0] == BOS
            for symbol, chance in self.chances(word, tuple(words[1:])).items():
                features[row, symbol] = chance
        return Prediction(features.log(), tuple(attention), state._replace(prefix=prefix))

    def reorder(self, state: State, rows: Tensor, sentences: Tensor | None = None) -> State:
        left = torch.arange(len(state.words)) if sentences is None else sentences
        assert torch.equal(rows // state.width, left.repeat_interleave(len(rows) // max(1, len(left))))
        source_state = (
            (state.words, state.masks) if sentences is None else select_rows((state.words, state.masks), sentences)
        )
        return State(state.prefix[rows], *source_state)


def all_translations(model: Seq2Seq, source: list[int], symbols: int, longest: int) -> dict[Prefix, float]:
    """log P of every translation that search may say, up to so many words: the end symbol must follow the last."""
    words = [symbol for symbol in range(symbols) if symbol not in (1, BOS, EOS)]
    prefix = [
        prefix_symbols for length in range(longest + 1) for prefix_symbols in itertools.product(words, repeat=length)
    ]
    scores, *_ = model.score(pairs([source] * len(prefix), [list(prefix_symbols) for prefix_symbols in prefix]))
    return dict(zip(prefix, scores.sum(1).tolist(), strict=True))
