"""Dynamic beam allocation (Post and Vilar 2018): a beam is divided into banks of hypotheses that have fulfilled equally
much of a constraint.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dragoman.data.vocabulary import EOS, PAD
from dragoman.model.predictor import Candidate, Prediction
from dragoman.model.shapes import Float, Int
from dragoman.model.state import select_rows
from dragoman.search.constraints import Constraint, ConstraintProgress
from dragoman.search.hypothesis import HypothesisNode


def group_by_progress(
    groups: Sequence[Iterable[Candidate]],
    rows: Sequence[HypothesisNode],
    prediction: Prediction[Any],
    progress: ConstraintProgress,
    constraint: Constraint,
    state: Any,
    width: int,
) -> list[list[Candidate]]:
    """Return the candidates of each sentence, or of each group of a diverse beam. Where something is missing, those
    that advance the constraint are added, the `width` best of each row and bank, and all stand in the order in which a
    beam of `width` takes them; others are unchanged. `state` is the constraint's state before these candidates.
    """
    candidate_groups = [list(candidates) for candidates in groups]
    flat = [candidate for candidates in candidate_groups for candidate in candidates]
    device = prediction.log_probs.device
    more = find_contenders(prediction, progress, constraint, state, width)
    # The first two fields of each candidate; one call for all sentences, since constraints work on tensors.
    rows_of, symbols = (torch.tensor([c[part] for c in flat], dtype=torch.long, device=device) for part in (0, 1))
    missing = constraint.missing_after(symbols, select_rows(state, rows_of))
    assert missing is not None
    lacks, of_sentence = iter(missing.tolist()), len(rows) // len(groups)
    counted = [[(next(lacks), candidate) for candidate in candidates] for candidates in candidate_groups]
    # What is probable enough may also advance the constraint: it counts once.
    proposed = {(candidate.row, candidate.symbol) for candidate in flat}
    for row, symbol, log_prob, lacked in zip(*(column.tolist() for column in more), strict=True):
        if (row, symbol) not in proposed:
            candidate = Candidate(row, symbol, log_prob, rows[row].total + log_prob)
            counted[row // of_sentence].append((lacked, candidate))
    lacking = progress.missing.view(len(groups), -1).any(1).tolist()
    return [
        fill_banks(own, width) if lacks_any else candidates
        for own, candidates, lacks_any in zip(counted, candidate_groups, lacking, strict=True)
    ]


class Contenders(NamedTuple):
    """Continuations that advance a constraint: their rows and symbols, log P, and what is missing after them."""

    rows: Int[Tensor, "N"]
    symbols: Int[Tensor, "N"]
    log_probs: Float[Tensor, "N"]
    missing: Int[Tensor, "N"]


def find_contenders(
    prediction: Prediction[Any], progress: ConstraintProgress, constraint: Constraint, state: Any, width: int
) -> Contenders:
    """Return the continuations that advance the constraint, of each row and bank the `width` best: no others can be
    kept.
    """
    log_probs = prediction.of_rows(progress.following)
    rows, places = ((progress.following != PAD) & (log_probs > float("-inf"))).nonzero(as_tuple=True)
    symbols, log_probs = progress.following[rows, places], log_probs[rows, places]
    missing = constraint.missing_after(symbols, select_rows(state, rows))
    assert missing is not None
    continuations = Contenders(rows, symbols, log_probs, missing)
    if progress.following.size(1) <= width:
        return continuations
    kept = _best_of_banks(rows, missing, log_probs, width)
    return Contenders(*(column[kept] for column in continuations))


def _best_of_banks(
    parents: Int[Tensor, "N"], missing: Int[Tensor, "N"], log_probs: Float[Tensor, "N"], width: int
) -> Int[Tensor, "_"]:
    """Return which of these continuations, in their order, are among the `width` best of their row and bank: as many as
    could be kept.
    """
    order = log_probs.argsort(descending=True, stable=True)
    # Stable sorts, the least important key first: by row, then by bank, then by log P.
    for key in (missing, parents):
        order = order[key[order].argsort(stable=True)]
    groups = torch.stack([parents[order], missing[order]])
    numbers = torch.arange(len(order), device=order.device)
    new = torch.ones_like(numbers, dtype=torch.bool)
    new[1:] = (groups[:, 1:] != groups[:, :-1]).any(0)
    # For each continuation, the place at which its row and bank begin; its rank is the distance from there.
    first = torch.where(new, numbers, 0).cummax(0).values if len(order) else numbers
    return order[numbers - first < width].sort().values


def fill_banks(candidates: list[tuple[int, Candidate]], width: int) -> list[Candidate]:
    """Return the candidates that end and are among the `width` best with nothing missing; then `width` that go on,
    shared equally among the banks (one for each number of missing symbols), with places left over given to the best.
    Both best first. Where all end, those with the fewest missing symbols are what there is.
    """
    possible = [pair for pair in candidates if pair[1].total > float("-inf")]
    ranked = sorted(possible, key=lambda pair: -pair[1].total)
    fewest = (
        0
        if any(candidate.symbol != EOS for _, candidate in ranked)
        else min((missing for missing, _ in ranked), default=0)
    )
    fulfilled = [candidate for missing, candidate in ranked if missing == fewest]
    ends = [candidate for candidate in fulfilled[:width] if candidate.symbol == EOS]
    banks = defaultdict[int, list[Candidate]](list)
    for missing, candidate in ranked:
        if candidate.symbol != EOS:
            banks[missing].append(candidate)
    # Those that lack least come first: with more banks than places, the others get none.
    share = max(1, width // max(1, len(banks)))
    first = [candidate for missing in sorted(banks) for candidate in banks[missing][:share]][:width]
    rest = sorted(
        (candidate for bank in banks.values() for candidate in bank[share:]), key=lambda candidate: -candidate.total
    )
    rest += [
        candidate for _, candidate in candidates if candidate.total == float("-inf") and candidate.symbol != EOS
    ]  # fill the places
    return [*ends, *sorted([*first, *rest[: width - len(first)]], key=lambda candidate: -candidate.total)]
