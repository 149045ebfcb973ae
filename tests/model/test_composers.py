"""Composers and the embeddings made of them, against plain loops over characters."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.configuration.components import Spec, build
from dragoman.data.alphabet import LONGEST_WORD, Alphabet
from dragoman.data.vocabulary import SPECIALS, SymbolTable
from dragoman.model.composers import BothWays, Composer, ConvolutionalComposer, LastState
from dragoman.model.embedding import EMBEDDINGS, Composed, HybridEmbedding
from dragoman.model.weights import load_weights, weights
from tests.builders import noise, shaken
from tests.derivatives import assert_derivative
from tests.model.loops import Vector, array, join, numbers, sigmoid, tanh, times
from tests.model.loops import read as read_by

ALPHABET = Alphabet("abcde", len(SPECIALS))
WORDS = ["bad", "a", "deeded", ""]
LETTERS, SIZE = 3, 4
MADE: dict[str, Callable[[], Composer]] = {
    "both ways": lambda: BothWays(len(ALPHABET), SIZE, LETTERS, 5, "lstm"),
    "last state": lambda: LastState(len(ALPHABET), SIZE, LETTERS, 2, "lstm"),
    "convolutional": lambda: ConvolutionalComposer(len(ALPHABET), SIZE, LETTERS, (1, 3, 7), 2, 2),
}
SMALL: dict[str, dict[str, Any]] = {"character_rnn": {"hidden": 3}, "character_cnn": {"widths": [1, 2], "filters": 1}}
KINDS = [kind for kind, embedding in EMBEDDINGS.items() if issubclass(embedding, Composed)]
each_composer = pytest.mark.parametrize("name", MADE)
each_kind = pytest.mark.parametrize("kind", KINDS)


def composer(name: str) -> Composer:
    torch.manual_seed(0)
    return shaken(MADE[name]())


def embedding(kind: str, *words: str) -> Composed:
    """Of this vocabulary, which has all letters."""
    torch.manual_seed(0)
    table = SymbolTable((*SPECIALS, *words), (1,) * (len(SPECIALS) + len(words)), characters=tuple("abcde"))
    embedded = shaken(build(EMBEDDINGS, Spec(kind, SMALL[kind]), table, SIZE, 0.0))
    assert isinstance(embedded, Composed)
    return embedded


def read(characters: Composer, word: str) -> list[Vector]:
    """The vectors of the characters of a word, its beginning and its end."""
    return [array(characters.table[number]) for number in ALPHABET.numbers(word)]


def states(cell: nn.Module, vectors: list[Vector]) -> list[Vector]:
    """Those of an LSTM that reads these vectors."""
    p = numbers(cell)
    return read_by("lstm", p, vectors, p["weight_hidden"].shape[1])[0]


def linear(part: nn.Module, vector: Vector) -> Vector:
    p = numbers(part)
    return times(p["weight"], vector) + p["bias"]


@pytest.mark.spec("D12")
def test_two_cells_read_a_word_from_both_ends() -> None:
    """`e_w = W_f h_f + W_b h_b + b`."""
    reader = composer("both ways")
    assert isinstance(reader, BothWays)
    for word, vector in zip(WORDS, reader(ALPHABET.words(WORDS)).tolist(), strict=True):
        ahead = states(reader.forward_cell, read(reader, word))[-1]
        back = states(reader.backward_cell, read(reader, word)[::-1])[-1]
        assert vector == pytest.approx(linear(reader.mix, join(ahead, back)), abs=1e-12)


@pytest.mark.spec("D14")
def test_the_last_state_is_that_of_the_top_layer() -> None:
    reader = composer("last state")
    assert isinstance(reader, LastState)
    for word, vector in zip(WORDS, reader(ALPHABET.words(WORDS)).tolist(), strict=True):
        vectors = read(reader, word)
        for cell in reader.cells:
            vectors = states(cell, vectors)
        assert vector == pytest.approx(vectors[-1], abs=1e-12)


@pytest.mark.spec("D13")
def test_filters_look_for_their_best_place_in_a_word() -> None:
    reader = composer("convolutional")
    assert isinstance(reader, ConvolutionalComposer)
    for word, vector in zip(WORDS, reader(ALPHABET.words(WORDS)).tolist(), strict=True):
        y: list[float] = []
        for width, filters in zip((1, 3, 7), reader.filters, strict=True):
            vectors = read(reader, word)
            vectors += [np.zeros(LETTERS)] * (width - len(vectors))
            windows = [join(*vectors[first : first + width]) for first in range(len(vectors) - width + 1)]
            values = [tanh(linear(filters, window)) for window in windows]
            assert len(values[0]) == 2 * width
            y += [max(column) for column in zip(*values, strict=True)]
        for layer in reader.highway:
            both = linear(layer, np.array(y))
            new, gate = both[: len(y)], both[len(y) :]
            y = [sigmoid(t) * max(z, 0.0) + (1 - sigmoid(t)) * old for z, t, old in zip(new, gate, y, strict=True)]
        assert vector == pytest.approx(linear(reader.mix, np.array(y)), abs=1e-12)


@each_composer
def test_neither_padding_nor_other_words_change_a_word(name: str) -> None:
    reader = composer(name)
    alone = torch.cat([reader(ALPHABET.words([word])) for word in WORDS])
    torch.testing.assert_close(reader(ALPHABET.words(WORDS)), alone)
    wider = torch.nn.functional.pad(ALPHABET.words(WORDS), (0, 5), value=1)
    torch.testing.assert_close(reader(wider), alone)
    assert (alone.unsqueeze(0) - alone.unsqueeze(1)).abs().sum(2).gt(1e-3).sum() == len(WORDS) * (len(WORDS) - 1)


@each_composer
def test_gradients_are_derivatives(name: str) -> None:
    reader, words = composer(name), ALPHABET.words(WORDS)
    assert_derivative(lambda: reader(words).square().sum(), reader.parameters())


def test_numbers_of_characters() -> None:
    first = len(SPECIALS) + 1  # a mark
    alphabet = Alphabet("ab", first)
    assert len(alphabet) == 7
    assert alphabet.numbers("baz") == [2, 6, 5, 0, 3]
    assert alphabet.word([6, 5, 0, 2, 3, 5]) == "ba"
    assert alphabet.numbers("a" * (LONGEST_WORD - 1)) == [2, *[5] * (LONGEST_WORD - 1), 3]
    assert alphabet.numbers("a" * LONGEST_WORD) == alphabet.numbers("a" * 1000) == [2, *[5] * LONGEST_WORD]
    table = SymbolTable((*SPECIALS, "<2en>", "ab"), (1,) * 6, first, ("a", "b"))
    expected = [[0, 1, 1, 1], [1, 1, 1, 1], [2, 1, 1, 1], [3, 1, 1, 1], [4, 1, 1, 1], [2, 5, 6, 3]]
    assert Alphabet.of(table).vocabulary(table).tolist() == expected


@each_kind
def test_a_word_has_one_vector_in_the_vocabulary_and_outside(kind: str) -> None:
    """As many of either kind as there are, in training and while vectors are kept."""
    everything = embedding(kind, "bad", "a", "deeded", "cab")
    small = embedding(kind, "a", "bad")
    characters = ALPHABET.words(["cab", "deeded", "b"])
    ids = torch.tensor([[5, 4, 7], [6, 6, 3]])  # bad a deeded, cab cab </s>
    expected = everything(torch.tensor([[4, 5, 6], [7, 7, 3]]))
    torch.testing.assert_close(small(ids, characters), expected)
    small.eval()
    with torch.inference_mode():
        torch.testing.assert_close(small(ids, characters), expected)
        torch.testing.assert_close(small(ids[:, :2], characters[:1]), expected[:, :2])
        torch.testing.assert_close(small(torch.tensor([4, 5])), everything(torch.tensor([5, 4])))


@pytest.mark.parametrize("kind", ["lookup"])
def test_who_reads_no_characters_does_not_know_the_word(kind: str) -> None:
    table = build(EMBEDDINGS, Spec(kind), SymbolTable.sized(6), SIZE, 0.0)
    vectors = table(torch.tensor([5, 6, 7, 3]), ALPHABET.words(["a", "b"]))
    assert torch.equal(vectors, table(torch.tensor([5, 0, 0, 3])))


@pytest.mark.spec("D14")
def test_a_hybrid_reads_the_characters_of_words_that_it_has_no_vector_of() -> None:
    hybrid = shaken(build(EMBEDDINGS, Spec("hybrid", {"layers": 2}), SymbolTable.sized(6), SIZE, 0.0))
    assert isinstance(hybrid, HybridEmbedding)
    alphabet = Alphabet("0123456789", len(SPECIALS))
    words = alphabet.words(["17", "4"])
    vectors = hybrid(torch.tensor([[4, 7, 6], [7, 0, 5]]), words)
    table, (first, second) = hybrid.table, hybrid.composer(words)
    torch.testing.assert_close(
        vectors, torch.stack([torch.stack([table[4], second, first]), torch.stack([second, table[0], table[5]])])
    )
    assert torch.equal(hybrid(torch.tensor([4, 0])), table[[4, 0]])
    assert torch.equal(hybrid(torch.tensor([4, 0]), words[:0]), table[[4, 0]])
    direction = noise(2, 3, SIZE)
    assert_derivative(
        lambda: (hybrid(torch.tensor([[4, 7, 6], [7, 0, 5]]), words) * direction).sum(), hybrid.parameters()
    )


@contextmanager
def counting(words_embedding: Composed) -> Iterator[list[int]]:
    """How many words are composed."""
    counts: list[int] = []
    handle = words_embedding.composer.register_forward_hook(lambda module, inputs, result: counts.append(len(result)))
    yield counts
    handle.remove()


@each_kind
def test_training_composes_each_word_of_a_batch_once(kind: str) -> None:
    words_embedding = embedding(kind, "bad", "a", "cab")
    with counting(words_embedding) as counts:
        words_embedding(torch.tensor([[4, 7, 4, 8], [7, 7, 4, 3]]), ALPHABET.words(["b", "d"]))
    assert counts == [4]
    with counting(words_embedding) as counts:
        words_embedding(torch.tensor([[4, 4]]))
    assert counts == [1]


@each_kind
def test_vectors_are_kept_while_weights_stay(kind: str, tmp_path: Path) -> None:
    words_embedding = embedding(kind, "bad", "a", "cab").eval()
    ids, words = torch.tensor([[4, 5, 7]]), ALPHABET.words(["bcd"])

    def vectors() -> tuple[Tensor, int]:
        with counting(words_embedding) as counts, torch.inference_mode():
            result = words_embedding(ids, words)
        return result.clone(), sum(counts)

    first, count = vectors()
    assert count == 3
    again, count = vectors()
    assert torch.equal(again, first)
    assert count == 1  # the word that the vocabulary does not have
    with torch.inference_mode(), counting(words_embedding) as counts:
        words_embedding(torch.tensor([4, 6]))
    assert counts == [1]
    with torch.no_grad():
        words_embedding.composer.table.add_(0.5)
    changed, count = vectors()
    assert count == 3
    assert not torch.isclose(changed, first).all(2).any()
    load_weights(words_embedding, {name: tensor - 0.1 for name, tensor in weights(words_embedding).items()}, tmp_path)
    filled, count = vectors()
    assert count == 3
    assert not torch.isclose(filled, changed).all(2).any()
    assert vectors()[1] == 1
    words_embedding.train().eval()
    assert vectors()[1] == 3
    words_embedding.float()
    assert vectors()[0].dtype == torch.float32
    with torch.no_grad(), counting(words_embedding) as counts:
        assert not words_embedding(ids[:, :2]).requires_grad
    assert counts == []
    assert words_embedding(ids, words).requires_grad


@each_kind
def test_gradients_of_words_that_repeat_are_derivatives(kind: str) -> None:
    words_embedding = embedding(kind, "bad", "a", "cab")
    ids, words = torch.tensor([[4, 7, 4, 8], [7, 7, 4, 3]]), ALPHABET.words(["b", "d"])
    direction = noise(2, 4, SIZE)
    assert_derivative(lambda: (words_embedding(ids, words) * direction).sum(), words_embedding.parameters())
