"""Padding."""

import numpy as np
import torch

from dragoman.data.batch import Batch, pad
from dragoman.data.vocabulary import PAD


def test_sentences_are_padded_at_the_end() -> None:
    ids, mask, *_ = pad([[5, 3], [7, 8, 3], [3]])
    assert ids.tolist() == [[5, 3, PAD], [7, 8, 3], [3, PAD, PAD]]
    assert mask.tolist() == [[True, True, False], [True, True, True], [True, False, False]]
    assert ids.dtype == torch.int64


def test_arrays_of_any_integers_are_taken() -> None:
    ids, *_ = pad([np.array([65535, 3], np.uint16), np.array([70_000], np.uint32)])
    assert ids.tolist() == [[65535, 3], [70_000, PAD]]


def test_a_mask_depends_on_lengths_not_on_ids() -> None:
    _, mask, *_ = pad([[PAD, PAD], [PAD]])
    assert mask.tolist() == [[True, True], [True, False]]


def test_nothing_makes_an_empty_sequence() -> None:
    assert pad([]).ids.shape == (0, 0)
    assert pad([[], []]).mask.tolist() == [[False], [False]]


def test_a_batch_moves_as_a_whole() -> None:
    sentences = pad([[5, 3]])
    moved = Batch((sentences,), sentences, np.array([7])).to(torch.device("meta"))
    assert {part.device.type for part in (*moved.sources[0], *moved.target) if part is not None} == {"meta"}
    assert moved.rows.tolist() == [7]
