"""Criteria by hand, reranking beside a plain loop, and the file of what was tuned."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.search.ranking import LEAST
from dragoman.text.glossary import Glossary, Term
from dragoman.training import session
from dragoman.translation import generator
from dragoman.translation import processor as codec
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.reranking.criteria import (
    OWN,
    Candidates,
    Coverage,
    Figure,
    LengthModel,
    ListedScore,
    Model,
    OtherRun,
    Reverse,
)
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.reranking.nbest_lists import Lists
from dragoman.translation.reranking.reranker import Reranker
from dragoman.translation.transforms.terms import LexicalConstraints
from dragoman.translation.translation import Scored, Step, Translation
from dragoman.translation.translator import Translator
from dragoman.translation.tuning import Lengths, Weighted, listed, own_alpha, tune
from tests import toy
from tests.golden import Golden

CHRF = METRICS["chrf"]()
TEXTS = [source for source, _ in toy.pairs(12, 5)]
WEIGHTS = {"model": 0.5, "length": 0.02, "coverage": 0.1, "length_model": 0.3}
WEIGHTED = Weighted(candidates=6, alpha=0.5, weights=WEIGHTS, length_model=Lengths(ratio=1.1, variance=0.5))


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return dragoman.load(toy.trained(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="module")
def back(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that translates back, after one step."""
    folder = tmp_path_factory.mktemp("back")
    options = {"data.source": "fr", "data.target": "en", "training.epochs": None, "training.steps": 1}
    return session.train(toy.config(toy.corpus(folder), folder / "run", options), quiet=True).path


def translation(text: str, log_prob: float, attention: Any = None) -> Translation:
    words = text.split()
    weights = np.zeros((len(words), 2)) if attention is None else np.array(attention)
    source = SourceAttention("en", "a b", ["a", "b"], weights, np.ones(len(words)))
    steps = tuple(Step(word, place, -0.1) for place, word in enumerate(words))
    return Translation((source,), text, words, log_prob, log_prob, (*steps, Step("</s>", None, -0.1)))


def test_criteria_by_hand() -> None:
    """Two words and the end; 0.5 and 1.2 of attention, of which no more than 1 counts; 5 characters where 1.5 x 3 are
    expected.
    """
    best = translation("xx yy", -6.0, [[0.25, 0.6], [0.25, 0.6]])
    assert Model().of(best).normalized(1.0) == pytest.approx(-2.0)
    assert Model().of(best).normalized(0.0) == pytest.approx(-6.0)
    assert OWN["length"]().of(best) == Figure(3)
    assert Coverage().of(best).normalized(2.0) == pytest.approx(math.log(0.5), abs=1e-4)
    assert LengthModel(1.5, 2.0).of(best).value == pytest.approx(-((5 - 4.5) ** 2) / (2 * 2.0 * 3))
    assert Coverage().of(translation("x", 0.0)).value == pytest.approx(2 * math.log(LEAST))


def test_the_length_model_of_pairs() -> None:
    """6 of 4 characters: 1.5 for each; (2 - 3)^2 / 2 and (4 - 3)^2 / 2."""
    model = LengthModel.fitted([("ab", "xy"), ("ab", "wxyz")])
    assert (model.ratio, model.variance) == (1.5, 0.5)


def test_what_is_not_finite_ranks_last() -> None:
    assert Figure(-math.inf, 3).normalized(1.0) == pytest.approx(-1e5 / 3, abs=1e-4)
    assert str(Figure(-0.00001).normalized(0.0)) == "0.0"


def scorer(sources: Sequence[tuple[Any, ...]], targets: Sequence[str]) -> list[Scored]:
    """-1 for each character of the target, and -100 for each of the source; a step for each word and the end."""
    pairs = zip(sources, targets, strict=True)
    steps = [(Step("x", 0, -1.0),) * (len(target.split()) + 1) for target in targets]
    return [
        Scored(-len(b) - 100.0 * len(a[0]), (), b, [], steps_of_pair)
        for (a, b), steps_of_pair in zip(pairs, steps, strict=True)
    ]


