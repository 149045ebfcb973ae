"""Text to translations: order, odd texts, search, attention between words, scores of given pairs."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, final

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import dragoman
from dragoman import devices
from dragoman.configuration import components, config_file, sections
from dragoman.configuration.components import Spec
from dragoman.configuration.config import DeviceConfig
from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.vocabulary import PAD, UNK
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.model import build
from dragoman.model.output.copying import PointerGenerator
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import weights, write_tensors
from dragoman.run.run import Run
from dragoman.search.constraints import CONSTRAINTS, Constraint, ConstraintContext
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.table import SEARCHES
from dragoman.training import session
from dragoman.translation import generator
from dragoman.translation import processor as codec
from dragoman.translation import source_inputs as inputs
from dragoman.translation.generator import Task
from dragoman.translation.processor import by_length
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.reranking.reranker import Reranker
from dragoman.translation.sentence import Sentence
from dragoman.translation.source_inputs import sum_by_words
from dragoman.translation.translation import Scored
from dragoman.translation.translator import Translator
from tests import toy
from tests.golden import Golden

TEXTS = [source for source, _ in toy.pairs(12, 5)]
ONE_STEP = {"training.epochs": None, "training.steps": 1}
OTHERS: dict[str, dict[str, Any]] = {
    "subwords": {**toy.SUBWORDS, **ONE_STEP},
    "characters": {"text.source.tokenizer": "character", "text.target.tokenizer": "character", **ONE_STEP},
    "no attention": {"model.attention.score": "none", **ONE_STEP},
    "shift": {
        "model.attention": {"score": "uniform", "terms": "shift"},
        "model.encoder": {"kind": "rnn", "size": 12, "direction": "forward"},
        "model.bridge": "zero",
        "training.objective": "segment",
        **ONE_STEP,
    },
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.trained(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return dragoman.load(run)


@pytest.fixture(scope="module")
def other_translators(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    """Translators that have learned nothing, of other kinds."""
    folder = tmp_path_factory.mktemp("others")
    corpus = toy.corpus(folder / "corpus")
    return {
        name: dragoman.load(session.train(toy.config(corpus, folder / name, options), quiet=True).path)
        for name, options in OTHERS.items()
    }


@pytest.fixture(scope="module")
def post_editor(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """One that has learned nothing, and writes edits of its only source."""
    folder = toy.corpus(tmp_path_factory.mktemp("edits"))
    for part in ("train", "dev"):
        lines = (folder / f"{part}.fr").read_text("utf-8").splitlines()
        (folder / f"{part}.mt").write_text("".join(f"six {line}\n" for line in lines), "utf-8")
    words = {"pretokenizer": "whitespace", "tokenizer": "word"}
    options = {
        "data.source": "mt",
        "data.edits": "mt",
        "text": {"shared_vocabulary": True, "source": words, "target": words},
        **ONE_STEP,
    }
    return dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)


def test_what_is_no_source_is_a_part_of_the_name_of_a_dictionary(run: Path, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("one\tun\n", "utf-8")
    with chdir(tmp_path), pytest.raises(UserError, match=r"^de=words\.tsv: "):
        dragoman.load(run, dictionary="de=words.tsv")


@pytest.mark.spec("C13")
@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("un deux trois", "un trois", [0, 2]),  # keep, delete, keep
        ("six un deux", "un deux", [1, 2]),  # delete, keep, keep
        ("un deux", "un trois", [0, 1]),  # keep, trois, delete
    ],
)
def test_what_a_deleted_word_was_looked_at_with_is_no_words_attention(
    before: str, after: str, rows: list[int], post_editor: Translator
) -> None:
    (scored,) = post_editor.score([before], [after])
    (batch,) = post_editor.pairs([before], [after])
    with torch.no_grad():
        (weights,) = post_editor.model.score(batch).attention
    assert scored.words == after.split()
    np.testing.assert_allclose(scored.attention, weights[0, rows, :-1].numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"search": "greedy"},
        {"search": "beam"},
        {"search": "beam", "n_best": 3},
        {"search": {"kind": "sample", "seed": 3}},
        {"search": "beam", "prefix": ["un"] * len(TEXTS)},
    ],
    ids=["greedy", "beam", "n-best", "sample", "prefix"],
)
def test_without_details_texts_and_scores_are_the_same(options: dict[str, Any], translator: Translator) -> None:
    detailed = translator.translate(TEXTS, **options)
    plain = translator.translate(TEXTS, **options, details=False)
    for one, other in zip(plain, detailed, strict=True):
        assert (one.text, one.score, one.log_prob) == (other.text, other.score, other.log_prob)
        assert [candidate.text for candidate in one.n_best] == [candidate.text for candidate in other.n_best]
        assert other.words
        assert not one.words
        assert not one.steps


def test_without_details_edits_are_the_same(post_editor: Translator) -> None:
    detailed, plain = (post_editor.translate(["un deux trois"], details=details) for details in (True, False))
    assert [one.text for one in plain] == [one.text for one in detailed]


@pytest.mark.parametrize(
    "options",
    [
        {"risk": MinimumBayesRisk(components.build(METRICS, Spec("chrf")), 8)},
        {"rerank": Reranker((), {}, candidates=3)},
    ],
    ids=["risk", "rerank"],
)
def test_without_details_the_same_translation_is_selected(options: dict[str, Any], translator: Translator) -> None:
    detailed, plain = (translator.translate(TEXTS, **options, details=details) for details in (True, False))
    assert [one.text for one in plain] == [one.text for one in detailed]


def test_without_details_an_exhaustive_search_says_what_it_proved(translator: Translator) -> None:
    detailed = translator.translate(TEXTS[:2], search="exhaustive")
    plain = translator.translate(TEXTS[:2], search="exhaustive", details=False)
    assert [one.proved for one in plain] == [one.proved for one in detailed]
    assert None not in [one.proved for one in plain]


@pytest.mark.parametrize(("name", "cuda_graphs"), [("cuda", True), ("cuda", False), ("cpu", True)])
def test_a_gpu_replays_the_steps_of_a_search(
    name: str, cuda_graphs: bool, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaying: list[Seq2Seq] = []
    monkeypatch.setattr(Seq2Seq, "replay_steps", lambda model: replaying.append(model))
    monkeypatch.setattr(Seq2Seq, "to", lambda model, place: model)  # there may be no GPU
    monkeypatch.setattr(devices, "choose", lambda config: Device(torch.device(name), 1, torch.float32))
    model = dragoman.load(run, device=DeviceConfig(name="auto", cuda_graphs=cuda_graphs)).model
    assert replaying == [model] * (name == "cuda" and cuda_graphs)


def test_translates_each_text_in_its_place(translator: Translator) -> None:
    translations = translator.translate(TEXTS)
    assert [translation.source for translation in translations] == TEXTS
    wanted = [target for _, target in toy.pairs(12, 5)]
    assert sum(translation.text == target for translation, target in zip(translations, wanted, strict=True)) >= 10
    assert translator.translate([]) == []


@pytest.mark.spec("F2")
def test_the_samples_of_a_text_are_the_same_whatever_else_is_translated(translator: Translator) -> None:
    """In any place, beside others or alone; a text that is listed twice has the same samples twice."""
    search = Spec("sample", {"temperature": 2.0})

    def drawn(texts: list[str]) -> list[list[str]]:
        translations = translator.translate(texts, n_best=4, search=search)
        return [[alternative.text for alternative in translation.n_best] for translation in translations]

    together = drawn([*TEXTS, TEXTS[0]])
    assert [drawn([text])[0] for text in TEXTS] == together[:-1]
    assert drawn(TEXTS[::-1]) == together[:-1][::-1]
    assert together[-1] == together[0]
    assert any(len(texts) > 1 for texts in together)
    other_samples = translator.translate(TEXTS, search=Spec("sample", {"temperature": 2.0, "seed": 1}))
    assert [translation.text for translation in other_samples] != [texts[0] for texts in together[:-1]]


@pytest.mark.spec("F6")
@pytest.mark.parametrize("options", [{}, {"search": Spec("beam", {"size": 8})}, {"beam_size": 6}], ids=str)
def test_the_translation_of_minimum_risk_is_one_of_those_that_are_searched(
    options: dict[str, Any], translator: Translator
) -> None:
    """Of 100 samples, or of all that a beam has; ranked by their utility, of which `score` tells."""
    risk = MinimumBayesRisk(METRICS["chrf"]())
    spec = options.get("search") or (Spec("beam", {"size": 6}) if options else Spec("sample"))
    count = int(spec.options.get("size", 100))
    translations = translator.translate(TEXTS[:4], n_best=3, risk=risk, **options)
    task = Task(components.build(SEARCHES, spec), count)
    sentences = [translator.processor.sentence(number, (text,)) for number, text in enumerate(TEXTS[:4])]
    for number, hypotheses in translator.generator.generate(task, sentences).items():
        drawn = [translator.processor.draft(sentences[number], alternative) for alternative in hypotheses]
        best = risk.ranked(drawn)[:3]
        assert len(hypotheses) == count
        assert [alternative.text for alternative in translations[number].n_best] == [
            alternative.text for alternative in best
        ]
        assert [alternative.score for alternative in translations[number].n_best] == pytest.approx(
            [alternative.score for alternative in best]
        )
        assert translations[number].log_prob == pytest.approx(best[0].log_prob)
    with pytest.raises(UserError, match="gives 8 translations, fewer than 9"):
        translator.translate(TEXTS[:1], risk=MinimumBayesRisk(METRICS["bleu"](), 9), beam_size=8)


@pytest.mark.parametrize("size", [1, 20, 4096])
def test_other_texts_in_the_batch_change_nothing(
    size: int, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [translator.translate([text])[0] for text in TEXTS]
    monkeypatch.setattr(generator, "BATCH", size)
    for one, other in zip(translator.translate(TEXTS), alone, strict=True):
        assert (one.text, one.words, one.source_words) == (other.text, other.words, other.source_words)
        assert (one.score, one.log_prob) == pytest.approx((other.score, other.log_prob), abs=1e-5)
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "prefix", "text"),
    [
        ("one two", "", "un deux trois"),
        ("one  two", "", "  un  deux   trois"),
        ("one two", "  un ", "  un deux trois"),
    ],
    ids=["none in the source", "some in the source", "some that a user began with"],
)
def test_subwords_write_two_spaces_only_for_a_source_that_has_them(
    source: str, prefix: str, text: str, other_translators: dict[str, Translator]
) -> None:
    codec = other_translators["subwords"].processor
    symbols = codec.target.text.encode("  un  deux   trois")
    ids = tuple(codec.target.vocabulary.ids(symbols))
    begun = ids[: len(codec.target.text.encode(prefix))]
    sentence = codec.sentence(0, (source,))
    vars(sentence)["prefix"] = begun
    attention = np.ones((len(ids) + 1, len(sentence.encoded[0]) + 1), np.float32)
    hypothesis = Hypothesis(ids, 0.0, (0.0,) * (len(ids) + 1), (attention,), (None,) * len(ids))
    draft = codec.draft(sentence, hypothesis)
    assert draft.text == text
    assert draft.words == ["un", "deux", "trois"]
    assert [step.symbol for step in draft.steps] == [*symbols, "</s>"]
    words = codec.target.text.words(symbols).word_of
    assert [step.word for step in draft.steps[:-1]] == words


@pytest.mark.parametrize("text", ["", " ", "   ", "\t", "\x00", "\ufeff", "\u2028", " \x07 \u0085"])
def test_nothing_to_translate_gives_nothing(text: str, translator: Translator) -> None:
    before, empty, after = translator.translate(["one two", text, "two three"], n_best=2)
    assert (before.text, after.text) == ("deux un", "trois deux")
    assert (empty.source, empty.text, empty.words, empty.source_words, empty.log_prob) == (text, "", [], [], 0.0)
    assert empty.attention.shape == (0, 0)
    assert empty.alignment == frozenset()
    assert [alternative.text for alternative in empty.n_best] == [""]
    assert "<svg" in empty._repr_html_()


@pytest.mark.parametrize(
    "text", ["one\x00 two", "one\u2028two", "one\ttwo", "\ufeffone two", "one\x85two", "o\x1bne two\x7f"]
)
def test_control_characters_are_not_translated(text: str, translator: Translator) -> None:
    translation = translator.translate([text])[0]
    assert (translation.source, translation.text, translation.source_words) == (text, "deux un", ["one", "two"])


@pytest.mark.parametrize("text", ["\ud800", "<s> </s> <pad>", "\U0001f600 ‏שלום one", "a" * 300, "one\n\ntwo"])
def test_any_text_gets_a_translation(
    text: str, translator: Translator, other_translators: dict[str, Translator]
) -> None:
    for loaded in (translator, *other_translators.values()):
        (translation,) = loaded.translate([text], search=Spec("greedy", {"length_ratio": 0.01}))
        assert translation.source == text
        assert translation.attention.shape == (len(translation.words), len(translation.source_words))


def test_what_is_left_out_of_an_overlong_text_is_counted(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "LONGEST", 4)
    long, short = translator.translate(["one two three four five six one", "one two three four"])
    assert (long.left_out, short.left_out) == (3, 0)
    assert long.source_words == short.source_words == ["one", "two", "three", "four"]
    assert long.text == short.text
    assert long.attention.shape == (len(long.words), 4)


def test_what_is_left_out_counts_once_for_all_models(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LONGEST", 4)
    together = dragoman.load([run, run])
    text = "one two three four five six one"
    assert together.translate([text])[0].left_out == together.left_out(text) == 3


def test_a_megabyte_of_text_is_read_to_its_limit(translator: Translator) -> None:
    (translation,) = translator.translate(["one " * 250_000], search=Spec("greedy", {"length_ratio": 0.01}))
    assert translation.left_out > 249_000
    assert len(translation.source_words) == inputs.LONGEST


def test_lists_alternatives_the_best_first(translator: Translator) -> None:
    (translation,) = translator.translate(["one two three"], n_best=3)
    assert translation.n_best[0].text == translation.text == "trois deux un"
    assert len({alternative.text for alternative in translation.n_best}) == 3
    scores = [alternative.score for alternative in translation.n_best]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == translation.score
    for alternative in translation.n_best:
        assert alternative.attention.shape == (len(alternative.words), 3)
        assert alternative.score == pytest.approx(alternative.log_prob / (len(alternative.words) + 1))
    assert [alternative.text for alternative in translator.translate(["one two three"])[0].n_best] == [translation.text]


def test_a_list_of_one_text_alone_is_shorter_than_asked_for(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = translator.generator.hypotheses

    def repeated(*rest: Any, **options: Any) -> list[list[Hypothesis]]:
        return [[hypotheses[0], *hypotheses] for hypotheses in real(*rest, **options)]

    wanted = [
        [alternative.text for alternative in translation.n_best]
        for translation in translator.translate(TEXTS[:3], n_best=2)
    ]
    monkeypatch.setattr(translator.generator, "hypotheses", repeated)
    assert [
        [alternative.text for alternative in translation.n_best]
        for translation in translator.translate(TEXTS[:3], n_best=2)
    ] == wanted

    def four_times(*rest: Any, **options: Any) -> list[list[Hypothesis]]:
        return [[hypotheses[0]] * 4 for hypotheses in repeated(*rest, **options)]

    monkeypatch.setattr(translator.generator, "hypotheses", four_times)
    (translation,) = translator.translate(["one two"], n_best=2)
    assert [alternative.text for alternative in translation.n_best] == [translation.text] == ["deux un"]


def test_a_wider_beam_or_another_search_takes_the_place_of_the_runs_own(translator: Translator) -> None:
    assert translator.search.kind == "beam"
    assert len(translator.translate(["one two"], n_best=8, beam_size=8)[0].n_best) == 8
    greedy = translator.translate(TEXTS, search=Spec("greedy"))
    plain = Spec("beam", {"normalization": "none"})
    narrow = translator.translate(TEXTS, beam_size=1, search=plain)
    assert [translation.text for translation in greedy] == [translation.text for translation in narrow]
    assert [translation.score for translation in greedy] == pytest.approx(
        [translation.log_prob for translation in greedy]
    )
    assert [translation.score for translation in narrow] == pytest.approx(
        [translation.log_prob for translation in narrow]
    )


def test_a_search_in_the_place_of_the_runs_own_keeps_its_lengths(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "search", Spec("greedy", {"length_ratio": 0, "length_margin": 2}))
    risk, rerank = MinimumBayesRisk(METRICS["chrf"](), 20), Reranker((), {}, candidates=4)
    calls: list[dict[str, Any]] = [{"beam_size": 4}, {"risk": risk}, {"rerank": rerank}]
    for options in calls:
        (translation,) = translator.translate(["one two three four five"], **options)
        assert len(translation.words) <= 2, options
    (translation,) = translator.translate(["one two three four five"], search=Spec("greedy"))
    assert len(translation.words) == 5


@pytest.mark.parametrize("kind", ["words", *OTHERS])
def test_attention_is_between_words(
    kind: str, translator: Translator, other_translators: dict[str, Translator]
) -> None:
    loaded = {"words": translator, **other_translators}[kind]
    for translation in loaded.translate(["one two three", "six"]):
        assert translation.source_words == translation.source.split()
        assert translation.attention.shape == (len(translation.words), len(translation.source_words))
        assert (translation.attention >= 0).all()
        assert (translation.attention.sum(1) <= 1 + 1e-6).all()
        assert " ".join(translation.words).split() == translation.text.split() or kind != "words"


def test_alignments_are_where_attention_is_strongest(translator: Translator) -> None:
    (translation,) = translator.translate(["one two three four five"])
    assert translation.words == ["cinq", "quatre", "trois", "deux", "un"]
    assert {(1, 3), (2, 2), (3, 1), (4, 0)} <= translation.alignment
    assert translation.attention.argmax(1).tolist() == [
        source for _, source in sorted((t, s) for s, t in translation.alignment)
    ]


def test_without_attention_there_are_no_alignments(other_translators: dict[str, Translator]) -> None:
    (translation,) = other_translators["no attention"].translate(["one two three"])
    assert translation.alignment == frozenset()
    assert not translation.attention.any()
    (scored,) = other_translators["no attention"].score(["one two"], ["un deux"])
    assert scored.alignment == frozenset()
    assert scored.log_prob < 0


def test_a_translation_shows_itself(translator: Translator) -> None:
    translation = translator.translate(["one two"])[0]
    assert str(translation) == translation.text == "deux un"
    page = translation._repr_html_()
    assert "<svg" in page
    assert all(word in page for word in ("one", "two", "deux", "un"))


def test_translations_can_be_compared_and_kept_in_sets(translator: Translator) -> None:
    first, second = translator.translate(["one two", "one two"])
    assert first != second
    assert len({first, second, first}) == 2


@pytest.mark.spec("A13")
def test_scores_are_the_models_log_probabilities_and_forced_attention(translator: Translator) -> None:
    pairs = toy.pairs(5, 8)
    scored_pairs = translator.score([source for source, _ in pairs], [target for _, target in pairs])
    for (source, target), scored in zip(pairs, scored_pairs, strict=True):
        batch = Batch(
            (pad_tokens([translator.source.ids(source)]),),
            pad_tokens([translator.target.ids(target)]),
            np.zeros(1, np.int64),
        )
        with torch.no_grad():
            scores, _, (weights,), _ = translator.model.score(batch)
        assert scored.log_prob == pytest.approx(float(scores.sum()), abs=1e-4)
        assert scored.symbols == len(target.split()) + 1
        assert (scored.source_words, scored.words) == (source.split(), target.split())
        words = sum_by_words(weights[0, :-1, :-1].numpy(), range(len(scored.words)), range(len(scored.source_words)))
        np.testing.assert_allclose(scored.attention, words, atol=1e-5)


@pytest.mark.spec("B13")
def test_words_that_look_at_the_end_have_no_link_where_the_model_was_taught_so(run: Path, tmp_path: Path) -> None:
    text, translator = "one two three", dragoman.load(run)
    (plain,), (scored_plain,) = translator.translate([text]), translator.score([text], ["un deux trois"])
    assert plain.end_attention is scored_plain.end_attention is None
    assert len(plain.alignment) == len(plain.words)
    end = plain.attention.max(1) + np.array([1.0, *(-1.0 for _ in plain.words[1:])])
    taught = replace(plain, sources=(plain.sources[0]._replace(end_attention=end),))
    assert taught.alignment == {(source, target) for source, target in plain.alignment if target}
    taught_run = shutil.copytree(run, tmp_path / "run")
    config = (taught_run / "config.yaml").read_text("utf-8")
    assert "penalties: []" in config
    penalties = "penalties: [{kind: supervised, unlinked: end}]"
    (taught_run / "config.yaml").write_text(config.replace("penalties: []", penalties), "utf-8")
    translator = dragoman.load(taught_run)
    (translation,), (scored,) = translator.translate([text]), translator.score([text], ["un deux trois"])
    assert translation.end_attention is not None
    assert scored.end_attention is not None
    np.testing.assert_allclose(translation.end_attention + translation.attention.sum(1), 1.0, atol=1e-4)
    np.testing.assert_allclose(scored.end_attention + scored.attention.sum(1), 1.0, atol=1e-4)


def test_the_score_of_a_translation_is_that_of_its_search(translator: Translator) -> None:
    for translation in translator.translate(TEXTS[:4]):
        (scored,) = translator.score([translation.source], [translation.text])
        assert scored.log_prob == pytest.approx(translation.log_prob, abs=1e-4)
        np.testing.assert_allclose(scored.attention, translation.attention, atol=1e-4)


def test_scores_keep_the_order_and_do_not_depend_on_the_batch(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, targets = zip(*toy.pairs(9, 6), strict=True)
    whole = translator.score(sources, targets)
    monkeypatch.setattr(codec, "BATCH", 9)
    for one, other in zip(whole, translator.score(sources, targets), strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        assert (one.words, one.source_words) == (other.words, other.source_words)


def test_empty_sides_have_scores_too(translator: Translator) -> None:
    scored_pairs = translator.score(["", "one", ""], ["un", "", ""])
    assert [scored.symbols for scored in scored_pairs] == [2, 1, 1]
    assert [scored.attention.shape for scored in scored_pairs] == [(1, 0), (0, 1), (0, 0)]
    assert all(isinstance(scored, Scored) and scored.log_prob <= 0 for scored in scored_pairs)
    assert translator.score([], []) == []


def test_pairs_come_in_batches_with_their_numbers(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "BATCH", 12)
    sources, targets = zip(*toy.pairs(9, 6), strict=True)
    rows: list[int] = []
    for batch in translator.pairs(sources, targets):
        for row, ids, mask in zip(batch.rows, batch.target.ids, batch.target.mask, strict=True):
            assert ids[mask].tolist() == translator.target.ids(targets[row])
            rows.append(int(row))
    assert sorted(rows) == list(range(9))


@given(st.lists(st.integers(0, 40)), st.integers(0, 100), st.integers(1, 9))
def test_groups_hold_every_sentence_once_within_the_budget(lengths: list[int], budget: int, most: int) -> None:
    groups = list(by_length(range(len(lengths)), lengths, budget, most))
    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[number] for number in group) <= budget
        assert len(group) <= most
    longest = [lengths[number] for group in groups for number in group]
    assert longest == sorted(longest, reverse=True)


@pytest.mark.parametrize(("beam", "most"), [(1, 6), (2, 3), (7, 1)])
def test_no_more_rows_are_searched_at_once_than_allowed(
    translator: Translator, beam: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator, "ROWS", 6)
    sizes: list[int] = []
    real = translator.generator.hypotheses

    def seen(task: Task, batch: Sequence[Sentence], **options: Any) -> list[list[Hypothesis]]:
        sizes.append(len(batch))
        return real(task, batch, **options)

    monkeypatch.setattr(translator.generator, "hypotheses", seen)
    texts = ["one two"] * 7
    assert len(translator.translate(texts, beam_size=beam)) == 7
    assert max(sizes) == most


@pytest.mark.parametrize("kind", ["words", "subwords", "characters"])
@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 3})], ids=["greedy", "beam"])
def test_a_translation_begins_with_its_prefix(
    kind: str, search: Spec, translator: Translator, other_translators: dict[str, Translator]
) -> None:
    """In any batch; where there is none, it is what it is without."""
    loaded = {"words": translator, **other_translators}[kind]
    texts, prefix = ["one two three", "six", "four one"], ["trois deux", "", "cinq un"]
    translations = loaded.translate(texts, search=search, prefix=prefix)
    for text, start, translation in zip(texts, prefix, translations, strict=True):
        assert translation.text.startswith(start)
        (alone,) = loaded.translate([text], search=search, prefix=[start])
        assert alone.text == translation.text
    assert translations[1].text == loaded.translate(["six"], search=search)[0].text


def test_a_prefix_has_its_own_probability(translator: Translator) -> None:
    """What is forced is scored as a reference is."""
    (translation,) = translator.translate(["one two"], prefix=["six six six six"], search=Spec("greedy"))
    (scored,) = translator.score(["one two"], [translation.text])
    assert translation.log_prob == pytest.approx(scored.log_prob, abs=1e-4)


def test_a_prefix_may_end_in_a_space(translator: Translator) -> None:
    """Words have no symbol for it; the next one begins there. One that is unknown is refused as it is without."""
    for prefix in ("six ", "six  ", "un deux\t", " "):
        (translation,) = translator.translate(["one two"], prefix=[prefix], search=Spec("greedy"))
        (bare,) = translator.translate(["one two"], prefix=[prefix.rstrip()], search=Spec("greedy"))
        assert translation.text == bare.text
        assert translation.text.split()[: len(prefix.split())] == prefix.split()
    with pytest.raises(UserError, match="sept"):
        translator.translate(["one two"], prefix=["sept "])


def test_prefixes_that_do_not_fit_are_told(translator: Translator) -> None:
    with pytest.raises(ValueError, match="2 prefixes and 1 texts"):
        translator.translate(["one"], prefix=["un", "deux"])
    with pytest.raises(TypeError, match="expected a list of texts"):
        translator.translate(["one"], prefix="un")
    with pytest.raises(UserError, match="'Zug' of 'un Zug' is no symbol"):
        translator.translate(["one"], prefix=["un Zug"])
    with pytest.raises(UserError, match="501 symbols, more than 500"):
        translator.translate(["one"], prefix=["un" + " un" * 500])


@final
class NotTwice(Constraint):
    """No symbol follows itself."""

    def __init__(self, context: ConstraintContext) -> None:
        self._start = torch.full((context.sentences,), PAD, device=context.device)

    def start(self) -> Tensor:
        return self._start

    def allowed(self, state: Tensor, symbols: Tensor) -> Tensor:
        return state.unsqueeze(1) != symbols

    def advance(self, symbols: Tensor, state: Tensor) -> Tensor:
        return symbols


def test_a_prefix_that_breaks_a_constraint_is_told(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast(dict[str, Any], CONSTRAINTS), "not_twice", NotTwice)
    translator = dragoman.load(run)
    translator.generator.constraints = (Spec("not_twice"),)
    texts = ["one two", "six", "four"]
    first, _, _ = translator.translate(texts, prefix=["deux un deux", "", "un"])
    assert first.text.split()[:3] == ["deux", "un", "deux"]
    with pytest.raises(UserError, match=r"^prefix: 'un deux deux un' is not allowed by the run's constraints$"):
        translator.translate(texts, prefix=["deux un deux un deux", "", "un deux deux un"])


def test_a_translation_has_its_time(translator: Translator) -> None:
    assert translator.translate(["one"], timeout=300.0)[0].text
    with pytest.raises(UserError, match="not translated within 0 seconds"):
        translator.translate(["one"], timeout=0.0)


def test_groups_are_of_the_sentences_asked_for() -> None:
    assert list(by_length([3, 1], [9, 2, 9, 5], 10, 9)) == [[3, 1]]


@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 3})])
def test_integers_translate_nearly_alike(run: Path, search: Spec) -> None:
    texts = [source for source, _ in toy.pairs(12, 5)]
    plain, rounded = (dragoman.load(run, engine=engine).translate(texts, search=search) for engine in ("torch", "int8"))
    assert [pair.text for pair in rounded] == [pair.text for pair in plain]
    differences = [abs(one.score - other.score) for one, other in zip(plain, rounded, strict=True)]
    assert 0 < max(differences) < 0.05
    pairs = texts[:2], [pair.text for pair in plain[:2]]
    scored = [dragoman.load(run, engine=engine).score(*pairs) for engine in ("torch", "int8")]
    assert [pair.log_prob for pair in scored[0]] == [pair.log_prob for pair in scored[1]]


def test_integers_are_refused_where_they_do_not_know_the_output(run: Path, tmp_path: Path, golden: Golden) -> None:
    """Of one run and of one among several; torch loads it."""
    folder = shutil.copytree(run, tmp_path / "copying")
    whole = Run.load(folder)
    config = sections.replaced(whole.config, ("model", "output"), Spec("pointer_generator"))
    (folder / "config.yaml").write_text(config_file.dump(config), encoding="utf-8")
    write_tensors(folder / "model.safetensors", weights(build.build_model(config, whole.sources, whole.target)), {})
    assert isinstance(dragoman.load(folder).model.output, PointerGenerator)
    for folders in (folder, [run, folder]):
        with pytest.raises(dragoman.UserError) as raised:
            dragoman.load(folders, engine="int8")
        golden(str(raised.value))


def test_loads_on_a_chosen_device(run: Path) -> None:
    loaded = dragoman.load(run, device=DeviceConfig(name="cpu", threads=1, precision="bfloat16"))
    assert loaded.device.precision is torch.bfloat16
    assert loaded.translate(["one two"])[0].text == "deux un"


@pytest.mark.slow
def test_a_few_rows_are_done_by_one_thread(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    loaded = dragoman.load(run, device=DeviceConfig(name="cpu", threads=2))
    together = dragoman.load([run, run], device=DeviceConfig(name="cpu", threads=2))
    weights, threads = sum(part.numel() for part in loaded.model.parameters()), list[int]()

    def spied(name: str) -> Any:
        method = getattr(Seq2Seq, name)

        def spy(model: Seq2Seq, *rest: Any) -> Any:
            threads.append(torch.get_num_threads())
            return method(model, *rest)

        return spy

    for name in ("begin", "score", "predict"):
        monkeypatch.setattr(Seq2Seq, name, spied(name))
    works: list[tuple[int, Callable[[], Any]]] = [
        (2 * 3 * weights, lambda: loaded.translate(TEXTS[:2], beam_size=3)),
        (2 * weights, lambda: loaded.score(TEXTS[:2], TEXTS[:2])),
        (2 * weights, lambda: together.translate(TEXTS[:1], search=Spec("greedy"))),
        (weights, lambda: list(loaded.simultaneous(TEXTS[0].split(), wait=1))),
    ]
    for multiplications, work in works:
        for small, count in ((multiplications, 2), (multiplications + 1, 1)):
            monkeypatch.setattr(devices, "SMALL", small)
            work()
            assert set(threads) == {count}
            assert torch.get_num_threads() == 2
            threads.clear()
    torch.set_num_threads(before)


@pytest.mark.spec("B12")
@pytest.mark.parametrize("name", ["subwords", "characters", "no attention"])
def test_words_are_written_while_a_text_arrives(name: str, other_translators: dict[str, Translator]) -> None:
    """With a wait that sees all, they are those of greedy search; what is written early knows no later word."""
    translator, texts = other_translators[name], ["one two three four", "five one six two"]
    for text, whole in zip(texts, translator.translate(texts, search=Spec("greedy")), strict=True):
        spoken = list(translator.simultaneous(text.split(), wait=1000))
        assert [word.text for word in spoken] == whole.text.split()
        assert all(word.read == 4 for word in spoken)
    one, other = (list(translator.simultaneous(["one", "two", *rest], wait=1)) for rest in (["six"], ["five", "four"]))
    early = [word for word in one if word.read <= 2]
    assert other[: len(early)] == early


@pytest.mark.spec("B12")
def test_a_word_is_there_before_the_text_is(translator: Translator) -> None:
    taken: list[str] = []

    def arriving() -> Iterator[str]:
        for word in ["one", "two", "three", "four", "five"]:
            taken.append(word)
            yield word

    first = next(translator.simultaneous(arriving(), wait=2))
    assert first.read == 2
    assert taken == ["one", "two", "three"]


def test_translations_keep_to_the_constraints_of_the_configuration(
    run: Path, translator: Translator, tmp_path: Path
) -> None:
    """Of models that find an unknown word more probable than anything else: one alone, two together, and of a text that
    still arrives.
    """
    folder, greedy = tmp_path / "run", Spec("greedy")
    shutil.copytree(run, folder)
    config = folder / "config.yaml"
    written = config.read_text("utf-8").replace("constraints: []", "constraints: [no_unknown, no_repeat_ngram]")
    config.write_text(written, encoding="utf-8")
    wanted = [translation.text for translation in translator.translate(TEXTS, search=greedy)]
    one, both = dragoman.load(folder), dragoman.load([folder, folder])
    assert isinstance(both.scorer, Ensemble)
    for model in (one.model, *both.scorer.models):
        assert isinstance(model, Seq2Seq)
        with torch.no_grad():
            model.output.get_parameter("bias")[UNK] += 100
    for constrained in (one, both):
        assert [translation.text for translation in constrained.translate(TEXTS, search=greedy)] == wanted
    spoken = one.simultaneous(TEXTS[0].split(), wait=1000)
    assert [word.text for word in spoken] == wanted[0].split()
    one.generator.constraints, one.processor.transforms = (), ()
    assert "<unk>" in one.translate(TEXTS[:1], search=greedy)[0].text


def test_nothing_is_written_before_anything_is_read(translator: Translator, golden: Golden) -> None:
    with pytest.raises(UserError, match=r"^wait is 0:") as raised:
        translator.simultaneous(["one"], wait=0)  # at once, not at the first word
    golden(str(raised.value))


def test_nothing_is_written_of_blank_texts(translator: Translator) -> None:
    assert list(translator.simultaneous([], wait=2)) == []
    assert list(translator.simultaneous(["\u2028"], wait=2)) == []


def test_no_other_engine_translates_what_is_arriving(run: Path) -> None:
    with pytest.raises(dragoman.UserError, match="engine torch without a shortlist"):
        next(dragoman.load(run, engine="int8").simultaneous(["one"], wait=1))


@pytest.mark.spec("B12")
def test_a_model_that_decides_when_to_read_writes_what_greedy_search_writes(
    other_translators: dict[str, Translator],
) -> None:
    text = "one two three four"
    spoken = list(other_translators["shift"].simultaneous(text.split()))
    (whole,) = other_translators["shift"].translate([text], search=Spec("greedy"))
    assert [word.text for word in spoken] == whole.text.split()


def test_a_model_that_does_not_decide_needs_a_wait(translator: Translator) -> None:
    with pytest.raises(dragoman.UserError, match="use --wait K"):
        next(translator.simultaneous(["one"]))


MISUSED = """
import sys
import dragoman
from tests.golden import Golden

