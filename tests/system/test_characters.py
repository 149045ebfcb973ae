"""Runs that read and spell words by their characters: from text files to translations, and what they cannot do."""

import json
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.data.batch import TokenBatch
from dragoman.data.dataset import Dataset
from dragoman.data.vocabulary import UNK
from dragoman.deployment import export
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.run.run import Run, facts
from dragoman.training import session
from dragoman.translation.result import Result
from dragoman.translation.translator import Translator
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

pytestmark = pytest.mark.slow

FEW = {"kind": "word", "vocab_size": 3}
SPELLING = {"kind": "hybrid", "size": 8, "characters": 4, "beam": 2}
OPTIONS: dict[str, Any] = {"text.source.tokenizer": FEW, "text.target.tokenizer": FEW, "training.epochs": 6}
RUNS: dict[str, dict[str, Any]] = {
    "reads": {
        "model.embedding.source": {"kind": "character_rnn", "hidden": 5},
        "model.embedding.target": {"kind": "character_cnn", "filters": 2},
    },
    "hybrid": {"model.embedding.source": {"kind": "hybrid", "characters": 4}, "model.output": SPELLING},
    "shared_vocabulary": {
        "text.shared_vocabulary": True,
        "model.embedding": {"size": 12, "tie": "all", "source": "hybrid"},
        "model.output": SPELLING,
    },
    "unattended": {  # has no source word that could take the place of what it does not know
        "model.embedding.source": {"kind": "hybrid", "characters": 4},
        "model.attention.score": "none",
        "model.output": SPELLING,
    },
}
SPELL = ["hybrid", "shared_vocabulary", "unattended"]
LINES = ["one nine zero", "seventeen", "two two unheard"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = toy.corpus(tmp_path_factory.mktemp("characters"))
    toy.write(folder, "test", [(line, "un neuf") for line in LINES])
    for name, options in RUNS.items():
        session.train(toy.config(folder, folder / name, {**OPTIONS, **options}), quiet=True)
    return Shell(folder)


def load(runs: Shell, name: str, **options: Any) -> Translator:
    return dragoman.load(runs.folder / name, **options)


@pytest.mark.parametrize("name", RUNS)
def test_a_translator_and_the_store_give_a_model_the_same(name: str, runs: Shell) -> None:
    config, translator = Run.load(runs.folder / name).config, load(runs, name)
    spellings = build.unknown_word_needs(config.model)
    assert spellings.target is (name in SPELL)
    data = Dataset.prepare(config.data, config.text, config.seed, runs.folder / name, surfaces=spellings)
    sources = (runs.folder / "train.en").read_text("utf-8").splitlines()
    targets = (runs.folder / "train.fr").read_text("utf-8").splitlines()
    unknown = 0
    for batch in translator.pairs(sources, targets):
        expected = data.batch(batch.rows, 0)
        for one, other in zip((*batch.sources, batch.target), (*expected.sources, expected.target), strict=True):
            assert isinstance(one, TokenBatch)
            assert isinstance(other, TokenBatch)
            assert one.ids.equal(other.ids)
            assert (one.spelled is None) is (other.spelled is None)
            if one.spelled and other.spelled:
                assert one.spelled.ids.equal(other.spelled.ids)
                assert one.spelled.characters.equal(other.spelled.characters)
                assert (one.spelled.ids >= len(data.target.vocabulary)).equal(one.ids == UNK)
                unknown += len(one.spelled.characters)
    assert unknown >= 3


@pytest.mark.parametrize("name", SPELL)
@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 3})], ids=str)
def test_translations_have_no_unknown_word_and_the_score_of_their_text(name: str, search: Spec, runs: Shell) -> None:
    translator = load(runs, name)
    limited = Spec(search.kind, {**search.options, "length_ratio": 1.0, "length_margin": 2})
    translations = translator.translate(LINES, search=limited)
    scored = translator.score(LINES, [candidate.text for candidate in translations])
    spelled = 0
    for translation, score in zip(translations, scored, strict=True):
        assert "<unk>" not in translation.text
        new = translator.target.vocabulary.unknown(step.symbol for step in translation.steps[:-1])
        spelled += len(new)
        if [step.symbol for step in score.steps] == [step.symbol for step in translation.steps]:
            assert translation.log_prob == pytest.approx(score.log_prob, abs=1e-4)
    assert spelled or search.kind == "beam"
    (alone,) = translator.translate(LINES[:1], search=limited)
    assert alone.text == translations[0].text


