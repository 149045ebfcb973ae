"""`dragoman dictionary`, and `translate --dictionary`."""

from importlib.util import find_spec

import pytest

from dragoman.corpus.dictionary import LinkedPair, learn, lines
from dragoman.corpus.pharaoh import read_pharaoh
from dragoman.training import session
from tests import toy
from tests.forms import results
from tests.system.conftest import Shell

needs_thot = pytest.mark.skipif(find_spec("thot") is None, reason="needs the extra `align`")
HEADER = "source\ttarget\tprobability\tcount"


def best(rows: list[str]) -> dict[str, str]:
    """The translation of each word that stands first."""
    assert rows[0] == HEADER
    first: dict[str, str] = {}
    for line in rows[1:]:
        source, target, probability, count = line.split("\t")
        assert 0 < float(probability) <= 1
        assert int(count) > 0
        first.setdefault(source, target)
    return first


@needs_thot
@pytest.mark.spec("D4")
@pytest.mark.parametrize("method", ["ibm1", "ibm2", "hmm", "fast_align"])
def test_a_dictionary_is_counted_from_word_links(method: str, shell: Shell) -> None:
    outcome = shell("dictionary", "train.en", "train.fr", f"--method={method}")
    assert outcome.code == 0
    assert best(outcome.lines) == toy.WORDS
    assert outcome.err == f"{len(outcome.lines) - 1} translations of 6 words\n"
    sources = [line.split("\t")[0] for line in outcome.lines[1:]]
    assert sources == sorted(sources)


@pytest.mark.slow
@needs_thot
@pytest.mark.spec("D4")
def test_words_are_aligned_in_lower_case_and_stay_as_they_are_written(shell: Shell) -> None:
    shell.write(
        "pairs.tsv", "en\tfr\n" + "".join(f"{one.title()}\t{other.upper()}\n" for one, other in toy.pairs(80, 1))
    )
    outcome = shell("dictionary", "pairs.tsv", "--more-pairs=train", "--columns=en,fr", "-o", "words.tsv")
    assert (outcome.code, outcome.out) == (0, "")
    written = (shell.folder / "words.tsv").read_text("utf-8").splitlines()
    assert best(written) == {one.title(): other.upper() for one, other in toy.WORDS.items()}
    few = shell("dictionary", "pairs.tsv", "--min-count=5", "--min-probability=0.5")
    assert len(few.lines) == 7
    assert shell.fails("dictionary", "pairs.tsv", "--min-count=1000").startswith("no translation passes --min-count")


@pytest.mark.slow
@pytest.mark.spec("D4")
def test_a_run_finds_a_dictionary_by_its_attention(trained: Shell) -> None:
    """That is, of the links that `align` has."""
    links = trained("align", "runs/toy", "train.en", "train.fr").lines
    pairs = [
        LinkedPair(source.split(), target.split(), read_pharaoh(line).sure)
        for (source, target), line in zip(toy.pairs(80, 1), links, strict=True)
    ]
    outcome = trained("dictionary", "runs/toy", "train.en", "train.fr", "--min-count=3")
    assert (outcome.code, outcome.lines) == (0, list(lines(learn(pairs, min_count=3, min_probability=0.01))))
    assert len(outcome.lines) > 7
    assert trained("dictionary", "runs/toy", "train.en", "train.fr", "--method=hmm").code == 2
    assert trained("dictionary", "train.en", "train.fr", "--weights=model").code == 2


@needs_thot
@pytest.mark.slow
@pytest.mark.spec("D3")
def test_what_is_counted_translates_words_that_the_model_does_not_know(shell: Shell) -> None:
    """From the pairs that it was trained on; and a glossary of the user's own comes before it."""
    toy.corpus(shell.folder, train=160, longest=5)
    options = {
        "training.epochs": None,
        "training.steps": 200,
        "training.validate_every": 200,
        "training.schedule": {"kind": "cosine", "steps": 200},
        "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
        "text.target.tokenizer": {"kind": "word", "vocab_size": 3},
    }
    session.train(toy.config(shell.folder, shell.folder / "run", options), quiet=True)
    assert shell("dictionary", "train.en", "train.fr", "-o", "words.tsv").code == 0
    shell.write("mine.tsv", "five\tV\n")
    pairs = toy.pairs(12, 5)
    shell.write("new.en", "".join(f"{source}\n" for source, _ in pairs))

    def right(*options: str) -> int:
        translations = shell("translate", "run", "new.en", *options).lines
        return sum(line == target for line, (_, target) in zip(translations, pairs, strict=True))

    assert right() == right("--no-replace-unk") < 5
    assert right("--dictionary", "words.tsv") >= 8
    plain = shell("translate", "run", "new.en", "--no-replace-unk").lines
    assert any("<unk>" in line for line in plain)
    both = "--dictionary", "words.tsv", "--dictionary", "mine.tsv"
    for record in results(shell("translate", "run", "new.en", "--json", *both).lines):
        for replaced in record.translation.replaced:
            assert replaced.dictionary
            word, copied = (
                record.translation.words[replaced.word],
                record.translation.source_words[replaced.source_word],
            )
            assert word == ("V" if copied == "five" else toy.WORDS[copied])
    read = shell("translate", "run", "new.en", "--wait=9", *both).lines
    assert not any("<unk>" in line or "five" in line or "cinq" in line for line in read)


def test_two_languages_have_one_dictionary(copied: Shell) -> None:
    copied.write("runs/toy/dictionary.tsv", "one\tuna\n")
    assert copied.fails("translate", "runs/toy", "test.en", "--pivot", "en").startswith(
        "--pivot: cannot be combined with --dictionary"
    )
    copied.write("runs/toy/dictionary.tsv", "one\n")
    assert copied.fails("translate", "runs/toy", "test.en").startswith("runs/toy/dictionary.tsv:1: expected")