run = sys.argv[1]
translator = dragoman.load(run)
calls = [
    lambda: translator.score(["one"], ["un", "deux"]),
    lambda: translator.align(["one"], ["un", "deux"]),
    lambda: list(translator.pairs(["one"], ["un", "deux"])),
    lambda: translator.score("one", "un"),
    lambda: translator.score(["one"], None),
    lambda: translator.score([1], ["un"]),
    lambda: translator.score(["one"], [b"un"]),
    lambda: translator.translate("one"),
    lambda: translator.translate(b"one"),
    lambda: translator.translate(3),
    lambda: translator.translate(["one", 2]),
    lambda: translator.translate(["one"], n_best=0),
    lambda: dragoman.load(None),
    lambda: dragoman.load([run, 3]),
    lambda: dragoman.load([]),
    lambda: dragoman.load(run, engine="tpu"),
]
for call in calls:
    try:
        call()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
"""


def test_a_beam_size_goes_with_a_search_that_has_a_beam(translator: Translator) -> None:
    for search in ("greedy", {"kind": "sample"}):
        with pytest.raises(ValueError, match="beam_size: this search has no beam; pass one of them"):
            translator.translate(["one"], search=search, beam_size=3)
    (wide,) = translator.translate(["one two"], search="beam", beam_size=3, n_best=3)
    assert len(wide.n_best) == 3


@pytest.mark.parametrize("passed", [False, True])
def test_a_beam_size_takes_the_place_of_a_search_of_the_run_that_has_no_beam(
    passed: bool, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "search", Spec("greedy"))
    search = translator.search if passed else None
    (wide,) = translator.translate(["one two"], search=search, beam_size=3, n_best=3)
    assert len(wide.n_best) == 3


@pytest.mark.slow
def test_misuse_is_told_by_pythons_own_exceptions(run: Path, repository: Path) -> None:
    """In a process of its own: here, wrong types do not come as far as the code."""
    process = subprocess.run(
        [sys.executable, "-c", MISUSED, str(run)], cwd=repository, capture_output=True, text=True, check=True
    )
    uneven = "ValueError: 1 sources and 2 targets: expected one target per source"
    folder = "load expects a run folder, or a list of several, found"
    assert process.stdout.splitlines() == [
        *[uneven] * 3,
        "TypeError: expected a list of texts, as in score([source], [target]), found str",
        "TypeError: expected a list of texts, as in score([source], [target]), found NoneType",
        "TypeError: en: expected a text, found int",
        "TypeError: fr: expected a text, found bytes",
        *(
            f"TypeError: expected a list of texts, as in translate([text]), found {name}"
            for name in ("str", "bytes", "int")
        ),
        "TypeError: en: expected a text, found int",
        "ValueError: n_best: expected at least 1, found 0",
        f"TypeError: {folder} NoneType",
        f"TypeError: {folder} int",
        f"ValueError: {folder} none",
        "ValueError: engine 'tpu': expected one of torch, int8, onnx, ctranslate2",
    ]


def test_objects_show_themselves_in_one_short_line(run: Path, translator: Translator) -> None:
    (translation,), (long,) = translator.translate(["one two"]), translator.translate(["\x1b one " * 100], beam_size=1)
    (scored,) = translator.score(["one two"], ["deux un " * 100])
    lines = [*map(repr, (translator, translation, long, scored, *long.sources, Run.load(run)))]
    assert all(len(line) < 200 and line.isprintable() for line in lines)
    assert lines[0] == "Translator('en' to 'fr', search='beam', device='cpu')"
    assert lines[1] == f"Translation('deux un', source='one two', score={translation.score:.4f})"
    assert lines[-1].startswith("Run('")
    assert lines[-1].endswith("run', en to fr)")
    assert repr(scored).startswith("Scored('deux un ")


def test_links_of_given_pairs_are_those_of_their_scores(translator: Translator) -> None:
    sources, targets = zip(*toy.pairs(5, 8), strict=True)
    assert translator.align(sources, targets) == [
        translation.alignment for translation in translator.score(sources, targets)
    ]
    assert translator.align(["one two"], ["deux un"])[0] == {(1, 0), (0, 1)}
