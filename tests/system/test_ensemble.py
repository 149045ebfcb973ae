"""Several runs that translate together, each with the sources that it knows."""

from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.model.int8 import Int8
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.ensemble import Ensemble
from dragoman.training import session
from dragoman.translation.attention_matrix import SourceAttention
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

RUNS: dict[str, dict[str, object]] = {
    "words": {"data.source": "en", "seed": 1},
    "digits": {"data.source": "digits", "seed": 2, "model.decoder": {"kind": "rnn", "size": 16, "attend": "after"}},
    "both": {
        "data.source": ["en", "digits"],
        "model.combination": {"kind": "flat", "sentinel": True},
        "seed": 3,
    },
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = toy.corpus(tmp_path_factory.mktemp("ensemble"), train=60)
    digits = dict(zip(toy.WORDS, "123456", strict=True))
    for part in ("train", "dev"):
        lines = (folder / f"{part}.en").read_text("utf-8").splitlines()
        text = "".join(" ".join(digits[word] for word in line.split()) + "\n" for line in lines)
        (folder / f"{part}.digits").write_text(text, "utf-8")
    for name, options in RUNS.items():
        session.train(toy.config(folder, folder / name, options), quiet=True)
    shell = Shell(folder)
    shell.write("test.en", "one two\n\nsix\n")
    shell.write("test.digits", "1 2\n3\n6\n")
    shell.write("both.tsv", "one two\t1 2\n\t3\nsix\t6\n")
    shell.write("test.fr", "deux un\ntrois\nsix\n")
    return shell


def load(shell: Shell, *names: str) -> dragoman.Translator:
    return dragoman.load([shell.folder / name for name in names])


@pytest.mark.spec("C8")
@pytest.mark.slow
def test_each_run_reads_the_sources_that_it_knows(shell: Shell) -> None:
    together = load(shell, "words", "digits", "both")
    assert [source.name for source in together.sources] == ["en", "digits"]
    (translation,) = together.translate([("one two", "1 2")])
    (scored,) = together.score([("one two", "1 2")], [translation.text])
    assert scored.log_prob == pytest.approx(translation.log_prob, abs=1e-4)
    shares = translation.shares
    assert list(shares) == ["en", "digits", "sentinel"]
    np.testing.assert_allclose(sum(shares.values()), 1, atol=1e-5)
    apart = [
        load(shell, "words").score(["one two"], [translation.text]),
        load(shell, "digits").score(["1 2"], [translation.text]),
    ]
    (both,) = load(shell, "both").score([("one two", "1 2")], [translation.text])
    for number, (alone,) in enumerate(apart):
        expected = (alone.attention + both.sources[number].attention) / 3
        np.testing.assert_allclose(scored.sources[number].attention, expected, atol=1e-5)
    lower, upper = min(best[0].log_prob for best in apart), 0.0
    assert min(lower, both.log_prob) - 1e-4 <= scored.log_prob <= upper


@pytest.mark.spec("C8")
@pytest.mark.slow
def test_a_run_without_any_of_its_sources_does_not_vote(shell: Shell) -> None:
    both = load(shell, "words", "digits")
    texts = ["one two", "six"]
    for together, alone, sources in (
        (both, load(shell, "words"), [(text, "") for text in texts]),
        (load(shell, "digits", "words"), load(shell, "words"), [("", text) for text in texts]),
    ):
        for one, other in zip(together.translate(sources), alone.translate(texts), strict=True):
            assert one.text == other.text
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
            assert not one.shares["digits"].any()
            np.testing.assert_allclose(one.shares["en"], 1, atol=1e-5)
    mixed = both.score([("one two", ""), ("one two", "1 2"), ("", "1 2")], ["un deux"] * 3)
    assert [[bool(source.share.any()) for source in translation.sources] for translation in mixed] == [
        [True, False],
        [True, True],
        [False, True],
    ]
    (scored,) = load(shell, "words").score(["one two"], ["un deux"])
    assert mixed[0].log_prob == pytest.approx(scored.log_prob, abs=1e-4)
    assert shell.fails(
        "evaluate", "--run", "words", "--run", "digits", "--source", "digits=-", "--source", "en=test.en", "-"
    ) == ("-: only one file can be standard input")


@pytest.mark.slow
@pytest.mark.spec("C8")
def test_the_sources_of_the_first_run_come_first(shell: Shell) -> None:
    for names, expected in (
        (["digits", "words"], ["digits", "en"]),
        (["digits", "both"], ["digits", "en"]),
        (["both", "digits"], ["en", "digits"]),
    ):
        assert [source.name for source in load(shell, *names).sources] == expected


@pytest.mark.slow
@pytest.mark.spec("C8")
def test_a_run_with_itself_is_itself(shell: Shell) -> None:
    texts = ["one two", "", "three four five"]
    for one, other in zip(
        load(shell, "words").translate(texts), load(shell, "words", "words").translate(texts), strict=True
    ):
        assert one.text == other.text
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-5)
    assert (
        load(shell, "words").translate(texts)[0].text == dragoman.load(shell.folder / "words").translate(texts)[0].text
    )


