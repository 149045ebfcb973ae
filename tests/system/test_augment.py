"""More training pairs: back- and forward-translation, copies, noise."""

import errno
import os
from pathlib import Path

import pytest

from tests import toy
from tests.disk import fail_to_replace
from tests.system.conftest import Shell

NAMES = ("--source-name", "en", "--target-name", "fr")


def pairs(shell: Shell, prefix: str, *names: str) -> list[tuple[str, ...]]:
    files = [(shell.folder / f"{prefix}.{name}").read_text("utf-8").splitlines() for name in names]
    return list(zip(*files, strict=True))


@pytest.mark.spec("E3")
@pytest.mark.slow
def test_back_translation_makes_tagged_sources(copied: Shell) -> None:
    """The run translates from English to French, so French sources are made for English targets."""
    copied.write("mono.en", "one two\n\nthree\n")
    done = copied("augment", "back", "runs/toy", "mono.en", "-o", "more/bt")
    assert done.code == 0, done.err
    assert done.err.splitlines() == [
        "mono.en: 1 line is blank, and left out",
        "more/bt.fr, more/bt.en: 2 pairs. Add more/bt to data.train",
    ]
    translated = copied("translate", "runs/toy", "mono.en").lines
    assert pairs(copied, "more/bt", "fr", "en") == [
        (f"<bt> {translated[0]}", "one two"),
        (f"<bt> {translated[2]}", "three"),
    ]
    assert copied("augment", "back", "runs/toy", "mono.en", "-o", "plain", "--tag", "", "--beam", "1").code == 0
    greedy = copied("translate", "runs/toy", "mono.en", "--search", "greedy").lines
    assert [source for source, _ in pairs(copied, "plain", "fr", "en")] == [greedy[0], greedy[2]]


@pytest.mark.slow
@pytest.mark.spec("E3")
def test_greedy_search_keeps_the_lengths_of_the_runs_own(copied: Shell) -> None:
    config = copied.folder / "runs/toy/config.yaml"
    lengths = "length_ratio: 2.0\n  length_margin: 10", "length_ratio: 0.0\n  length_margin: 1"
    config.write_text(config.read_text("utf-8").replace(*lengths), "utf-8")
    copied.write("mono.en", "one two three four\n")
    assert copied("augment", "back", "runs/toy", "mono.en", "-o", "short", "--tag", "", "--beam", "1").code == 0
    assert [len(source.split()) for source, _ in pairs(copied, "short", "fr", "en")] == [1]


@pytest.mark.spec("E3")
def test_forward_translation_makes_targets(copied: Shell) -> None:
    copied.write("mono.en", "one two\nthree\n")
    assert copied("augment", "forward", "runs/toy", "mono.en", "-o", "ft", "--tag", "<self>").code == 0
    translated = copied("translate", "runs/toy", "mono.en").lines
    assert pairs(copied, "ft", "en", "fr") == [("<self> one two", translated[0]), ("<self> three", translated[1])]


@pytest.mark.spec("E3")
def test_copies_are_their_own_sources(shell: Shell) -> None:
    shell.write("mono.fr", "un deux\n \ntrois\n")
    assert "mono.fr: 1 line is blank, and left out\n" in shell("augment", "copy", "mono.fr", "-o", "copies", *NAMES).err
    assert pairs(shell, "copies", "en", "fr") == [("<copy> un deux", "un deux"), ("<copy> trois", "trois")]
    assert shell("augment", "copy", "mono.fr", "-o", "tagged", *NAMES, "--tag", "two\nlines").code == 0
    assert pairs(shell, "tagged", "en", "fr")[0] == ("two lines un deux", "un deux")
    message = shell.fails("augment", "copy", "mono.fr", "-o", "copies", "--source-name", "fr", "--target-name", "fr")
    assert message == "copies: source and target are both called 'fr'; use different names"


