"""Pickles and copies of translations have all but the model that could explain them."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.data.recall import FuzzyMatch
from dragoman.errors import UserError
from dragoman.text.glossary import Glossary, Term
from dragoman.text.protection import Protection
from dragoman.training import session
from dragoman.translation.explanation.explanation import Explanation
from dragoman.translation.transforms.terms import LexicalConstraints
from dragoman.translation.translation import Scored, Translation
from dragoman.translation.translator import Translator
from tests import toy
from tests.golden import Golden

TEXT = "one two three"
ONE_STEP = {"training.epochs": None, "training.steps": 1}
Again = Callable[[Any], Any]
again = pytest.mark.parametrize("again", [lambda value: pickle.loads(pickle.dumps(value)), copy.copy, copy.deepcopy])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.trained(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return dragoman.load(run)


def plain(value: Any) -> Any:
    """All that a value consists of, without what explains a translation and what searches again."""
    if isinstance(value, Translation | Explanation):
        return {
            name: plain(field) for name, field in vars(value).items() if name not in ("explainer", "search", "beam")
        }
    if isinstance(value, Scored):
        return plain(value[:-1])
    if isinstance(value, np.ndarray):
        return [value.shape, value.tolist()]
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    return [type(value), *map(plain, value)] if isinstance(value, tuple | list) else value


def explainers(translation: Translation) -> list[Any]:
    return [alternative.explainer for alternative in translation.n_best]


@again
def test_a_translation_has_all_but_its_model(translator: Translator, again: Again) -> None:
    lexical = LexicalConstraints(Glossary([Term("one", ("Xylo",))]), protection=Protection.named(["numbers"]))
    (translation,) = translator.translate([f"{TEXT} 45"], n_best=3, beam_size=4, constraints=lexical)
    assert len(translation.alternatives) == 2
    assert translation.spans
    assert translation.terms
    back = again(translation)
    assert plain(back) == plain(translation)
    assert back.explainer is None
    assert None not in explainers(translation), "the translation itself keeps its model"
    assert dragoman.Result(back).line() == dragoman.Result(translation).line()


def test_alternatives_lose_their_model_too(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT], n_best=3)
    for back in (pickle.loads(pickle.dumps(translation)), copy.deepcopy(translation)):
        assert explainers(back) == [None] * len(translation.n_best)


@again
def test_a_scored_pair_has_all_but_its_model(translator: Translator, again: Again) -> None:
    (translation,) = translator.score([TEXT], ["trois deux un"])
    back = again(translation)
    assert isinstance(back, Scored)
    assert plain(back) == plain(translation)
    assert back.explainer is None
    assert translation.explainer is not None


@again
def test_an_explanation_has_its_search_and_no_model(translator: Translator, again: Again) -> None:
    (translation,) = translator.translate([TEXT])
    explanation = translation.explain("trois cinq un", nearest=2)
    back = again(explanation)
    assert plain(back) == plain(explanation)
    assert back.beam == explanation.beam
    assert len(pickle.dumps(back)) < 20_000 < len(pickle.dumps(translator.model))
    assert str(back) == str(explanation)


def test_a_text_from_a_memory_is_pickled_with_its_match(tmp_path: Path) -> None:
    corpus = toy.corpus(tmp_path / "corpus")
    options = {"data.translation_memory": "nearest", **ONE_STEP}
    model = dragoman.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    source = (corpus / "train.en").read_text("utf-8").splitlines()[0]
    (translation,) = model.translate([source])
    assert translation.sources[1].match is not None
    assert plain(pickle.loads(pickle.dumps(translation))) == plain(translation)
    (recalled,) = (
        source_input
        for source_input in model.processor.model_inputs.complete_inputs(source)
        if isinstance(source_input, FuzzyMatch)
    )
    for back in (pickle.loads(pickle.dumps(recalled)), copy.deepcopy(recalled)):
        assert (str(back), back.match) == (str(recalled), recalled.match)


def test_words_of_a_stream_are_pickled(translator: Translator) -> None:
    words = list(translator.simultaneous(TEXT.split(), wait=1))
    assert pickle.loads(pickle.dumps(words)) == words


def test_a_translator_is_pickled_with_its_model(translator: Translator) -> None:
    """For processes that are started anew."""
    back = pickle.loads(pickle.dumps(translator))
    ((translation,), (expected,)) = (loaded.translate([TEXT]) for loaded in (back, translator))
    assert plain(translation) == plain(expected)
    assert translation.explain(nearest=1).nearest == expected.explain(nearest=1).nearest


@again
def test_what_has_no_model_says_so(translator: Translator, again: Again, golden: Golden) -> None:
    back = again(translator.translate([TEXT])[0])
    for attempt in (back.explain, lambda: translator.explain([back])):
        with pytest.raises(UserError, match=r"^explain:") as refused:
            attempt()
        golden(str(refused.value), "")
