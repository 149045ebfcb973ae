"""Embeddings."""

import pytest
import torch
from torch import nn

from dragoman.configuration.components import Spec, build
from dragoman.data.vocabulary import SymbolTable
from dragoman.model.embedding import EMBEDDINGS, LookupEmbedding


def test_a_symbol_is_its_row_of_the_table_over_any_axes() -> None:
    embedding = LookupEmbedding(range(5), 3)
    assert torch.equal(embedding(torch.tensor([4, 0])), embedding.table[[4, 0]])
    assert torch.equal(embedding(torch.tensor([[1, 2], [3, 1]]))[1, 1], embedding.table[1])


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_every_kind_gives_each_symbol_its_vector_wherever_it_stands(kind: str) -> None:
    embedding = build(EMBEDDINGS, Spec(kind), SymbolTable.sized(9), 6, 0.0)
    alone = embedding(torch.arange(9))
    assert alone.shape == (9, 6)
    rows = torch.tensor([[4, 8, 1], [0, 4, 7]])
    torch.testing.assert_close(embedding(rows), alone[rows])
    assert not embedding.has_table or embedding.get_parameter("table").shape == (9, 6)


def test_vectors_start_with_a_length_of_about_one() -> None:
    torch.manual_seed(0)
    assert LookupEmbedding(range(2000), 64).table.norm(dim=1).mean().item() == pytest.approx(1.0, abs=0.02)


def test_a_given_table_is_shared() -> None:
    first = LookupEmbedding(range(5), 3)
    assert LookupEmbedding(range(5), 3, table=first.table).table is first.table


@pytest.mark.parametrize("shape", [(6, 3), (5, 4)])
def test_a_table_of_another_size_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="cannot serve 5 symbols of size 3"):
        LookupEmbedding(range(5), 3, table=nn.Parameter(torch.zeros(shape)))


def test_dropout_hides_units_in_training_alone() -> None:
    torch.manual_seed(0)
    embedding = LookupEmbedding(range(5), 400, dropout=0.25)
    symbols = torch.tensor([4])
    assert embedding(symbols).eq(0).double().mean().item() == pytest.approx(0.25, abs=0.08)
    assert torch.equal(embedding.eval()(symbols)[0], embedding.table[4])