CANDIDATES = [
    Candidates(0, ("a b",), [translation("xx yy", -1.0), translation("xx", -0.9), translation("x y z", -1.1)]),
    Candidates(1, ("c",), [translation("x", -2.0)]),
]


def test_other_runs_score_each_pair_in_its_place() -> None:
    """The reverse one x given y."""
    assert OtherRun("other", scorer).figures(CANDIDATES) == [
        [Figure(-305.0, 3), Figure(-302.0, 2), Figure(-305.0, 4)],
        [Figure(-101.0, 2)],
    ]
    assert Reverse(scorer).figures(CANDIDATES) == [[Figure(-503.0), Figure(-203.0), Figure(-503.0)], [Figure(-101.0)]]


def test_scores_are_those_of_a_plain_loop() -> None:
    weights = {"model": 1.0, "reverse": 0.001, "length": -0.25}
    criteria = [Model(), Reverse(scorer), OWN["length"]()]
    for candidates, ranked in zip(CANDIDATES, Reranker(criteria, weights, 0.5).ranked(CANDIDATES), strict=True):
        totals = []
        for one in candidates.translations:
            length = len(one.text.split()) + 1
            reverse = -len("".join(map(str, candidates.inputs))) - 100 * len(one.text)
            totals.append(round(one.log_prob / length**0.5, 4) + 0.001 * reverse - 0.25 * length)
        order = sorted(range(len(totals)), key=lambda number: -totals[number])
        assert [one.text for one in ranked] == [candidates.translations[number].text for number in order]
        assert [one.score for one in ranked] == pytest.approx([totals[number] for number in order])
        for one in ranked:
            assert one.score == pytest.approx(sum(weights[name] * one.criteria[name] for name in weights))


def test_of_equal_ones_the_search_decides() -> None:
    """As it does without any criterion."""
    for reranker in (Reranker((), {}), Reranker([Model()], {"model": 0.0})):
        (first, _) = reranker.ranked(CANDIDATES)
        assert [translation_.text for translation_ in first] == ["xx yy", "xx", "x y z"]


def test_terms_come_before_criteria(translator: Translator) -> None:
    """What lacks a term of a glossary is no better for its figures, though they are better the less it is probable."""
    pairs = {"one": "quatre", "two": "cinq", "three": "six"}
    lexical = LexicalConstraints(Glossary(Term(source, (target,)) for source, target in pairs.items()))
    reranker = Reranker([Model()], {"model": -1.0}, candidates=20)
    (best,) = translator.translate(["two four"], constraints=lexical, n_best=20, rerank=reranker)
    lacking = [sum(term.target is None for term in alternative.terms) for alternative in best.n_best]
    scores = [alternative.score for alternative in best.n_best]
    assert lacking == sorted(lacking)
    assert len(set(lacking)) > 1
    assert scores != sorted(scores, reverse=True)


def test_terms_that_are_favored_do_not_come_before_criteria(translator: Translator) -> None:
    lexical = LexicalConstraints(Glossary([Term("two", ("cinq",))]), weight=1e-6)
    reranker = Reranker([Model()], {"model": 1.0}, candidates=20)
    translations = translator.translate(["one two three", "two four"], constraints=lexical, n_best=20, rerank=reranker)
    for best in translations:
        scores = [alternative.score for alternative in best.n_best]
        assert scores == sorted(scores, reverse=True)
        assert [alternative.terms[0].target is None for alternative in best.n_best[:2]] == [True, True]


def test_no_more_are_written_than_are_compared(translator: Translator, golden: Golden) -> None:
    for options in ({"rerank": Reranker([Model()], {"model": 1.0}, candidates=5)}, {"risk": MinimumBayesRisk(CHRF, 5)}):
        with pytest.raises(UserError) as raised:
            translator.translate(["one"], n_best=6, **options)
        golden(str(raised.value))