@pytest.mark.spec("E3")
def test_noise_is_on_the_sources_alone(shell: Shell) -> None:
    words = ("augment", "noise", "train.en", "train.fr", *NAMES, "--drop", "0.3", "-o")
    assert shell(*words, "noisy").code == 0
    noisy, plain = pairs(shell, "noisy", "en", "fr"), pairs(shell, "train", "en", "fr")
    assert [target for _, target in noisy] == [target for _, target in plain]
    changed = sum(one != other for (one, _), (other, _) in zip(noisy, plain, strict=True))
    assert changed > len(plain) / 2
    shell(*words, "again")
    shell(*words, "other", "--seed", "2")
    assert pairs(shell, "again", "en", "fr") == noisy != pairs(shell, "other", "en", "fr")


@pytest.mark.slow
@pytest.mark.spec("E3")
def test_what_was_made_can_be_trained_on(copied: Shell) -> None:
    copied("augment", "copy", "train.fr", "-o", "copies", *NAMES)
    done = copied("train", "toy.yaml", "--run", "runs/more", "--data.train", "[train, copies]", "--training.steps", "1")
    assert done.code == 0, done.err
    assert "160 of 160 pairs" in done.err


def test_nothing_that_is_read_is_replaced_and_no_line_is_cut(copied: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    message = copied.fails("augment", "noise", "train.en", "train.fr", *NAMES, "-o", "train")
    assert message == "--output train.en: is an input file and would be overwritten; name another file"
    copied.write("side.en", "one\n \ntwo\n")
    copied.write("side.fr", "un\ndeux\n\n")
    assert copied("augment", "noise", "side.en", "side.fr", *NAMES, "-o", "noisy", "--tag", "<n>").code == 0
    assert [target for _, target in pairs(copied, "noisy", "en", "fr")] == ["un"]
    monkeypatch.setattr("dragoman.translation.source_inputs.LONGEST", 3)
    copied.write("long.en", "one two\none two three four\n")
    done = copied("augment", "forward", "runs/toy", "long.en", "-o", "ft")
    assert "long.en: 1 line is too long, and left out\n" in done.err
    assert len(pairs(copied, "ft", "en", "fr")) == 1
    for name in ("cut.en", "cut.fr"):
        copied.write(name, f"one\n{'x' * 50_001}\n{'y' * 50_000}\n")
    for words in (("copy", "cut.fr"), ("noise", "cut.en", "cut.fr")):
        done = copied("augment", *words, *NAMES, "-o", words[0])
        assert f"{words[1]}: 1 line is too long, and left out\n" in done.err
        assert [target for _, target in pairs(copied, words[0], "en", "fr")] == ["one", "y" * 50_000]


def test_a_run_that_does_not_end_well_leaves_nothing(copied: Shell, tmp_path: Path) -> None:
    copied.write("broken.en", b"one\n\xff\n")
    assert copied.fails("augment", "forward", "runs/toy", "broken.en", "-o", "ft").startswith("broken.en:2: not UTF-8")
    assert not list(copied.folder.glob("*ft*"))


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
@pytest.mark.parametrize(
    "words", ["augment copy test.fr --source-name en --target-name fr -o half", "corpus mine.tsv -o half --dev=2"]
)
def test_half_a_corpus_does_not_stay(
    words: str, error: BaseException, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, or Ctrl-C comes, when one of the two files has its name already."""
    shell.write("mine.tsv", "en\tfr\n" + "".join(f"{source}\t{target}\n" for source, target in toy.pairs(20, 1)))
    with monkeypatch.context() as patched:
        fail_to_replace(patched, 2, error)
        outcome = shell(*words.split())
    assert outcome.code == (1 if isinstance(error, OSError) else 130), outcome
    assert not list(shell.folder.glob("*half*"))
    assert shell(*words.split()).code == 0


def test_no_corpus_is_made_of_nothing(shell: Shell) -> None:
    shell.write("blank.fr", "\n \n")
    outcome = shell("augment", "copy", "blank.fr", "-o", "none", *NAMES)
    assert (outcome.code, outcome.err.splitlines()[-1]) == (1, "none: no pairs to write")
    assert not list(shell.folder.glob("none.*"))
