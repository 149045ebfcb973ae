"""Dynamic beam allocation (Post and Vilar 2018): a beam is divided into banks of hypotheses that have fulfilled equally
much of a constraint.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from dragoman.data.vocabulary import EOS, PAD
from dragoman.model.predictor import Candidate, Prediction
from dragoman.model.state import select
from dragoman.search.constraints import Constraint, Progress
from dragoman.search.hypothesis import Node


def by_progress(
    every: Sequence[Iterable[Candidate]],
    rows: Sequence[Node],
    prediction: Prediction[Any],
    progress: Progress,
    constraint: Constraint,
    state: Any,
    width: int,
) -> list[list[Candidate]]:
    """The candidates of each sentence, or of each group of a diverse beam. Where something is missing, those that
    advance the constraint are added, and all stand in the order in which a beam of `width` takes them; others are
    unchanged. `state` is the constraint's state before these candidates.
    """
    found = [list(candidates) for candidates in every]
    known = {(each.row, each.symbol) for candidates in found for each in candidates}
    of_sentence = len(rows) // len(every)
    for each in _following(rows, prediction, progress):
        if (each.row, each.symbol) not in known:
            found[each.row // of_sentence].append(each)
    flat = [each for candidates in found for each in candidates]
    device = prediction.log_probs.device
    parents = torch.tensor([each.row for each in flat], device=device)
    symbols = torch.tensor([each.symbol for each in flat], device=device)
    after = constraint.progress(constraint.advance(symbols, select(state, parents)))
    assert after is not None
    missing = iter(after.missing.tolist())
    counted = [[(next(missing), each) for each in candidates] for candidates in found]
    lacking = progress.missing.view(len(every), -1).any(1).tolist()
    return [
        banked(each, width) if lacks else candidates
        for each, candidates, lacks in zip(counted, found, lacking, strict=True)
    ]


def _following(rows: Sequence[Node], prediction: Prediction[Any], progress: Progress) -> Iterable[Candidate]:
    """Each row continued by each symbol that advances the constraint."""
    log_probs = prediction.of_rows(progress.following).tolist()
    for row, columns in enumerate(zip(progress.following.tolist(), log_probs, strict=True)):
        for symbol, log_prob in zip(*columns, strict=True):
            if symbol != PAD and log_prob > float("-inf"):
                yield Candidate(row, symbol, log_prob, rows[row].total + log_prob)


def banked(candidates: list[tuple[int, Candidate]], width: int) -> list[Candidate]:
    """The candidates that end and are among the `width` best with nothing missing; then `width` that go on, shared
    equally among the banks (one for each number of missing symbols), with places left over given to the best. Both
    best first. Where all end, those with the fewest missing symbols are what there is.
    """
    possible = [each for each in candidates if each[1].total > float("-inf")]
    ranked = sorted(possible, key=lambda each: -each[1].total)
    fewest = 0 if any(each.symbol != EOS for _, each in ranked) else min((missing for missing, _ in ranked), default=0)
    fulfilled = [each for missing, each in ranked if missing == fewest]
    ends = [each for each in fulfilled[:width] if each.symbol == EOS]
    banks = defaultdict[int, list[Candidate]](list)
    for missing, each in ranked:
        if each.symbol != EOS:
            banks[missing].append(each)
    share = max(1, width // max(1, len(banks)))
    first = [each for missing in sorted(banks) for each in banks[missing][:share]][:width]
    rest = sorted((each for bank in banks.values() for each in bank[share:]), key=lambda each: -each.total)
    rest += [each for _, each in candidates if each.total == float("-inf") and each.symbol != EOS]  # fill the places
    return [*ends, *sorted([*first, *rest[: width - len(first)]], key=lambda each: -each.total)]
