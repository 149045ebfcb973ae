"""What the searches are tried on: a model whose probabilities are written down, and all translations of a model."""

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from dragoman.data.batch import Sequence
from dragoman.data.vocabulary import BOS, EOS
from dragoman.model.seq2seq import Seq2Seq
from tests.builders import pairs

UNK, A, B, C = 0, 4, 5, 6
SYMBOLS = 7

Prefix = tuple[int, ...]
Chances = Mapping[int, float]


class Moving(NamedTuple):
    said: Tensor  # (R, t)
    weights: Tensor  # (R, S)


class State(NamedTuple):
    moving: Moving
    sentence: Tensor  # (R,) first word of the source


class Step(NamedTuple):
    features: Tensor
    state: State


class Written:
    """`chances(first word of the source, prefix)` are the probabilities of the next symbol; those unnamed are 0.

    Attention at step t is on position t, or on the last one.
    """

    start_id = BOS

    def __init__(self, chances: Callable[[int, Prefix], Chances]) -> None:
        self.chances = chances

    def encode(self, sources: tuple[Sequence, ...]) -> tuple[Sequence, ...]:
        return sources

    def start(self, memories: tuple[Sequence, ...]) -> State:
        ids, mask = memories[0]
        return State(Moving(ids[:, :0], torch.zeros(mask.shape)), torch.stack([ids[:, 0], mask.sum(1)], 1))

    def step(self, symbols: Tensor, state: State) -> Step:
        said = torch.cat([state.moving.said, symbols.unsqueeze(1)], 1)
        weights = torch.zeros_like(state.moving.weights)
        here = torch.minimum(torch.full_like(symbols, said.size(1) - 1), state.sentence[:, 1] - 1)
        weights.scatter_(1, here.unsqueeze(1), 1.0)
        features = torch.zeros(len(symbols), SYMBOLS, dtype=torch.double)
        for row, (words, word) in enumerate(zip(said.tolist(), state.sentence[:, 0].tolist(), strict=True)):
            assert words[0] == BOS
            for symbol, chance in self.chances(word, tuple(words[1:])).items():
                features[row, symbol] = chance
        return Step(features, State(Moving(said, weights), state.sentence))

    def log_probs(self, features: Tensor) -> Tensor:
        return features.log()


def all_translations(model: Seq2Seq, source: list[int], symbols: int, longest: int) -> dict[Prefix, float]:
    """log P of every translation that search may say, up to so many words: the end symbol must follow the last."""
    words = [symbol for symbol in range(symbols) if symbol not in (1, BOS, EOS)]
    said = [each for length in range(longest + 1) for each in itertools.product(words, repeat=length)]
    scores, _ = model.score(pairs([source] * len(said), [list(each) for each in said]))
    return dict(zip(said, scores.sum(1).tolist(), strict=True))
