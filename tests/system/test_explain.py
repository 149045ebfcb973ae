"""`dragoman explain`, as a user types it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.training import session
from dragoman.translation.explanation.explanation import METHODS
from tests import toy
from tests.forms import alike, results
from tests.golden import Golden
from tests.system.conftest import Outcome, Shell

TEXT = "one two three"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with a run of one source, one of two, and one of the first's kind."""
    folder = toy.corpus(tmp_path_factory.mktemp("explain"), train=60)
    digits = dict(zip(toy.WORDS, "123456", strict=True))
    for part in ("train", "dev"):
        lines = (folder / f"{part}.en").read_text("utf-8").splitlines()
        text = "".join(" ".join(digits[word] for word in line.split()) + "\n" for line in lines)
        (folder / f"{part}.digits").write_text(text, "utf-8")
    two = {"data.source": ["en", "digits"], "model.combination": {"kind": "flat", "sentinel": True}}
    changes_of_runs: dict[str, dict[str, Any]] = {"run": {}, "other": {"seed": 9}, "two": two}
    for name, options in changes_of_runs.items():
        session.train(toy.config(folder, folder / name, options), quiet=True)
    (folder / "test.en").write_text("one\n", "utf-8")
    return Shell(folder)


def runs(shell: Shell, *words: str, stdin: str = "") -> Outcome:
    """A command that ends well."""
    outcome = shell("explain", *words, stdin=stdin)
    assert outcome.code == 0, outcome
    return outcome


@pytest.mark.slow
def test_a_sentence_is_explained(shell: Shell) -> None:
    outcome = runs(shell, "run", TEXT, "--contrast", "six", "--show", "--tree")
    lines = outcome.lines
    assert lines[0] == TEXT
    assert "log P -" in lines[1]
    for text in (*METHODS, "and not: six", "similar", "hypotheses", "nats or more", "✔"):
        assert text in outcome.out, text
    forced = runs(shell, "run", TEXT, "--target", "six six", "--nearest", "0")
    assert forced.lines[1].startswith("six six    log P -")
    assert "similar" not in forced.out
    assert "hypotheses" not in forced.out


@pytest.mark.slow
def test_lines_of_standard_input(shell: Shell) -> None:
    apart = [runs(shell, "run", text).out for text in (TEXT, "six")]
    assert runs(shell, "run", stdin=f"{TEXT}\nsix\n").out == "\n".join(apart)
    assert runs(shell, "run", "-", stdin="").out == ""


@pytest.mark.slow
def test_as_json(shell: Shell) -> None:
    """In the form of translations."""
    out = runs(shell, "run", "--json", stdin=f"{TEXT}\n\n").lines
    one, blank = results(out)
    assert one.translation.explanation is not None
    assert len(one.translation.explanation.nearest) == 3
    assert blank.translation.explanation is not None
    record = json.loads(out[0])
    del record["explanation"]
    assert alike(json.dumps(record), shell("translate", "run", "--json", stdin=f"{TEXT}\n").lines[0])
    assert runs(shell, "--schema").out == shell("translate", "--schema").out


@pytest.mark.slow
def test_a_calibrated_run_shows_its_confidence(shell: Shell) -> None:
    """Of what it finds and of what is given."""
    assert shell("calibrate", "other", "--source=train.en", "--reference=train.fr").code == 0
    for more in ((), ("--target", "six six")):
        words = ("other", TEXT, "--nearest=0", *more)
        (record,) = results(runs(shell, *words, "--json").lines)
        confidence = record.translation.confidence
        assert confidence is not None
        _, line, _, heading, first, *_ = runs(shell, *words).lines
        assert line.endswith(f"    confidence {confidence.sentence:.2f}")
        assert heading.split()[:2] == ["word", "confidence"]
        assert first.split()[:2] == [record.translation.words[0], f"{confidence.words[0]:.2f}"]
    assert "confidence" not in runs(shell, "run", TEXT).out


@pytest.mark.slow
def test_several_sources_and_several_runs(shell: Shell) -> None:
    apart = runs(shell, "two", "one two", "1 2")
    assert apart.out == runs(shell, "two", "one two\t1 2").out
    assert apart.lines[:2] == ["[en] one two", "[digits] 1 2"]
    assert "sources" in apart.out
    (record,) = results(runs(shell, "two", "one two", "1 2", "--json").lines)
    explanation = record.translation.explanation
    assert explanation is not None
    for source in explanation.sources:
        assert source.erasure.shape == (len(explanation.words), 2)
        assert source.erasure_share is not None
    (alone,) = results(runs(shell, "two", "one two", "", "--json").lines)
    assert [explained.erasure_share for explained in alone.translation.explanation.sources] == [None, None]
    (together,) = results(runs(shell, "run", "other", TEXT, "--json").lines)
    assert together.translation.explanation is not None
    assert together.translation.explanation.sources[0].gradient.any()


