"""Attention to the sentences of a document and to their words."""

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.model.attention.attention import Attention, GlobalAttention
from dragoman.model.attention.hierarchical_attention import HierarchicalAttention
from dragoman.model.attention.normalizers import AttentionNormalizer, Softmax
from dragoman.model.attention.scores import AdditiveScore, ConvolutionalScore
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.memory import Memory
from tests.builders import noise, shaken
from tests.model import loops

SIZE, PLACES, MARK = 3, 8, 5
DOCUMENTS = [  # the positions of each sentence; a mark belongs to the sentence that it ends
    ([7, 8, MARK, 6, MARK, MARK, 7, 3], [[0, 1, 2], [3, 4], [5], [6, 7]]),
    ([7, 8, MARK, 3, 1, 1, 1, 1], [[0, 1, 2], [3]]),
    ([7, 8, 6, 3, 1, 1, 1, 1], [[0, 1, 2, 3]]),
]
IDS = torch.tensor([ids for ids, _ in DOCUMENTS])
STATES, QUERY = noise(3, PLACES, SIZE, seed=1), noise(3, SIZE)


class Hidden(AttentionTerm):
    """The first sentences of the first document cannot be seen."""

    def __init__(self) -> None:
        super().__init__(TermSizes(SIZE, SIZE, SIZE, 9), 0)

    def start(self, weights: Tensor, prepared: object) -> tuple[()]:
        return ()

    def forward(self, term_input: TermInput, prepared: object, carried: object) -> TermOutput:
        prior = torch.zeros_like(term_input.weights)
        prior[0, :, :4] = float("-inf")
        return TermOutput((), prior=prior)


def make(*terms: AttentionTerm) -> HierarchicalAttention:
    words = GlobalAttention(AdditiveScore(SIZE, SIZE), Softmax(), terms)
    return shaken(HierarchicalAttention(words, AdditiveScore(SIZE, SIZE), MARK)).eval()


def look(attention: Attention) -> tuple[Tensor, Tensor]:
    prepared_source = attention.prepare(Memory(STATES, IDS != 1, ids=IDS))
    output = attention(QUERY, QUERY, prepared_source, attention.start(prepared_source))
    return output.context, output.history.weights


def assert_printed(attention: HierarchicalAttention, documents: list[list[list[int]]]) -> None:
    """The equation, for documents of these sentences of these positions."""
    context, weights = look(attention)
    words, sentence = loops.numbers(attention.words.score), loops.numbers(attention.sentence_score)
    for row, sentences in enumerate(documents):
        query, states = loops.array(QUERY[row]), loops.array(STATES[row])
        within = [loops.softmax(loops.additive(words, query, states[places])) for places in sentences]
        contexts = [loops.mix(share, states[places]) for share, places in zip(within, sentences, strict=True)]
        among = loops.softmax(loops.additive(sentence, query, np.array(contexts)))
        expected = [0.0] * PLACES
        for gamma, share, places in zip(among, within, sentences, strict=True):
            for beta, place in zip(share, places, strict=True):
                expected[place] = gamma * beta
        assert weights[row].tolist() == pytest.approx(expected, abs=1e-12)
        assert context[row].tolist() == pytest.approx(loops.mix(among, np.array(contexts)).tolist(), abs=1e-12)


@pytest.mark.spec("A9")
def test_a_words_weight_is_that_of_its_sentence_times_its_own_there() -> None:
    assert_printed(make(), [sentences for _, sentences in DOCUMENTS])


@pytest.mark.spec("A9")
def test_a_document_of_one_sentence_is_attended_to_as_any_source() -> None:
    attention = make()
    for tensor, wanted in zip(look(attention), look(attention.words), strict=True):
        assert torch.allclose(tensor[2], wanted[2])
        assert not torch.allclose(tensor[0], wanted[0])


def test_what_a_term_hides_is_in_no_sentence() -> None:
    assert_printed(make(Hidden()), [[[4], [5], [6, 7]], *(sentences for _, sentences in DOCUMENTS[1:])])


def test_a_document_is_not_changed_by_a_longer_one_beside_it() -> None:
    """Also where the energy of a sentence depends on its neighbors: after the last there is nothing."""
    words = GlobalAttention(AdditiveScore(SIZE, SIZE), Softmax())
    attention = shaken(HierarchicalAttention(words, ConvolutionalScore(SIZE, SIZE), MARK)).eval()
    _, together = look(attention)
    for row, (_, sentences) in enumerate(DOCUMENTS):
        length = sum(map(len, sentences))
        one = slice(row, row + 1)
        source = Memory(STATES[one, :length], IDS[one, :length] != 1, ids=IDS[one, :length])
        prepared_source = attention.prepare(source)
        alone = attention(QUERY[one], QUERY[one], prepared_source, attention.start(prepared_source)).history.weights
        torch.testing.assert_close(alone[0], together[row, :length])


def test_gradients_stay_numbers_where_a_sentence_is_hidden() -> None:
    attention = make(Hidden())
    context, weights = look(attention)
    (context.sum() + weights.square().sum()).backward()
    for parameter in attention.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_other_normalizers_than_the_softmax_are_refused() -> None:
    class Other(AttentionNormalizer):
        def forward(self, energies: Tensor) -> Tensor:
            return energies

    with pytest.raises(ValueError, match="requires normalizer: softmax"):
        HierarchicalAttention(GlobalAttention(AdditiveScore(SIZE, SIZE), Other()), AdditiveScore(SIZE, SIZE), MARK)
