"""What scores are for."""

import pytest
import torch

from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import AdditiveScore, AlignmentScore, ConvolutionalScore
from dragoman.model.memory import Memory

WORDS, SIZE, ROWS, PLACES = 8, 16, 32, 10
MARK = 0


def weight_behind_the_mark(score: AlignmentScore) -> float:
    """What attention to words, read by no encoder, gives to the one after the only mark, after some training."""
    random = torch.Generator().manual_seed(1)
    words, query = torch.randn(WORDS, SIZE, generator=random), torch.ones(ROWS, 1, SIZE)
    attention = GlobalAttention(score, Softmax())
    optimizer = torch.optim.Adam(attention.parameters(), lr=0.03)
    mask = torch.ones(ROWS, PLACES, dtype=torch.bool)
    for _ in range(200):
        source = torch.randint(1, WORDS, (ROWS, PLACES), generator=random)
        place = torch.randint(PLACES - 1, (ROWS, 1), generator=random)
        prepared_source = attention.prepare(Memory(words[source.scatter(1, place, MARK)], mask))
        weights, _ = attention.attend(query, prepared_source)
        shifted = weights.squeeze(1).gather(1, place + 1)
        optimizer.zero_grad()
        (-shifted.log().mean()).backward()
        optimizer.step()
    return shifted.mean().item()


@pytest.mark.spec("A8")
def test_a_convolutional_score_finds_the_word_behind_a_mark() -> None:
    """A score of single positions can do no better than to leave out the mark."""
    torch.manual_seed(1)
    assert weight_behind_the_mark(ConvolutionalScore(SIZE, SIZE)) >= 0.9
    assert weight_behind_the_mark(AdditiveScore(SIZE, SIZE)) <= 0.2
