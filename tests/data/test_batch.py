"""Padding."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batch import Batch, FeatureBatch, SpelledTokens, TokenBatch, pad_regions, pad_tokens, round_up
from dragoman.data.vocabulary import PAD


def test_sentences_are_padded_at_the_end() -> None:
    ids, mask, *_ = pad_tokens([[5, 3], [7, 8, 3], [3]])
    assert ids.tolist() == [[5, 3, PAD], [7, 8, 3], [3, PAD, PAD]]
    assert mask.tolist() == [[True, True, False], [True, True, True], [True, False, False]]
    assert ids.dtype == torch.int64


def test_arrays_of_any_integers_are_taken() -> None:
    ids, *_ = pad_tokens([np.array([65535, 3], np.uint16), np.array([70_000], np.uint32)])
    assert ids.tolist() == [[65535, 3], [70_000, PAD]]


def test_a_mask_depends_on_lengths_not_on_ids() -> None:
    _, mask, *_ = pad_tokens([[PAD, PAD], [PAD]])
    assert mask.tolist() == [[True, True], [True, False]]


def test_nothing_makes_an_empty_sequence() -> None:
    assert pad_tokens([]).ids.shape == (0, 0)
    assert pad_tokens([[], []]).mask.tolist() == [[False], [False]]


def test_a_batch_moves_as_a_whole() -> None:
    sentences = pad_tokens([[5, 3]])
    moved = Batch((sentences,), sentences, np.array([7])).to(torch.device("meta"))
    assert {part.device.type for part in (*moved.sources[0], *moved.target) if part is not None} == {"meta"}
    assert moved.rows.tolist() == [7]


@given(st.integers(1, 10**6), st.sampled_from([1, 8]))
def test_few_numbers_remain_that_are_little_larger(number: int, step: int) -> None:
    size = round_up(number, step)
    assert number <= size < number + max(step, number / 4)
    assert round_up(size, step) == size


def test_there_are_four_numbers_between_powers_of_two() -> None:
    assert sorted({round_up(number, 1) for number in range(65, 129)}) == [80, 96, 112, 128]
    assert sorted({round_up(number, 8) for number in range(1, 65)}) == [8, 16, 24, 32, 40, 48, 56, 64]


def test_a_rounded_batch_has_the_same_pairs_and_nothing_to_predict_in_further_rows() -> None:
    texts, regions = pad_tokens([[5, 6, 2]] * 9), pad_regions([np.ones((3, 4), np.float32)] * 9, 4)
    texts = texts._replace(
        extended=texts.ids + 1, spelled=SpelledTokens(texts.ids, torch.ones(2, 5, dtype=torch.int64))
    )
    target = pad_tokens([[7] * 8 + [2]] * 9)
    batch = Batch((texts, regions), target, np.arange(9), torch.ones(9, 9, 3, dtype=torch.bool))
    rounded = batch.rounded()
    read, seen = rounded.sources
    assert isinstance(read, TokenBatch)
    assert isinstance(seen, FeatureBatch)
    assert read.extended is not None
    assert read.spelled is not None
    assert rounded.links is not None
    assert rounded.rows is batch.rows
    shapes = [
        tensor.shape for tensor in (read.ids, read.extended, read.spelled.ids, read.spelled.characters, seen.values)
    ]
    assert shapes == [(10, 8), (10, 8), (10, 8), (2, 5), (10, 3, 4)]
    assert rounded.target.ids.shape == rounded.target.mask.shape == (10, 16)
    assert rounded.links.shape == (10, 16, 8)
    for padded, before in ((read, texts), (rounded.target, target)):
        assert torch.equal(padded.ids[:9, : before.ids.size(1)], before.ids)
        assert padded.ids.eq(PAD).sum() == padded.ids.numel() - before.ids.numel()
    assert torch.equal(rounded.links[:9, :9, :3], torch.ones(9, 9, 3, dtype=torch.bool))
    assert rounded.links.sum() == 9 * 9 * 3
    assert rounded.target.mask.sum() == target.mask.sum()
    for mask in (read.mask, seen.mask):
        assert mask.sum(1).tolist() == [3] * 9 + [1], "attention to nothing is not a number"


def test_a_share_without_pairs_stays_as_it_is() -> None:
    batch = Batch((pad_tokens([]),), pad_tokens([]), np.arange(0))
    assert batch.rounded() is batch