@pytest.mark.slow
@pytest.mark.parametrize("names", [("two",), ("run", "two"), ("run", "other")], ids="+".join)
def test_erasure_is_what_scoring_without_a_word_or_a_source_loses(names: tuple[str, ...], shell: Shell) -> None:
    """Of several sources, and of ensembles."""
    translator = dragoman.load([shell.folder / name for name in names])
    texts = ("one two", "1 2")[: len(translator.sources)]

    def log_probs(*sources_of_pair: str) -> Any:
        (scored,) = translator.score([sources_of_pair], ["deux un"])
        return scored.translation.log_probs

    (scored,) = translator.score([texts], ["deux un"])
    whole, rest = log_probs(*texts), texts[1:]
    sources = scored.translation.explain().sources
    expected = np.stack([whole - log_probs("two", *rest), whole - log_probs("one", *rest)], 1)
    np.testing.assert_allclose(sources[0].erasure, expected, atol=1e-4)
    if rest:
        np.testing.assert_allclose(sources[1].erasure[:, 1], whole - log_probs(texts[0], "1"), atol=1e-4)
        for number, left in enumerate((("", rest[0]), (texts[0], ""))):
            share = sources[number].erasure_share
            assert share is not None
            np.testing.assert_allclose(share, whole - log_probs(*left), atol=1e-4)
    else:
        assert sources[0].erasure_share is None


@pytest.mark.slow
def test_maps_are_written(shell: Shell, tmp_path: Path) -> None:
    wanted = {"attention": "a.csv", "gradient": "g.svg", "erasure": "e.json", "contrast": "c.json"}
    options = [word for name, file in wanted.items() for word in ("--export", f"{name}={tmp_path / file}")]
    runs(shell, "run", TEXT, "--contrast", "six", *options)
    assert {path.name for path in tmp_path.iterdir()} == set(wanted.values())
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["target"] == ["gradient", "erasure"]
    assert (tmp_path / "a.csv").read_text("utf-8").splitlines()[0] == ",one,two,three"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "test.en"),
        ("two", "one", "1", "2"),
        ("run", "one", "two"),
        ("run", "--contrast", "six"),
        ("run", "one", "--json", "--tree"),
        ("run", "one", "--target", "un", "--tree"),
        ("run", "one", "--target", "un", "--beam", "2"),
        ("run", "one", "--export", "attention"),
        ("run", "one", "--export", "heat=a.svg"),
        ("run", "one", "--export", "gradient=a.gif"),
        ("run", "one", "--export", "gradient=a.svg", "--export", "attention=./a.svg"),
        ("run", "one", "--export", "contrast=a.svg"),
        ("run", "one", "--export", "gradient=run/model.safetensors.svg/a.svg"),
        ("missing", "one"),
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_what_is_wrong_is_told_in_a_line(words: tuple[str, ...], shell: Shell, golden: Golden) -> None:
    golden(shell.refuses("explain", *words))


@pytest.mark.slow
def test_no_longer_text_is_explained_than_a_search_reads(shell: Shell) -> None:
    """A sentence may be longer than the name of a file, all the same."""
    long = "one " * 501
    for name, words in (
        ("--target", ("one", "--target", long)),
        ("--contrast", ("one", "--contrast", long)),
        ("SENTENCE", (long, "--target", "un")),
    ):
        assert shell.fails("explain", "run", *words) == f"{name}: too long to be explained, more than 500 symbols"
    assert "\nun    log P " in runs(shell, "run", "one " * 70, "--target", "un", "--nearest", "0").out


@pytest.mark.slow
def test_training_pairs_that_are_gone_are_missed(shell: Shell, golden: Golden) -> None:
    gone = shell.folder / "train.en"
    gone.rename(shell.folder / "elsewhere.en")
    try:
        outcome = shell("explain", "run", "one")
        assert outcome.code == 0
        assert "similar" not in outcome.out
        golden(outcome.err.strip())
        golden(shell.fails("explain", "run", "one", "--nearest", "2"))
    finally:
        (shell.folder / "elsewhere.en").rename(gone)