def test_the_beam_is_as_wide_as_need_be() -> None:
    reranker = Reranker((), {}, candidates=8)
    assert reranker.search(Spec("beam", {"size": 5, "alpha": 0.5})) == Spec("beam", {"size": 8, "alpha": 0.5})
    assert reranker.search(Spec("beam", {"size": 9})) == Spec("beam", {"size": 9})
    assert reranker.search(Spec("diverse", {"groups": 3})) == Spec("diverse", {"groups": 3, "size": 3})
    assert reranker.search(Spec("greedy")) == Spec("beam", {"size": 8})
    assert [reranker.count(most) for most in (3, 20)] == [3, 8]


def test_the_best_of_a_beam_by_other_criteria(translator: Translator) -> None:
    """Those of a beam as wide, in the order of a plain sort; `n_best` of them."""
    reranker = WEIGHTED.reranker(translator)
    translations = translator.translate(TEXTS, rerank=reranker, n_best=3)
    lists = translator.translate(TEXTS, n_best=6, search=Spec("beam", {"size": 6}))
    changed = 0
    for number, (best, beside) in enumerate(zip(translations, lists, strict=True)):
        (ranked,) = reranker.ranked([Candidates(number, (TEXTS[number],), beside.n_best)])
        assert [alternative.text for alternative in best.n_best] == [alternative.text for alternative in ranked][:3]
        assert [alternative.score for alternative in best.n_best] == pytest.approx(
            [alternative.score for alternative in ranked][:3], abs=1e-3
        )
        assert set(best.criteria) == set(WEIGHTS)
        changed += best.text != beside.text
    assert all(not alternative.alternatives for best in translations for alternative in best.alternatives)
    assert translator.translate([" "], rerank=reranker)[0].text == ""
    with pytest.raises(ValueError, match="pass one of them"):
        translator.translate(TEXTS, rerank=reranker, risk=MinimumBayesRisk(METRICS["chrf"]()))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 40, 4096])
