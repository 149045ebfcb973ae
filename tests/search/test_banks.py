"""The candidates of dynamic beam allocation."""

import torch

from dragoman.model.predictor import Prediction
from dragoman.search.banks import find_contenders
from dragoman.search.phrases import PhraseConstraint, SentencePhrases
from tests.search.toys import SYMBOLS, A, B, C


def test_each_row_has_its_best_continuations() -> None:
    """As many as a beam has places."""
    constraint = PhraseConstraint([SentencePhrases([[(A,), (B,), (C,)]])] * 2, torch.device("cpu"))
    state = constraint.start()
    log_probs = torch.full((2, SYMBOLS), -9.0)
    log_probs[:, [A, B, C]] = torch.tensor([[-3.0, -1.0, -2.0], [-4.0, -6.0, -5.0]])
    contenders = find_contenders(Prediction(log_probs, (), None), constraint.progress(state), constraint, state, 2)
    assert contenders.rows.tolist() == [0, 0, 1, 1]
    assert contenders.symbols.tolist() == [B, C, A, C]
    assert contenders.log_probs.tolist() == [-1, -2, -4, -5]
    assert contenders.missing.tolist() == [0, 0, 0, 0]
