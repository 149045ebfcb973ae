"""Names that nobody has seen, from text files to translations: what a model that copies is for."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.data.batch import TokenBatch
from dragoman.data.dataset import Dataset
from dragoman.data.surfaces import UnknownWordNeeds
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.search.hypothesis import Hypothesis
from dragoman.training import session
from dragoman.translation.result import Result
from dragoman.translation.translator import Translator
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

pytestmark = pytest.mark.slow

SEARCHES = [Spec("greedy"), Spec("beam", {"size": 4})]
KNOWN = "otto"  # often enough for the sources' vocabulary of one run
FRAMES = [("my name is {0}", "je suis {0}"), ("{0} sees {1}", "{0} voit {1}"), ("here is {0}", "voici {0}")]
SEEN = {"kind": "word", "minimum_frequency": 20}
OPTIONS: dict[str, Any] = {
    "model.output": "pointer_generator",
    "text.source.tokenizer": SEEN,
    "text.target.tokenizer": SEEN,
    "training.epochs": None,
    "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
}
RUNS: dict[str, dict[str, Any]] = {
    "copies": {"training.steps": 300, "training.validate_every": 300, "seed": 4},
    "knows one more": {
        "training.steps": 300,
        "training.validate_every": 300,
        "text.source.tokenizer": {**SEEN, "minimum_frequency": 5},
        "seed": 5,
    },
    "speaks": {"training.steps": 30, "training.validate_every": 30, "model.output": "softmax"},
    "subwords": {**toy.SUBWORDS, "model.embedding": {"size": 12}, "training.steps": 2, "training.validate_every": 2},
}


def lines(count: int, seed: int, fixed: str = "") -> list[tuple[str, str]]:
    """Sentences about two people of whom nobody has heard, or about one who is `fixed`."""
    generator, pairs = random.Random(seed), list[tuple[str, str]]()
    for number in range(count):
        frame = FRAMES[number % len(FRAMES)]
        names = ["".join(generator.choices("abcdefgh", k=5)) for _ in range(2)]
        first, second = (text.format(fixed or names[0], names[1]) for text in frame)
        pairs.append((first, second))
    return pairs


NEW = lines(12, 9)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("names")
    toy.write(folder, "train", [*lines(240, 1), *lines(9, 2, KNOWN)])
    toy.write(folder, "dev", lines(8, 3))
    toy.write(folder, "test", NEW)
    (folder / "toy.yaml").write_text(toy.CONFIG, encoding="utf-8")
    for name, options in RUNS.items():
        session.train(toy.config(folder, folder / name, {**OPTIONS, **options}), quiet=True)
    return Shell(folder)


def load(runs: Shell, *names: str, **options: Any) -> Translator:
    return dragoman.load([runs.folder / name for name in names], **options)


@pytest.mark.parametrize("names", [["copies"], ["copies", "knows one more"], ["knows one more", "copies"]])
@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "beam"])
def test_unseen_names_are_written_as_they_were_read(names: list[str], search: Spec, runs: Shell) -> None:
    translator = load(runs, *names)
    assert translator.target.vocabulary.unknown([KNOWN])
    translations = translator.translate([source for source, _ in NEW], search=search)
    assert sum(translation.text == target for translation, (_, target) in zip(translations, NEW, strict=True)) >= 11
    right = next(
        translation for translation, (_, target) in zip(translations, NEW, strict=True) if translation.text == target
    )
    name = right.words[-1]
    assert name in right.source_words
    assert right.steps[len(right.words) - 1].symbol == name
    assert (len(right.words) - 1) in {target for _, target in right.alignment}
    (seen,) = translator.translate([f"my name is {KNOWN}"], search=search)
    assert seen.text == f"je suis {KNOWN}"


def test_a_model_that_does_not_copy_can_vote(runs: Shell) -> None:
    """It gives names no probability, and there are three votes."""
    translations = load(runs, "copies", "knows one more", "speaks").translate([source for source, _ in NEW])
    assert sum(translation.text == target for translation, (_, target) in zip(translations, NEW, strict=True)) >= 8


def test_all_members_number_words_alike(runs: Shell) -> None:
    """Whatever the vocabularies of their sources: one of them knows a name."""
    together, texts = load(runs, "knows one more", "copies"), [f"{KNOWN} sees aeiou and uoiea", "here is aeiou"]
    (batch,) = together.pairs(texts, ["uoiea", KNOWN])
    one, other = batch.sources
    assert isinstance(one, TokenBatch)
    assert isinstance(other, TokenBatch)
    assert one.extended is not None
    assert other.extended is not None
    assert not one.ids.equal(other.ids)
    assert one.extended.equal(other.extended)
    size, order = len(together.target.vocabulary), batch.rows.tolist()
    assert [row[row >= size].tolist() for row in one.extended] == [
        {0: [size, size + 1, size + 2, size + 3, size + 4], 1: [size, size + 1, size + 2]}[row] for row in order
    ]
    assert batch.target.labels[order.index(0), 0] == size + 4
    assert batch.target.labels[order.index(1), 0] == UNK
    assert batch.target.ids[:, 0].tolist() == [UNK, UNK]


@pytest.mark.parametrize("name", list(RUNS))
def test_a_translator_and_the_store_give_a_model_the_same(name: str, runs: Shell) -> None:
    config, translator = Run.load(runs.folder / name).config, load(runs, name)
    surfaces = UnknownWordNeeds(extended=config.model.output.kind != "softmax")
    data = Dataset.prepare(config.data, config.text, config.seed, runs.folder / name, surfaces=surfaces)
    texts = [*lines(240, 1), *lines(9, 2, KNOWN)]
    for batch in translator.pairs(*zip(*texts, strict=True)):
        if name == "subwords":  # cut anew in every epoch
            for sequence in (*batch.sources, batch.target):
                assert isinstance(sequence, TokenBatch)
                assert sequence.extended is not None
                assert sequence.ids.equal(sequence.extended)
            continue
        expected = data.batch(batch.rows, 0)
        for one, other in zip((*batch.sources, batch.target), (*expected.sources, expected.target), strict=True):
            assert isinstance(one, TokenBatch)
            assert isinstance(other, TokenBatch)
            assert one.ids.equal(other.ids)
            assert (one.extended is None) is (other.extended is None) is (name == "speaks")
            assert one.labels.equal(other.labels)


def test_pairs_are_scored_by_what_is_copied(runs: Shell) -> None:
    for names in (["copies"], ["copies", "knows one more"]):
        translator = load(runs, *names)
        (translation,) = translator.translate(["my name is aeiou"])
        right, other = translator.score(["my name is aeiou"] * 2, ["je suis aeiou", "je suis uoiea"])
        assert right.log_prob == pytest.approx(translation.log_prob, abs=1e-4)
        assert right.log_prob > other.log_prob + 1
        assert [step.symbol for step in right.steps] == ["je", "suis", "aeiou", "</s>"]
        assert right.words == ["je", "suis", "aeiou"]
        assert (3, 2) in translator.align(["my name is aeiou"], ["je suis aeiou"])[0]


def test_json_has_the_words(runs: Shell) -> None:
    outcome = runs("translate", "copies", "--json", "--n-best=2", stdin="here is aeiou\n")
    (line,) = outcome.lines
    record = json.loads(line)
    assert (record["text"], record["words"]) == ("voici aeiou", ["voici", "aeiou"])
    assert [step["symbol"] for step in record["steps"]] == ["voici", "aeiou", "</s>"]
    copied = [step["statistics"]["copied"] for step in record["steps"]]
    assert copied[0] < 0.5 < copied[1]
    assert record["statistics"]["copied"] == copied[:2]
    assert Result.from_line(line).line() == line
    assert record["alternatives"][0]["text"] != record["text"]
    (scored,) = runs("score", "copies", "test.en", "test.fr", "--json").lines[:1]
    assert [step["symbol"] for step in json.loads(scored)["steps"]][-2] == NEW[0][1].split()[-1]


def test_a_terminal_shows_what_is_copied(runs: Shell) -> None:
    outcome = runs("translate", "copies", "--show", stdin="here is aeiou\n")
    assert outcome.out == "voici aeiou\n"
    (heading,) = (line for line in outcome.err.splitlines() if "[copied]" in line)
    assert heading.split() == ["here", "is", "aeiou", "[copied]"]


def test_a_prefix_may_have_words_of_its_sentence(runs: Shell, golden: Golden) -> None:
    for search in SEARCHES:
        (translation,) = load(runs, "copies").translate(["uoiea sees aeiou"], prefix=["aeiou voit"], search=search)
        assert translation.text.startswith("aeiou voit")
    with pytest.raises(UserError) as raised:
        load(runs, "copies").translate(["here is uoiea", "here is aeiou"], prefix=["voici uoiea", "voici uoiea"])
    golden(str(raised.value))


def test_words_that_are_left_out_are_not_the_sentences(runs: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.translation.source_inputs.LONGEST", 3)
    (translation,) = load(runs, "copies").translate(["here is aeiou uoiea"])
    assert (translation.text, translation.left_out) == ("voici aeiou", 1)


def test_shortlists_have_the_words_of_their_sentences(runs: Shell) -> None:
    assert runs("shortlist", "copies").code == 0
    sources, targets = zip(*NEW, strict=True)
    short = load(runs, "copies", shortlist=(100, 0))
    texts = [translation.text for translation in short.translate(sources)]
    assert texts == [translation.text for translation in load(runs, "copies").translate(sources)]
    forced = short.translate(sources, prefix=[" ".join(target.split()[:2]) for target in targets])
    assert [translation.text for translation in forced] == list(targets)


def test_subwords_need_no_words(runs: Shell) -> None:
    translator = load(runs, "subwords")
    (translation,) = translator.translate(["my name is aeiou"], search=Spec("greedy", {"length_ratio": 0.5}))
    assert translator.score([translation.source], [translation.text or "je"])[0].log_prob < 0


def test_what_a_model_spells_itself_is_written_so(runs: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load(runs, "speaks")
    symbols = translator.target.vocabulary.ids(["je", "suis", "nobody"])
    spelled = Hypothesis(tuple(symbols), 0.0, (0.0,) * 4, (np.full((4, 5), 0.2, np.float32),), (None, None, "aeiou"))
    monkeypatch.setattr(translator.generator, "hypotheses", lambda *arguments, **options: [[spelled]])
    (translation,) = translator.translate(["my name is aeiou"])
    assert (translation.text, translation.steps[2].symbol) == ("je suis aeiou", "aeiou")


def test_what_cannot_work_is_told(runs: Shell, golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        load(runs, "copies").simultaneous(["here"], wait=1)
    golden(str(raised.value))
    with pytest.raises(UserError) as raised:
        load(runs, "copies", engine="int8")
    golden(str(raised.value).replace(str(runs.folder), "FOLDER"))
    both = {**OPTIONS, "training.objective": "agreement", "training.steps": 1}
    for options in (both, {**both, "model.output": "pointers"}):
        with pytest.raises(UserError) as raised:
            toy.config(runs.folder, Path("never"), options)
        golden(str(raised.value))