def test_other_texts_in_the_batch_change_nothing(
    size: int, translator: Translator, back: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what is chosen nor by which figures, to the last digit that is written."""
    weights = {**WEIGHTS, "reverse": 0.1}
    reranker = WEIGHTED.model_copy(update={"weights": weights, "reverse": str(back)}).reranker(translator)
    alone = [translator.translate([text], rerank=reranker, n_best=4)[0] for text in TEXTS]
    for module in (generator, codec):
        monkeypatch.setattr(module, "BATCH", size)
    for one, other in zip(translator.translate(TEXTS, rerank=reranker, n_best=4), alone, strict=True):
        assert [alternative.text for alternative in one.n_best] == [alternative.text for alternative in other.n_best]
        for a, b in zip(one.n_best, other.n_best, strict=True):
            assert dict(a.criteria) == pytest.approx(dict(b.criteria), abs=2e-4)


def test_figures_of_a_users_own(tmp_path: Path) -> None:
    """By the number of the sentence and the text, whatever else is in the line."""
    path = tmp_path / "lists"
    path.write_text(
        "7 ||| a ||| b ||| F0= -1.5 lm= -2 odd=3 ||| -1\n7 ||| a ||| 0-0 ||| lm= .5 x= 1e-3 ||| F0= -2.0 ||| -3.0\n",
        encoding="utf-8",
    )
    lists = Lists(path)
    assert lists.names == ["F0", "lm", "x"]
    assert (lists.of(7, "a ||| b", "lm"), lists.of(7, "a", "F0"), lists.of(7, "a", "x")) == (-2.0, -2.0, 0.001)
    path.write_text("0 |||  ||| lm= 3\n0 ||| 4 ||| lm= 5\n", encoding="utf-8")
    assert [Lists(path).of(0, text, "lm") for text in ("", "4")] == [3.0, 5.0]


def test_figures_of_a_users_own_may_be_of_any_size(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text("0 ||| a ||| lm= -300000\n0 ||| b ||| lm= -200000\n", encoding="utf-8")
    candidates = Candidates(0, ("x",), [translation(text, -1.0) for text in "ab"])
    ((first, second),) = ListedScore("lm", Lists(tmp_path / "lists")).figures([candidates])
    assert (first.normalized(0.0), second.normalized(0.0)) == (-3e5, -2e5)


@pytest.mark.parametrize("text", ["a ||| b", "1 ||| a ||| b", "x", "-1 ||| a ||| lm= 2", "1 ||| a ||| lm= 1e400"])
def test_what_is_no_list_is_told_by_line(text: str, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "lists"
    path.write_text(f"0 ||| a ||| lm= 1\n{text}\n", encoding="utf-8")
    with pytest.raises(UserError) as error:
        ListedScore("lm", Lists(path)).figures([Candidates(1, ("a",), [translation("a", 0.0)])])
    assert str(path) in str(error.value)
    golden(str(error.value))


def test_a_figure_that_is_missing_is_told(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "lists"
    path.write_text("0 ||| a ||| lm= 1 ||| 2\n0 ||| b ||| F0= 1 ||| 2\n", encoding="utf-8")
    for text in ("b", "c"):
        with pytest.raises(UserError) as error:
            Lists(path).of(0, text, "lm")
        golden(str(error.value), text)


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    for weighted in (
        WEIGHTED,
        Weighted(candidates=2, alpha=0.0, weights={"model": 1.0}),
        Weighted(candidates=9, alpha=1.25, weights={"a b: c": -1e-6}, reverse="x: y", runs={"no": "../r"}),
    ):
        path.write_text(f"# Mine.\n{weighted.text()}", encoding="utf-8")
        assert Weighted.read(path) == weighted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1",
        "weights: {model: 1}",
        "version: 1\ncandidates: 5\nalpha: 1\nweights: {}",
        "version: 1\ncandidates: 0\nalpha: 1\nweights: {model: 1}",
        "version: 1\ncandidates: 5000\nalpha: 1\nweights: {model: 1}",
        "version: 1\ncandidates: 5\nalpha: -1\nweights: {model: 1}",
        "version: 1\ncandidates: 5\nalpha: 1\nweights:\n  model: x",
        "version: 1\ncandidates: 5\nalpha: 1\nweights: {model: .nan}",
        "version: 1\ncandidates: 5\nalpha: 1\nwieghts: {}\nweights: {model: 1}",
        "version: 9\nweights: {model: 1}",
    ],
)
def test_what_is_no_file_of_weights_is_told(text: str, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        Weighted.read(path)
    assert str(error.value).startswith(f"{path}:")
    assert "\n" not in str(error.value)
    golden(str(error.value))


@pytest.mark.slow
def test_a_reverse_run_with_a_second_source_is_refused(translator: Translator, tmp_path: Path) -> None:
    corpus = toy.corpus(tmp_path / "corpus")
    for part in ("train", "dev"):
        shutil.copy(corpus / f"{part}.fr", corpus / f"{part}.mt")
    options = {"data.source": ["fr", "mt"], "data.target": "en", "training.epochs": None, "training.steps": 1}
    run = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path
    weighted = Weighted(candidates=2, alpha=1.0, weights={"reverse": 1.0}, reverse=str(run))
    with pytest.raises(UserError, match="translates fr, mt to en, which is not the reverse of en to fr"):
        weighted.reranker(translator)


def test_runs_that_do_not_fit_are_told(translator: Translator, back: Path, golden: Golden) -> None:
    """A reverse run has to translate back, another one the same languages."""
    here = str(toy.trained(back.parent.parent))
    wrong: dict[str, dict[str, Any]] = {
        "reverse": {"weights": {"reverse": 1.0}, "reverse": here},
        "other": {"weights": {"more": 1.0}, "runs": {"more": str(back)}},
        "unknown": {"weights": {"more": 1.0}},
        "no length model": {"weights": {"length_model": 1.0}, "length_model": None},
    }
    for case, changes in wrong.items():
        with pytest.raises(UserError) as error:
            WEIGHTED.model_copy(update=changes).reranker(translator)
        golden(str(error.value).replace(str(back), "BACK").replace(here, "HERE"), case)
    fits = {"weights": {"reverse": 1.0, "more": 1.0}, "reverse": str(back), "runs": {"more": here}}
    assert [criterion.name for criterion in WEIGHTED.model_copy(update=fits).reranker(translator).criteria] == [
        "reverse",
        "more",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chrf", "wer"])
def test_what_is_tuned_scores_so(name: str, translator: Translator, tmp_path: Path) -> None:
    """On the set that it was tuned on, as read back from its file; never worse than the search."""
    pairs, metric = toy.pairs(30, 8), METRICS[name]()
    sources, references = [source for source, _ in pairs], [[target for _, target in pairs]]
    begun = WEIGHTED.model_copy(update={"weights": {**dict.fromkeys(WEIGHTS, 0.0), "model": 1.0}, "alpha": 1.0})
    candidates = listed(translator, sources, 6)
    assert [sentence.translations[0].text for sentence in candidates] == [
        sentence.text for sentence in translator.translate(sources, search=Spec("beam", {"size": 6}))
    ]
    tuned = tune(begun, candidates, references, metric, begun.reranker(translator).criteria)
    path = tmp_path / "w.yaml"
    path.write_text(tuned.weighted.text(), encoding="utf-8")
    reranked = translator.translate(sources, rerank=Weighted.read(path).reranker(translator))
    assert metric.corpus([sentence.text for sentence in reranked], references).value == pytest.approx(tuned.after)
    assert metric.corpus([sentence.translations[0].text for sentence in candidates], references).value == tuned.before
    assert (tuned.after >= tuned.before) if metric.higher_is_better else (tuned.after <= tuned.before)
    assert sum(map(abs, tuned.weighted.weights.values())) == pytest.approx(1, abs=1e-5)


def test_alpha_alone_is_tuned() -> None:
    """Of two lists, both have the longer translation best, which only a larger alpha ranks first."""
    lists = [Candidates(number, ("a",), [translation("x", -1.0), translation("x y z", -1.5)]) for number in range(2)]
    begun = Weighted(candidates=2, alpha=0.0, weights={"model": 1.0})
    tuned = tune(begun, lists, [["x y z"] * 2], METRICS["wer"](), [Model()])
    assert -1.0 / 2**tuned.weighted.alpha < -1.5 / 4**tuned.weighted.alpha
    assert tuned.weighted.weights == {"model": 1.0}
    assert (tuned.before, tuned.after) == (pytest.approx(200 / 3), 0.0)


def test_alpha_begins_with_that_of_the_run(translator: Translator) -> None:
    def of(search: Spec) -> float:
        other = Translator(translator.generator._original, translator.processor, search, translator.device)
        return own_alpha(other)

    specs = [Spec("beam", {"alpha": 0.5}), Spec("beam", {"normalization": "none"}), Spec("greedy")]
    assert [of(spec) for spec in specs] == [0.5, 1.0, 1.0]


def test_a_translation_keeps_what_it_was_ranked_by(translator: Translator) -> None:
    (best,) = translator.translate(TEXTS[:1], rerank=WEIGHTED.reranker(translator))
    written = dragoman.Result(best).json()
    assert written["criteria"] == dict(best.criteria)
    assert dragoman.Result.from_json(written).translation.criteria == best.criteria
    assert "criteria" not in dragoman.Result(replace(best, criteria={})).json()
