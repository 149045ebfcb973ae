"""What the searches are tried on: a model whose probabilities are written down, and all translations of a model."""

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import BOS, EOS
from dragoman.model.seq2seq import Prediction, Seq2Seq
from tests.builders import pairs

UNK, A, B, C = 0, 4, 5, 6
SYMBOLS = 7

Prefix = tuple[int, ...]
Chances = Mapping[int, float]


class State(NamedTuple):
    said: Tensor  # (R, t)
    words: Tensor  # (R,) the first of the source
    masks: tuple[Tensor, ...]  # (R, S) for each source


class Written:
    """`chances(first word of the source, prefix)` are the probabilities of the next symbol; those unnamed are 0.

    Attention at step t is on position t of every source, or on its last one.
    """

    start_id = BOS

    def __init__(self, chances: Callable[[int, Prefix], Chances]) -> None:
        self.chances = chances

    def begin(self, sources: tuple[Sequence, ...]) -> State:
        ids = sources[0].ids
        return State(ids[:, :0], ids[:, 0], tuple(source.mask for source in sources))

    def predict(self, symbols: Tensor, state: State) -> Prediction[State]:
        said = torch.cat([state.said, symbols.unsqueeze(1)], 1)
        here = [mask.sum(1).clamp(max=said.size(1)) - 1 for mask in state.masks]
        attention = (one_hot(each, mask.size(1)).float() for each, mask in zip(here, state.masks, strict=True))
        features = torch.zeros(len(symbols), SYMBOLS, dtype=torch.double)
        for row, (words, word) in enumerate(zip(said.tolist(), state.words.tolist(), strict=True)):
            assert words[0] == BOS
            for symbol, chance in self.chances(word, tuple(words[1:])).items():
                features[row, symbol] = chance
        return Prediction(features.log(), tuple(attention), state._replace(said=said))

    def reorder(self, state: State, rows: Tensor) -> State:
        assert len(rows) == len(state.words)
        assert torch.equal(state.words[rows], state.words)
        return state._replace(said=state.said[rows])


def all_translations(model: Seq2Seq, source: list[int], symbols: int, longest: int) -> dict[Prefix, float]:
    """log P of every translation that search may say, up to so many words: the end symbol must follow the last."""
    words = [symbol for symbol in range(symbols) if symbol not in (1, BOS, EOS)]
    said = [each for length in range(longest + 1) for each in itertools.product(words, repeat=length)]
    scores, *_ = model.score(pairs([source] * len(said), [list(each) for each in said]))
    return dict(zip(said, scores.sum(1).tolist(), strict=True))
