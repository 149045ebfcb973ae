"""What attention to sentences is for."""

import pytest
import torch
from torch import Tensor, nn

from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.hierarchical_attention import HierarchicalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import AdditiveScore
from dragoman.model.memory import Memory

SIZE, ROWS, SENTENCES = 16, 32, 4
MARK, TITLE, OTHER, NEVER = 0, 1, 2, 3  # then the names
NAMES = range(4, 10)


def documents(random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sentences of a first word, a name and a mark, one of them with a title; and the name in that one."""
    names = torch.randint(NAMES.start, NAMES.stop, (ROWS, SENTENCES, 1), generator=random)
    titled = torch.randint(SENTENCES, (ROWS, 1, 1), generator=random)
    first = torch.full_like(names, OTHER).scatter(1, titled, TITLE)
    ids = torch.cat([first, names, torch.full_like(names, MARK)], 2).flatten(1)
    return ids, names.gather(1, titled).flatten()


def accuracy(mark: int) -> float:
    """How often the name is found by attention to words, read by no encoder, after some training."""
    torch.manual_seed(1)
    random = torch.Generator().manual_seed(1)
    words = torch.randn(NAMES.stop, SIZE, generator=random)
    attention = HierarchicalAttention(
        GlobalAttention(AdditiveScore(SIZE, SIZE), Softmax()), AdditiveScore(SIZE, SIZE), mark
    )
    output = nn.Linear(SIZE, NAMES.stop)
    optimizer = torch.optim.Adam([*attention.parameters(), *output.parameters()], lr=0.02)
    query, right = torch.ones(ROWS, SIZE), 0.0
    for step in range(300):
        ids, answers = documents(random)
        prepared_source = attention.prepare(Memory(words[ids], ids >= 0, ids=ids))
        scores = output(attention(query, query, prepared_source, attention.start(prepared_source)).context)
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores, answers).backward()
        optimizer.step()
        right += (scores.argmax(1) == answers).double().mean().item() if step >= 270 else 0.0
    return right / 30


@pytest.mark.spec("A9")
def test_a_sentence_is_found_by_one_word_and_read_at_another() -> None:
    """Where no mark divides the document, nothing joins a title to its name."""
    assert accuracy(MARK) >= 0.95
    assert accuracy(NEVER) <= 0.6
