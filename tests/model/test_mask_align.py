"""The model that aligns: its equation as a loop, and what it may and may not look at."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.data.batch import TokenBatch, pad_tokens
from dragoman.model.mask_align import UNLINKED, Choices, MaskAlign, NgramEmbedding
from tests.builders import shaken
from tests.derivatives import assert_derivative
from tests.model import loops
from tests.model.loops import Vector, array, dot, join, numbers, tanh, times

SIZE = 3
SOURCE = ["le", "chapeau", "chateau", "noir"]
TARGET = ["the", "black", "hat", "castle", "."]
ROWS = [([0, 1, 3], [0, 1, 2, 4]), ([2], [3]), ([3, 0, 3, 2], [1, 1])]


def model(seed: int = 0) -> MaskAlign:
    torch.manual_seed(seed)
    return shaken(MaskAlign(SOURCE, TARGET, size=SIZE), seed).eval()


def batch(rows: list[tuple[list[int], list[int]]] = ROWS) -> tuple[TokenBatch, TokenBatch]:
    source, target = zip(*rows, strict=True)
    return pad_tokens(source), pad_tokens(target)


def vectors(p: dict[str, Vector], name: str, words: list[str]) -> list[Vector]:
    """The mean of a row for the word and one for each piece, which are numbered as they come."""
    pieces = list(
        dict.fromkeys(f"<{word}>"[at : at + 4] for word in words if len(word) > 2 for at in range(len(word) - 1))
    )
    rows_of_words = []
    for number, word in enumerate(words):
        whole = f"<{word}>"
        own = [whole[at : at + 4] for at in range(len(whole) - 3)] if len(whole) > 4 else []
        rows = [number, *(len(words) + pieces.index(piece) for piece in own)]
        rows_of_words.append(sum(p[f"{name}.table"][row] for row in rows) / len(rows))
    return rows_of_words


def by_hand(aligner: MaskAlign, source: list[int], target: list[int], scale: float) -> tuple[Vector, Vector]:
    """alpha and alpha p(y | x) of one pair, a word at a time."""
    p = numbers(aligner)

    def gru(name: str, inputs: list[Vector]) -> list[Vector]:
        own = {key.removeprefix(f"{name}."): value for key, value in p.items() if key.startswith(f"{name}.")}
        return loops.read("gru", own, inputs, SIZE)[0]

    table = vectors(p, "source", SOURCE)
    x = [table[word] for word in source]
    y = [vectors(p, "target", TARGET)[word] for word in target]
    ahead, back = gru("forwards", x), gru("backwards", x[::-1])[::-1]
    f = gru("before", [p["ends"][0], *y[:-1]])
    b = gru("after", [p["ends"][1], *y[:0:-1]])[::-1]
    prior, joint = [], []
    slope = math.log1p(math.exp(float(p["diagonal"])))
    for t, target_word in enumerate(target):
        query = times(p["query.weight"], join(f[t], b[t]))
        energies = [
            scale * dot(query, times(p["key.weight"], join(ahead[j], back[j]))) / math.sqrt(SIZE)
            - slope * abs((t + 1) / len(target) - (j + 1) / len(source))
            for j in range(len(source))
        ]
        total = sum(map(math.exp, energies))
        alpha = [UNLINKED, *((1 - UNLINKED) * math.exp(energy) / total for energy in energies)]
        says = []
        for vector in [p["unsaid"][0], *x]:
            hidden = tanh(times(p["hidden.weight"], vector) + p["hidden.bias"])
            logits = [
                dot(row, hidden) + bias for row, bias in zip(vectors(p, "output", TARGET), p["bias"], strict=True)
            ]
            says.append(math.exp(logits[target_word]) / sum(map(math.exp, logits)))
        prior.append(alpha)
        joint.append([one * other for one, other in zip(alpha, says, strict=True)])
    return np.array(prior), np.array(joint)


@pytest.mark.parametrize("scale", [0.0, 0.4, 1.0])
def test_the_equation(scale: float) -> None:
    aligner = model()
    choices: Choices = aligner(*batch(), scale)
    for row, (source, target) in enumerate(ROWS):
        prior, joint = by_hand(aligner, source, target, scale)
        own = slice(len(target)), slice(1 + len(source))
        assert np.allclose(array(choices.prior[row].exp()[own]), prior, rtol=0, atol=1e-9)
        assert np.allclose(array(choices.joint[row].exp()[own]), joint, rtol=0, atol=1e-9)


def test_choices_are_a_distribution_and_padding_is_none() -> None:
    source, target = batch()
    choices = model()(source, target)
    torch.testing.assert_close(choices.prior.exp().sum(2), torch.ones_like(target.ids, dtype=torch.float64))
    never = torch.nn.functional.pad(~source.mask, (1, 0)).unsqueeze(1).expand_as(choices.prior)
    assert (choices.prior[never] == -math.inf).all()


def test_a_pair_alone_is_as_in_its_batch() -> None:
    aligner = model()
    together = aligner(*batch())
    for row, pair in enumerate(ROWS):
        alone = aligner(*batch([pair]))
        own = row, slice(len(pair[1])), slice(1 + len(pair[0]))
        for one, other in zip(alone, together, strict=True):
            torch.testing.assert_close(one[0], other[own], rtol=0, atol=1e-12)


def test_a_word_is_hidden_from_what_chooses_its_source_word() -> None:
    """And from nothing else: all other words see it, on either side."""
    aligner, (source, target) = model(), batch()
    before = aligner(source, target).prior
    ids = target.ids.clone()
    ids[0, 1] = 3
    after = aligner(source, target._replace(ids=ids)).prior
    changed = ((before - after).nan_to_num().abs().amax(2) > 1e-9).tolist()
    assert changed[0] == [True, False, True, True]
    assert not any(changed[1] + changed[2])


def test_what_a_source_word_says_does_not_depend_on_its_neighbors() -> None:
    """Only the choice then decides which word is produced."""
    aligner, (source, target) = model(), batch()
    choices = aligner(source, target)
    ids = source.ids.clone()
    ids[0, 0] = 2
    other = aligner(source._replace(ids=ids), target)
    says, other_scores = ((pair_choices.joint - pair_choices.prior)[0, :, 2:4] for pair_choices in (choices, other))
    torch.testing.assert_close(says, other_scores, rtol=0, atol=1e-12)


def test_the_gradient_is_the_derivative_and_everything_learns() -> None:
    aligner, (source, target) = model(), batch()

    def loss() -> Tensor:
        return -aligner(source, target).joint.logsumexp(2)[target.mask].sum()

    assert_derivative(loss, aligner.parameters())
    loss().backward()
    for name, parameter in aligner.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_words_share_what_is_known_of_their_pieces() -> None:
    words = NgramEmbedding(["chapeau", "chateau", "le"], 4)
    first, second, third = words(torch.arange(3)).detach()
    with torch.no_grad():
        words.table[0] += 8.0
        changed = words(torch.tensor([2, 0, 1])).detach()
        assert torch.equal(changed[0], third)
        torch.testing.assert_close(changed[1], first + 8.0 / 7)  # itself and <cha, chap, hape, apea, peau, eau>
        assert torch.equal(changed[2], second)
        words.table[3] += 7.0  # <cha
        again = words(torch.arange(3)).detach()
    torch.testing.assert_close(again[0], changed[1] + 1.0)
    torch.testing.assert_close(again[1], second + 1.0)
    assert torch.equal(again[2], third)
