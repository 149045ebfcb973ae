"""Aligning the words of pairs by `MaskAlign`, trained on these pairs alone."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, TypeAlias

import torch
from torch import Tensor

from dragoman.corpus.aligners import REPORTS, AlignmentTask, Places
from dragoman.data.batch import TokenBatch, pad_tokens
from dragoman.model.mask_align import Choices, MaskAlign

Pair: TypeAlias = tuple[list[int], list[int]]  # the numbers of the words of source and target

SEED: Final = 1
PAIRS: Final = 20  # in a batch
EPOCHS: Final = 6  # passes over the pairs, or more, up to
LEAST_STEPS: Final = 1000
ALONE: Final = 1 / 2  # share of the steps in which words are chosen by their places alone, as in IBM model 2;
GROWN: Final = (
    2 / 3
)  # context is phased in from there to here: used from the start, words would degenerate into codes for it
RATE: Final = 0.003  # the highest learning rate, after
RISE: Final = 100  # steps
MOST_NORM: Final = 1.0  # of the gradient
NEAR: Final = 6  # words by which the targets of a batch may differ in length


def find(tasks: Sequence[AlignmentTask], processes: int, passed: Callable[[], object]) -> list[list[Places]]:
    """Return the place in the source of each target word of the pairs to align, for each task, as `aligners.links`
    asks.

    Tasks are done one after the other, since each uses all threads; `passed` is called after each tenth of a training,
    and when pairs are aligned. The same pairs in the same order have the same places.
    """
    # A command may align in the middle of something else that draws random numbers.
    with torch.random.fork_rng():
        return [_aligned(task, passed) for task in tasks]


def _aligned(task: AlignmentTask, passed: Callable[[], object]) -> list[Places]:
    torch.manual_seed(SEED)
    sides = list(zip(*(pair.lists for pair in task.pairs), strict=True))
    vocabularies = [list(dict.fromkeys(chain.from_iterable(side))) for side in sides]
    numbers = [{word: number for number, word in enumerate(words)} for words in vocabularies]
    ids = [[[of[word] for word in text] for text in side] for side, of in zip(sides, numbers, strict=True)]
    pairs = list(zip(*ids, strict=True))
    model = MaskAlign(*vocabularies)
    _train(model, pairs, passed)
    places = _places(model, pairs[task.first :])
    passed()
    return places


def _train(model: MaskAlign, pairs: Sequence[Pair], passed: Callable[[], object]) -> None:
    """Train by Adam, with a learning rate that rises and then falls to nothing along half a cosine."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    length, reported = max(LEAST_STEPS, EPOCHS * math.ceil(len(pairs) / PAIRS)), 0
    for step, (source, target) in zip(range(1, length + 1), _batches(pairs), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, step / RISE) * (1 + math.cos(math.pi * step / length)) / 2
        optimizer.zero_grad()
        loss(model, source, target, context_scale(step / length)).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), MOST_NORM)
        optimizer.step()
        while reported < REPORTS * step // length:
            reported += 1
            passed()


def context_scale(share: float) -> float:
    """Return the scale of what the words around say, from 0 to 1, after this share of the training."""
    return min(1.0, max(0.0, (share - ALONE) / (GROWN - ALONE)))


def loss(model: MaskAlign, source: TokenBatch, target: TokenBatch, scale: float = 1.0) -> Tensor:
    """Return `- log p(y_t | y_<t, y_>t, x)`, the mean over the words of the targets, in nats."""
    choices: Choices = model(source, target, scale)
    return -choices.joint.logsumexp(2)[target.mask].mean()


def _batches(pairs: Sequence[Pair]) -> Iterator[tuple[TokenBatch, TokenBatch]]:
    """Yield pairs of similar length in random order, epoch after epoch."""
    generator = random.Random(SEED)
    while True:
        order = sorted(range(len(pairs)), key=lambda number: len(pairs[number][1]) + NEAR * generator.random())
        batches = [order[first : first + PAIRS] for first in range(0, len(order), PAIRS)]
        generator.shuffle(batches)
        yield from (_padded([pairs[number] for number in batch]) for batch in batches)


def _padded(pairs: Sequence[Pair]) -> tuple[TokenBatch, TokenBatch]:
    source, target = zip(*pairs, strict=True)
    return pad_tokens(source), pad_tokens(target)


@torch.no_grad()
def _places(model: MaskAlign, pairs: Sequence[Pair]) -> list[Places]:
    """Return `arg max_j alpha_tj p(y_t | x_j)` for each target word, 0 for none."""
    model.eval()
    places: list[Places] = []
    for first in range(0, len(pairs), PAIRS):
        source, target = _padded(pairs[first : first + PAIRS])
        chosen = model(source, target).joint.argmax(2)
        places += [row[mask].tolist() for row, mask in zip(chosen, target.mask, strict=True)]
    return places
