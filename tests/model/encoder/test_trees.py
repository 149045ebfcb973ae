"""Attention to parents: marginals of all dependency trees."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from dragoman.model.encoder.rnn_encoder import RnnEncoder
from dragoman.model.encoder.trees import Trees, marginals
from tests.builders import noise, shaken

MASK = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] + [False] * 4])


def trees(words: int) -> Iterator[tuple[int, ...]]:
    """The parent of every word, -1 for the one root, for every choice in which each word comes from the root."""
    for parents in itertools.product(range(-1, words), repeat=words):
        if parents.count(-1) == 1 and all(_rooted(parents, word) for word in range(words)):
            yield parents


def _rooted(parents: tuple[int, ...], word: int) -> bool:
    for _ in parents:
        if word >= 0:
            word = parents[word]
    return word == -1


@pytest.mark.spec("A10")
def test_there_are_as_many_trees_as_cayley_counted() -> None:
    assert [sum(1 for _ in trees(words)) for words in (1, 2, 3, 4)] == [1, 2, 9, 64]


@pytest.mark.spec("A10")
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_marginals_are_sums_over_all_trees(scale: float) -> None:
    edges, roots = scale * noise(3, 5, 5), scale * noise(3, 5, seed=1)
    edges[1, 3:], roots[1, 3:], edges[2, :, 1:] = 1e6, -1e6, 1e6
    probabilities = marginals(edges, roots, MASK)
    for row, words in enumerate((5, 3, 1)):
        total, expected = 0.0, torch.zeros(5, 5).double()
        for parents in trees(words):
            links = enumerate(parents)
            chosen = (roots[row, child] if parent < 0 else edges[row, parent, child] for child, parent in links)
            share = math.exp(sum(map(float, chosen)))
            total += share
            for child, parent in enumerate(parents):
                if parent >= 0:
                    expected[parent, child] += share
        torch.testing.assert_close(probabilities[row], expected / total, rtol=0, atol=1e-10)


@pytest.mark.spec("A10")
def test_gradients_of_marginals_are_exact() -> None:
    edges, roots = noise(2, 3, 3).requires_grad_(), noise(2, 3, seed=1).requires_grad_()
    mask = torch.tensor([[True] * 3, [True, True, False]])
    assert gradcheck(lambda edges, roots: marginals(edges, roots, mask), (edges, roots))


@pytest.mark.spec("A10")
def test_a_state_is_joined_with_the_expected_state_of_its_parent() -> None:
    layer = shaken(Trees(3)).requires_grad_(False)
    states = noise(1, 2, 3)
    outputs = layer(states, torch.ones(1, 2, dtype=torch.bool))
    one, other = states[0]

    def theta(parent: Tensor, child: Tensor) -> float:
        return math.tanh(float(layer.vector(torch.tanh(layer.parent(parent) + layer.child(child)))))

    def root(word: Tensor) -> float:
        return math.tanh(float(layer.root(word)))

    down = math.exp(root(one) + theta(one, other))  # the first word is the parent of the second
    up = math.exp(root(other) + theta(other, one))
    parents = torch.stack([up / (up + down) * other, down / (up + down) * one])
    torch.testing.assert_close(outputs[0], layer.join(torch.cat([states[0], parents], 1)))


@pytest.mark.spec("A10")
def test_an_encoder_with_trees_is_blind_to_padding() -> None:
    encoder = shaken(RnnEncoder(3, size=2, trees=True)).eval()
    embedded = noise(3, 5, 3)
    memory = encoder(embedded, MASK)
    assert memory.states.shape == (3, 5, 4)
    wide = torch.cat([embedded.masked_fill(~MASK.unsqueeze(-1), 1e6), -1e6 * noise(3, 2, 3)], 1)
    wider = encoder(wide, torch.cat([MASK, MASK.new_zeros(3, 2)], 1))
    torch.testing.assert_close(wider.states[:, :5], memory.states)
    assert wider.states[:, 5:].eq(0).all()
    for row, words in enumerate((5, 3, 1)):
        alone = encoder(embedded[row : row + 1, :words], MASK[row : row + 1, :words])
        torch.testing.assert_close(alone.states[0], memory.states[row, :words])
    memory.states.square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in encoder.parameters())


@pytest.mark.spec("A10")
def test_under_autocast_trees_stay_close() -> None:
    layer, states = shaken(Trees(3)).float(), noise(3, 5, 3).float()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = layer(states, MASK)
    torch.testing.assert_close(rounded.float(), layer(states, MASK), rtol=0.05, atol=0.05)


@pytest.mark.slow
@pytest.mark.spec("A10")
def test_words_learn_from_their_parent_what_they_cannot_know() -> None:
    """Each noun (4 to 7) is to name the verb (0 to 3) of its sentence; words meet in the trees alone."""
    torch.manual_seed(0)
    table, layer, answer = nn.Embedding(8, 16), Trees(16), nn.Linear(16, 4)
    parts = nn.ModuleList([table, layer, answer])
    optimizer = torch.optim.Adam(parts.parameters(), lr=0.02)

    def batch() -> tuple[Tensor, Tensor, Tensor]:
        words, verb, place = torch.randint(4, 8, (32, 5)), torch.randint(4, (32,)), torch.randint(5, (32,))
        words[torch.arange(32), place] = verb
        return words, verb.unsqueeze(1).expand(32, 5), words >= 4

    def answer_logits(words: Tensor) -> Tensor:
        logits: Tensor = answer(torch.tanh(layer(table(words), torch.ones_like(words, dtype=torch.bool))))
        return logits

    for _ in range(80):
        words, verb, nouns = batch()
        optimizer.zero_grad()
        nn.functional.cross_entropy(answer_logits(words)[nouns], verb[nouns]).backward()
        optimizer.step()
    words, verb, nouns = batch()
    assert (answer_logits(words).argmax(-1) == verb)[nouns].double().mean() >= 0.9
