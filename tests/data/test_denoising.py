"""What is hidden of a text that is to be written whole."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.data.batch import TokenBatch
from dragoman.data.dataset import Dataset
from dragoman.data.denoising import MASK, Infilling, mask_text
from dragoman.data.vocabulary import EOS, SPECIALS
from dragoman.text.mark import Mark, Symbol
from tests import toy

FIRST = len(SPECIALS)  # the mask, where there is no mark before it
TEXT = TextConfig.model_validate(
    {"source": {"tokenizer": "word"}, "target": {"tokenizer": "word"}, "shared_vocabulary": True}
)


def parts(noisy: list[int | None]) -> list[list[int]]:
    """What is left, between the masks."""
    runs: list[list[int]] = [[]]
    for place in noisy:
        if place is None:
            runs.append([])
        else:
            runs[-1].append(place)
    return runs


@pytest.mark.slow
@given(st.integers(0, 60), st.floats(0.01, 0.99), st.floats(1, 9), st.text(max_size=3))
def test_the_share_is_hidden_in_spans_of_which_each_has_one_mask(
    count: int, share: float, length: float, seed: str
) -> None:
    noisy = Infilling(share=share, length=length)(count, seed)
    assert noisy == Infilling(share=share, length=length)(count, seed)
    left = [place for place in noisy if place is not None]
    assert count - len(left) == (min(max(1, round(share * count)), count - 1) if count > 1 else 0)
    assert left == sorted(left)
    assert len(noisy) <= count
    runs = parts(noisy)
    assert all(runs[1:-1]), "no mask follows another"
    for one, other in pairwise(runs):
        before, after = (one or [-1])[-1], (other or [count])[0]
        assert after - before > 1, "each mask stands for something"
    for run in runs:
        assert run == [*range(run[0], run[0] + len(run))] if run else True, "what has no mask is whole"


def test_spans_have_the_mean_length_and_any_place() -> None:
    """Each quarter of a text is hidden as often as the others, about."""
    noise = Infilling(share=0.1, length=4.0)
    texts = [noise(400, str(seed)) for seed in range(300)]
    masks = sum(noisy.count(None) for noisy in texts)
    assert 40 * 300 / masks == pytest.approx(4, rel=0.15)
    hidden = Counter(place for noisy in texts for place in set(range(400)) - set(noisy))
    quarters = [sum(hidden[place] for place in range(begin, begin + 100)) for begin in range(0, 400, 100)]
    assert quarters == pytest.approx([300 * 40 / 4] * 4, rel=0.1)


def test_a_span_by_hand() -> None:
    """Three of ten symbols in one span: a mean length of 100 is longer than all that is to be hidden."""
    noisy = Infilling(share=0.3, length=100.0)(10, "1:0:noise:7")
    place = noisy.index(None)
    assert noisy == [*range(place), None, *range(place + 3, 10)]


def test_the_mark_of_a_language_stays_in_front() -> None:
    language, noise = Mark("<2de>"), Infilling(share=0.5, length=9.0)
    marked: list[Symbol] = [language, "a", "b"]
    symbols = mask_text(noise, marked, "x")
    assert symbols[0] == language
    assert set(symbols[1:]) in ({MASK, "a"}, {MASK, "b"})
    assert mask_text(noise, marked[:1], "x") == [language]


def test_a_source_is_its_target_with_masks_and_a_function_of_seed_epoch_and_row(tmp_path: Path) -> None:
    toy.corpus(tmp_path)
    places = {"train": str(tmp_path / "train"), "dev": str(tmp_path / "dev")}
    settings = DataConfig.model_validate({"source": "fr", "target": "fr", **places, "noise": "infilling"})
    data = Dataset.prepare(settings, TEXT, 3, tmp_path / "run")
    assert data.target.vocabulary.marked([FIRST]) == [MASK]
    rows = np.arange(60)
    noisy = []
    for epoch in (0, 1):
        batch, backwards = data.batch(rows, epoch), data.batch(rows[::-1].copy(), epoch)
        (source,), (again,) = batch.sources, backwards.sources
        assert isinstance(source, TokenBatch)
        assert isinstance(again, TokenBatch)
        for row in range(60):
            text = batch.target.ids[row][batch.target.mask[row]].tolist()
            left = Infilling()(len(text) - 1, f"3:{epoch}:noise:{row}")
            wanted = [*(FIRST if place is None else text[place] for place in left), EOS]
            assert source.ids[row][source.mask[row]].tolist() == wanted
            assert again.ids[59 - row][again.mask[59 - row]].tolist() == wanted, "whichever batch it is in"
            assert FIRST in wanted, "of two symbols and more, one is hidden"
            assert text == data.train.columns["target"][row].tolist()
            noisy.append(wanted)
    assert sum(one == other for one, other in zip(noisy[:60], noisy[60:], strict=True)) < 45


def test_only_pairs_whose_target_is_their_source_have_noise(tmp_path: Path) -> None:
    """And the mark of their language stays."""
    pairs = toy.languages(tmp_path)
    data = DataConfig.model_validate({"pairs": pairs, "noise": {"kind": "infilling", "share": 0.5}})
    dataset = Dataset.prepare(data, TEXT, 3, tmp_path / "run")
    vocabulary, counts = dataset.target.vocabulary, dataset.train.notes["parts"]
    copied = [pair["source"] == pair["target"] for pair in pairs if "train" in pair]
    assert copied == list(data.copied) == [False] * 4 + [True]
    (source,) = dataset.batch(np.arange(sum(counts)), 0).sources
    assert isinstance(source, TokenBatch)
    (mask,) = vocabulary.ids([MASK])
    assert (source.ids == mask).any(1).tolist() == np.repeat(copied, counts).tolist()
    assert set(vocabulary.marked(source.ids[-counts[-1] :, 0].tolist())) == {Mark("<2en>")}
