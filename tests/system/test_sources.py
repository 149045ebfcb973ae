"""Several sources from the configuration to translations."""

from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.run import Run
from dragoman.training import session
from tests import toy

DIGITS = dict(zip(toy.WORDS, "123456", strict=True))
SIZES = {"kind": "rnn", "size": 8}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English, the same in digits, and French; every fourth sentence has no English, every fifth no digits."""
    folder = toy.corpus(tmp_path_factory.mktemp("corpus"), train=60)
    for part in ("train", "dev"):
        path = folder / f"{part}.en"
        lines = path.read_text("utf-8").splitlines()
        digits = ["" if n % 5 == 4 else " ".join(map(DIGITS.get, line.split())) for n, line in enumerate(lines)]  # type: ignore[arg-type]
        (folder / f"{part}.digits").write_text("".join(f"{line}\n" for line in digits), "utf-8")
        path.write_text("".join(f"{'' if n % 4 == 3 else line}\n" for n, line in enumerate(lines)), "utf-8")
    return folder


@pytest.mark.spec("C14")
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize(
    "combination",
    ["concatenation", "sum", {"kind": "flat", "sentinel": True}, {"kind": "hierarchical", "sentinel": True}],
    ids=lambda each: each if isinstance(each, str) else each["kind"],
)
def test_a_model_of_two_sources_is_trained_and_translates(
    corpus: Path, tmp_path: Path, combination: str | dict[str, object], joint: bool
) -> None:
    options = {"data.source": ["en", "digits"], "model.combination": combination, "text.joint": joint}
    folder = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    run = Run.load(folder.path)
    assert [source.name for source in run.sources] == ["en", "digits"]
    assert "# en and digits to fr" in folder.card.read_text("utf-8")
    translator = dragoman.load(folder.path)
    texts = [("one two", "1 2"), ("three", ""), ("", "4 5 6"), ("", "")]
    found = translator.translate(texts, n_best=2)
    assert [len(each.n_best) for each in found] == [2, 2, 2, 1]
    assert [[source.tokens for source in each.sources] for each in found[:3]] == [
        [["one", "two"], ["1", "2"]],
        [["three"], []],
        [[], ["4", "5", "6"]],
    ]
    for each in found[:3]:
        shapes = [source.attention.shape for source in each.sources]
        assert shapes == [(len(each.tokens), len(source.tokens)) for source in each.sources]
        assert (each.sentinel is not None) == isinstance(combination, dict)
    assert (found[3].text, found[3].tokens) == ("", [])
    alone = translator.translate(texts[1:2])[0]
    assert (alone.text, alone.log_prob) == (found[1].text, pytest.approx(found[1].log_prob, abs=1e-4))
    (scored,) = translator.score(texts[:1], [found[0].text])
    assert scored.log_prob == pytest.approx(found[0].log_prob, abs=1e-4)
    for one, other in zip(scored.sources, found[0].sources, strict=True):
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)


def test_the_number_of_texts_must_be_that_of_the_sources(corpus: Path, tmp_path: Path) -> None:
    options = {"data.source": ["en", "digits"], "training.epochs": 1}
    translator = dragoman.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    with pytest.raises(TypeError, match=r"1 texts for a model of 2 sources \(en, digits\)"):
        translator.translate(["one"])