def test_json_has_the_words(runs: Shell) -> None:
    for line in runs("translate", "hybrid", "--json", "--n-best=2", "test.en").lines:
        record = json.loads(line)
        assert Result.from_line(line).line() == line
        assert "<unk>" not in [step["symbol"] for step in record["steps"]]
        assert sum(step["log_prob"] for step in record["steps"]) == pytest.approx(record["log_prob"], abs=1e-3)
    (scored, *_) = runs("score", "hybrid", "test.en", "test.fr", "--json").lines
    assert [step["symbol"] for step in json.loads(scored)["steps"]] == ["un", "neuf", "</s>"]


def test_a_word_that_was_never_seen_has_a_vector_and_a_probability(runs: Shell) -> None:
    """Source words that differ are told apart, and so are target words; those of a model of words are not."""
    for name in RUNS:
        one, other, same = load(runs, name).score(["nine", "zero", "nine"], ["un", "un", "un"])
        assert one.log_prob != pytest.approx(other.log_prob, abs=1e-7)
        assert one.log_prob == pytest.approx(same.log_prob, abs=1e-6)
    one, other = load(runs, "hybrid").score(["nine", "nine"], ["uo", "uq ut"])
    assert one.log_prob != pytest.approx(other.log_prob, abs=1e-3)


def test_shortlists_spell(runs: Shell) -> None:
    assert runs("shortlist", "hybrid").code == 0
    short = load(runs, "hybrid", shortlist=(2, 1))
    assert not any("<unk>" in translation.text for translation in short.translate(LINES))


def test_a_run_is_described(runs: Shell) -> None:
    for name in RUNS:
        assert "hybrid" in str(facts(Run.load(runs.folder / name))) or name == "reads"
        assert (runs.folder / name / "source.characters").is_file()


def test_a_run_goes_on_in_another(runs: Shell, tmp_path: Path) -> None:
    """With all that it has learned of characters."""
    options = {**OPTIONS, **RUNS["hybrid"], "training.init_from": str(runs.folder / "hybrid"), "training.steps": 1}
    run = session.train(toy.config(runs.folder, tmp_path / "next", options), quiet=True)
    assert dragoman.load(run.path).translate(LINES)


def refusal(action: Any) -> str:
    with pytest.raises(UserError) as raised:
        action()
    return str(raised.value)


def test_what_cannot_work_is_told(runs: Shell, golden: Golden) -> None:
    folder = str(runs.folder)
    golden(refusal(lambda: dragoman.load([runs.folder / "reads", runs.folder / "hybrid"])).replace(folder, "FOLDER"))
    golden(refusal(lambda: load(runs, "reads").simultaneous(["one"], wait=1)))
    golden(refusal(lambda: load(runs, "hybrid", engine="int8")).replace(folder, "FOLDER"))
    for name in ("reads", "hybrid"):
        golden(refusal(lambda name=name: export.write(Run.load(runs.folder / name))).replace(folder, "FOLDER"))
    golden(refusal(lambda: load(runs, "hybrid").translate(["one"], prefix=["neuf"])))
    never = Path("never")
    for options in (
        {**RUNS["reads"], "training.objective": "agreement"},
        {"model.output": SPELLING, "training.objective": "agreement"},
        {"model.output": SPELLING, "model.attention.normalizer": "hard", "training.objective": "marginal"},
        {"model.embedding.source": "character_cnns"},
        {"model.embedding.source": {"kind": "character_cnn", "widths": []}},
        {"model.embedding.tie": "output", "model.embedding.target": "character_rnn"},
    ):
        golden(refusal(lambda options=options: toy.config(runs.folder, never, options)))


def test_two_runs_that_read_characters_translate_together(runs: Shell) -> None:
    both = dragoman.load([runs.folder / "reads"] * 2)
    one = load(runs, "reads")
    for together, alone in zip(both.translate(LINES), one.translate(LINES), strict=True):
        assert together.text == alone.text
        assert together.log_prob == pytest.approx(alone.log_prob, abs=1e-4)