@pytest.mark.spec("C8")
@pytest.mark.slow
def test_from_the_command_line(shell: Shell, golden: Golden) -> None:
    named = shell("translate", "words", "digits", "--source", "en=test.en", "--source", "digits=test.digits")
    assert named.code == 0, named.err
    assert named == shell("translate", "words", "digits", "both.tsv")
    texts = [("one two", "1 2"), ("", "3"), ("six", "6")]
    assert named.lines == [translation.text for translation in load(shell, "words", "digits").translate(texts)]
    assert shell("translate", "words", "words", "test.en") == shell("translate", "words", "test.en")
    assert shell("translate", "words", stdin="one\n").code == 0
    together = load(shell, "words", "digits")
    with pytest.raises(UserError) as raised:
        together.translate([("one", "1")], search=Spec("beam", {"coverage_penalty": 0.2}))
    golden(str(raised.value))
    one = shell("evaluate", "--run", "words", "--run", "digits", "--source", "both.tsv", "test.fr")
    assert one.code == 0, one.err
    assert "perplexity" in one.out.lower()


@pytest.mark.spec("C8", "D9")
@pytest.mark.slow
def test_runs_translate_together_among_the_candidates_of_all(shell: Shell, golden: Golden) -> None:
    for name in ("words", "digits"):
        assert shell("shortlist", name).code == 0
    folders, texts = [shell.folder / "words", shell.folder / "digits"], [("one two", "1 2"), ("", "3"), ("six", "6")]
    whole = dragoman.load(folders).translate(texts)
    for one, other in zip(whole, dragoman.load(folders, shortlist=(100, 0)).translate(texts), strict=True):
        assert one.text == other.text
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
    few = dragoman.load(folders, shortlist=(0, 1)).translate(texts)
    assert all(one.log_prob < other.log_prob for one, other in zip(whole[:1], few[:1], strict=True))
    words = ("--run=words", "--run=digits", "--source=both.tsv", "test.fr", "--metrics=bleu", "--shortlist=100,0")
    output = shell("evaluate", *words).lines
    assert output[-1].startswith("Covered = 100.00")
    assert output[-2].split()[2] == output[0].split()[2]
    with pytest.raises(UserError) as raised:
        dragoman.load([shell.folder / "words", shell.folder / "both"], shortlist=(100, 0))
    golden(str(raised.value))


@pytest.mark.spec("C8")
@pytest.mark.slow
def test_runs_translate_together_in_8_bit_integers(shell: Shell) -> None:
    """The matrices of every one of them."""
    folders, texts = [shell.folder / "words", shell.folder / "digits"], [("one two", "1 2"), ("six", "6")]
    together = dragoman.load(folders, engine="int8")
    for plain, quantised in zip(dragoman.load(folders).translate(texts), together.translate(texts), strict=True):
        assert plain.log_prob != quantised.log_prob
        assert plain.log_prob == pytest.approx(quantised.log_prob, abs=0.3)
    assert isinstance(together.generator.backend, Int8)
    assert isinstance(together.scorer, Ensemble)
    rounded = {id(part.weight) for part in together.generator.backend.rounded}
    for model in together.scorer.models:
        assert isinstance(model, Seq2Seq)
        assert rounded & set(map(id, model.parameters()))


@pytest.mark.spec("C8")
@pytest.mark.slow
def test_runs_that_do_not_fit_together_are_told(shell: Shell, tmp_path: Path, golden: Golden) -> None:
    other = toy.config(shell.folder, tmp_path / "other", {"data.source": "digits", "data.target": "en"})
    session.train(other, quiet=True)
    with pytest.raises(UserError) as raised:
        dragoman.load([shell.folder / "words", tmp_path / "other"])
    golden(str(raised.value))
    begun = toy.config(shell.folder, tmp_path / "eos", {"data.source": "digits", "model.start_symbol": "eos"})
    session.train(begun, quiet=True)
    with pytest.raises(UserError) as raised:
        dragoman.load([shell.folder / "words", tmp_path / "eos"])
    golden(str(raised.value))
    lower = toy.config(
        shell.folder, tmp_path / "lower", {"data.source": "en", "text.source": {"tokenizer": "word", "lowercase": True}}
    )
    session.train(lower, quiet=True)
    with pytest.raises(UserError) as raised:
        dragoman.load([shell.folder / "words", tmp_path / "lower"])
    golden(str(raised.value))


@pytest.mark.spec("C8")
def test_a_run_that_reads_less_of_a_text_saw_its_first_words() -> None:
    whole = SourceAttention("en", "a b c", ["a", "b", "c"], np.full((2, 3), 0.1), np.full(2, 0.4))
    part = SourceAttention("en", "a b c", ["a"], np.full((2, 1), 0.2), np.full(2, 0.3))
    for combined in (whole.beside(part), part.beside(whole)):
        assert combined.words == ["a", "b", "c"]
        np.testing.assert_allclose(combined.attention, [[0.3, 0.1, 0.1]] * 2)
        np.testing.assert_allclose(combined.share, [0.7, 0.7])
