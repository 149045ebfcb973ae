"""Words are aligned without any links to learn from."""

from pathlib import Path

import pytest

from dragoman import demo
from dragoman.corpus import aligners
from dragoman.corpus.aligners import Method, Symmetrization, WordPair, lower_words
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.pharaoh import read_gold
from dragoman.evaluation.alignment import error_rate
from dragoman.training import aligning

pytest.importorskip("thot", reason="needs the extra `align`")


def test_a_network_aligns_better_than_a_hidden_markov_model(tmp_path: Path) -> None:
    demo.write_corpus(tmp_path, {"train": 1500, "test": 100})
    words = lower_words("punctuation")
    train, test = (
        [WordPair(words(source), words(target)) for source, target in read_pairs(str(tmp_path / name), "en", "fr")]
        for name in ("train", "test")
    )
    joined, gold = Symmetrization.grow_diag_final_and, list(read_gold(tmp_path / "test.en-fr.align"))

    def wrong(method: Method) -> float:
        find = aligning.find if method is Method.mask_align else None
        links = aligners.links(test, train, method=method, symmetrization=joined, processes=1, find=find)
        return error_rate(list(links), gold).error_rate

    assert wrong(Method.mask_align) < wrong(Method.hmm) - 0.005
