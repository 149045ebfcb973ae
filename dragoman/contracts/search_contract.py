"""What holds for every search."""

from collections.abc import Sequence

import numpy as np
import torch

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import ModelConfig
from dragoman.contracts.contract import Check, require, require_close, shaken
from dragoman.data.batch import Batch, TokenBatch, pad_tokens
from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.constraints import Prefix
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.search import Search
from dragoman.search.table import SEARCHES

SYMBOLS, SIZE = 9, 4  # the four specials and five words
SOURCES = ([4, 5], [6], [7, 8, 4])
SEEDS = (1, 2, 3)
LIMITS = {"length_ratio": 0.0, "length_margin": 4}  # so that exhaustive search ends


def _search(kind: str) -> Search:
    """The search with short hypotheses, if it has these options."""
    has = components.options(SEARCHES[kind])
    return components.build(SEARCHES, Spec(kind, {name: value for name, value in LIMITS.items() if name in has}))


def _model() -> Seq2Seq:
    torch.manual_seed(0)
    config = {"embedding": {"size": SIZE}, "encoder": {"size": SIZE // 2}, "decoder": {"size": SIZE}}
    return shaken(build.build(ModelConfig.model_validate(config), (SYMBOLS,), SYMBOLS)).eval()


def _batch(*rows: Sequence[int]) -> TokenBatch:
    return pad_tokens([[*row, EOS] for row in rows])


def _find(kind: str) -> list[list[Hypothesis]]:
    search = _search(kind)
    return search(_model(), (_batch(*SOURCES),), min(2, search.width), seeds=SEEDS)


def check_count(kind: str) -> None:
    """Each sentence has at least one hypothesis and at most `n_best`, the best first; more than `width` are refused."""
    search = _search(kind)
    for hypotheses in _find(kind):
        require(1 <= len(hypotheses) <= min(2, search.width), f"{len(hypotheses)} hypotheses")
        scores = [hypothesis.score for hypothesis in hypotheses]
        require(scores == sorted(scores, reverse=True), f"scores in the order {scores}")
    for n_best in (0, search.width + 1):
        try:
            search(_model(), (_batch(*SOURCES),), n_best, seeds=SEEDS)
        except UserError:
            continue
        require(False, f"n_best {n_best} is not refused")


def check_symbols(kind: str) -> None:
    """Hypotheses have no padding, begin or end symbol, and are within the limit of length."""
    longest = _search(kind).limit.max_steps((_batch(*SOURCES),))
    for hypotheses, most in zip(_find(kind), longest, strict=True):
        for hypothesis in hypotheses:
            require(not {PAD, BOS, EOS} & {*hypothesis.symbols}, f"special symbols in {hypothesis.symbols}")
            require(len(hypothesis.symbols) <= int(most), f"{len(hypothesis.symbols)} symbols, at most {int(most)}")


def check_log_probs(kind: str) -> None:
    """log P of each symbol and of the end is that of the model for the same translation."""
    model = _model()
    for source, hypotheses in zip(SOURCES, _find(kind), strict=True):
        for hypothesis in hypotheses:
            pair = Batch((_batch(source),), _batch(hypothesis.symbols), np.arange(1))
            with torch.no_grad():
                expected = model.score(pair).log_probs[0]
            values = torch.tensor(hypothesis.log_probs, dtype=torch.float64)
            require_close(values, expected, f"log P of the translation {hypothesis.symbols}")


def check_sentence_alone(kind: str) -> None:
    """The result for a sentence does not depend on its batch, and is the same every time."""
    search, model, batch = _search(kind), _model(), _find(kind)
    for number, source in enumerate(SOURCES):
        (alone,) = search(model, (_batch(source),), min(2, search.width), seeds=SEEDS[number : number + 1])
        texts = [hypothesis.symbols for hypothesis in alone]
        expected = [hypothesis.symbols for hypothesis in batch[number]]
        require(texts == expected, f"sentence {number} alone is {texts}, in its batch {expected}")


def check_constraint(kind: str) -> None:
    """Constraints are kept: every hypothesis begins with a forced symbol."""
    search = _search(kind)
    forced = Prefix(torch.tensor([[8]] * len(SOURCES)))
    for hypotheses in search(_model(), (_batch(*SOURCES),), constraint=forced, seeds=SEEDS):
        for hypothesis in hypotheses:
            require(hypothesis.symbols[:1] == (8,), f"a hypothesis begins with {hypothesis.symbols[:1]}, not with 8")


SEARCH_CHECKS: Sequence[Check] = (
    check_count,
    check_symbols,
    check_log_probs,
    check_sentence_alone,
    check_constraint,
)
