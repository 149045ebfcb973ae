"""sacreBLEU's metrics: by hand, with signatures, with several references."""

import copy
import math
from collections import Counter
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.metrics.sacre import Bleu, BleuCS224n, Chrf, Hter, Ter

Segments = tuple[list[str], list[list[str]]]

HYPOTHESES = ["the cat sat on the mat today", "a dog runs in the small park", "he reads a book in the garden"]
REFERENCES = [
    "the cat sat on the red mat today",
    "the dog runs in the park",
    "he reads a book in the garden now",
]


def bleu_by_hand(hypotheses: list[str], references: list[list[str]], order: int = 4) -> float:
    """Papineni et al. (2002), equation by equation: clipped counts, summed over the corpus, then divided."""
    matched, total = [0] * order, [0] * order
    hypothesis_length = reference_length = 0
    for number, hypothesis in enumerate(hypotheses):
        words = hypothesis.split()
        references_of = [lines[number].split() for lines in references]
        hypothesis_length += len(words)
        reference_length += min((abs(len(other) - len(words)), len(other)) for other in references_of)[1]
        for n in range(1, order + 1):
            counts = ngrams(words, n)
            limit: Counter[tuple[str, ...]] = Counter()
            for other in references_of:
                limit |= ngrams(other, n)
            matched[n - 1] += sum((counts & limit).values())
            total[n - 1] += sum(counts.values())
    mean = sum(math.log(m / t) for m, t in zip(matched, total, strict=True)) / order
    return 100 * math.exp(mean) * math.exp(min(0, 1 - reference_length / hypothesis_length))


def ngrams(words: list[str], n: int) -> "Counter[tuple[str, ...]]":
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


@pytest.mark.spec("H1")
def test_bleu_is_the_equation_over_the_whole_corpus() -> None:
    score = Bleu(tokenize="none").corpus(HYPOTHESES, [REFERENCES])
    assert score.value == pytest.approx(bleu_by_hand(HYPOTHESES, [REFERENCES]), abs=1e-9)
    sentences = [
        Bleu(tokenize="none").corpus([hypothesis], [[reference]]).value
        for hypothesis, reference in zip(HYPOTHESES, REFERENCES, strict=True)
    ]
    assert abs(score.value - sum(sentences) / 3) > 1  # the mean of sentence scores is something else


@pytest.mark.spec("H1")
@pytest.mark.spec("H3")
@pytest.mark.spec("H4")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_bleu_of_several_references_takes_the_best_count_and_the_nearest_length(order: int) -> None:
    second = ["there sat a cat on the mat", "a dog runs through the small park", "he reads in the garden"]
    score = Bleu(tokenize="none", order=order).corpus(HYPOTHESES, [REFERENCES, second])
    assert score.value == pytest.approx(bleu_by_hand(HYPOTHESES, [REFERENCES, second], order), abs=1e-9)
    assert score.value > Bleu(tokenize="none", order=order).corpus(HYPOTHESES, [REFERENCES]).value
    assert "nrefs:2" in score.signature
    assert f"order:{order}" in score.signature
    assert score.name == f"BLEU-{order}"


@pytest.mark.spec("H1")
def test_counts_are_clipped_by_hypothesis_and_reference() -> None:
    unigrams = Bleu(tokenize="none", order=1, smoothing="none")
    # Every word of "a b" is right once (precision 1, not 2); only its brevity costs: exp(1 - 4/2).
    assert unigrams.corpus(["a b"], [["a a b b"]]).value == pytest.approx(100 * math.exp(-1))
    # And a word repeated too often counts as often as in the reference.
    assert unigrams.corpus(["a a b b"], [["a b"]]).value == pytest.approx(50)
    assert unigrams.corpus(["the the the the"], [["the cat is here"]]).value == pytest.approx(25)


@pytest.mark.spec("H4")
def test_bleu_of_unigrams_is_the_clipped_precision_of_words_times_brevity() -> None:
    # "I" is in the reference once and "am" once: 2 of 3 words, and no brevity penalty for the longer candidate.
    assert Bleu(order=1).corpus(["I am am"], [["I am"]]).value == pytest.approx(100 * 2 / 3)
    assert Bleu(order=1).corpus(["am I"], [["I am"]]).value == pytest.approx(100)  # words alone, not their order
    assert Bleu(order=2, smoothing="none").corpus(["am I"], [["I am"]]).value == 0
    short = Bleu(order=1).corpus(["I"], [["I am here"]])
    assert short.value == pytest.approx(100 * math.exp(1 - 3))
    assert (short.name, short.signature.rpartition("|")[2]) == ("BLEU-1", "order:1")


@pytest.mark.spec("H3")
def test_a_word_counts_as_often_as_the_reference_that_has_it_most_often() -> None:
    unigrams = Bleu(tokenize="none", order=1, smoothing="none")
    references = [["a b c"], ["a a d"]]
    assert unigrams.corpus(["a a b"], references).value == pytest.approx(100)  # b of the first, both a of the second
    assert unigrams.corpus(["a a a"], references).value == pytest.approx(100 * 2 / 3)  # not 3, the sum of both
    # Brevity is that against the nearest length, 3 of 3 and 6.
    assert unigrams.corpus(["a b c"], [["x y z u v w"], ["a b c"]]).value == pytest.approx(100)


@pytest.mark.spec("H1")
def test_a_perfect_translation_has_100_and_a_foreign_one_0() -> None:
    assert Bleu().corpus(REFERENCES, [REFERENCES]).value == 100.0
    assert Bleu().corpus(["x y z w v"], [["a b c d e"]]).value == 0.0
    assert Bleu().corpus([""], [["a b"]]).value == 0.0


@pytest.mark.spec("H1")
def test_signature_and_value_are_printed() -> None:
    score = Bleu().corpus(HYPOTHESES, [REFERENCES])
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert str(score) == f"BLEU = {score.value:.2f} ({score.signature})"


def test_tokenized_lower_cased_scores_of_the_literature() -> None:
    hypothesis, reference = ["The man -- it 's me -- said ."], ["the man -- it 's me -- said ."]
    assert Bleu(tokenize="none", lowercase=True).corpus(hypothesis, [reference]).value == 100.0
    plain = Bleu(tokenize="none").corpus(hypothesis, [reference])
    assert plain.value < 100
    assert "tok:none" in plain.signature
    assert "case:lc" in Bleu(lowercase=True).corpus(hypothesis, [reference]).signature


@pytest.mark.spec("H7")
def test_ter_counts_edits_per_reference_word() -> None:
    assert Ter().corpus(["a b c d"], [["a x c d"]]).value == pytest.approx(25)  # one substitution
    assert Ter().corpus(["c d a b"], [["a b c d"]]).value == pytest.approx(25)  # one shift of a block
    # Corpus level: 1 edit and 0 edits over 2 + 6 words; the mean of sentence rates would be 25.
    assert Ter().corpus(["a x", "a b c d e f"], [["a b", "a b c d e f"]]).value == pytest.approx(12.5)
    assert Ter().corpus(["a b c d e f"], [["a b"]]).value == pytest.approx(200)


def test_ter_respects_case_unless_told_otherwise() -> None:
    strict = Ter().corpus(["the cat"], [["The cat"]])
    assert strict.value == pytest.approx(50)
    assert "case:mixed" in strict.signature
    assert Ter(lowercase=True).corpus(["the cat"], [["The cat"]]).value == 0
    assert Ter().corpus(["the cat."], [["the cat ."]]).value > 0
    assert Ter(normalize=True).corpus(["the cat."], [["the cat ."]]).value == 0
    for metric in (Ter(asian_support=True), Hter(asian_support=True)):
        score = metric.corpus(["他吃苹果"], [["我吃苹果"]])
        assert score.value == pytest.approx(25)
        assert "norm:yes|punct:yes|asian:yes" in score.signature


def test_ter_takes_the_nearest_of_several_references() -> None:
    score = Ter().corpus(["a b c d"], [["x y z w"], ["a b c x"]])
    assert score.value == pytest.approx(25)
    assert "nrefs:2" in score.signature


def test_chrf_by_hand() -> None:
    # "ab" against "abc": unigrams and bigrams have precision 1 and 1, recall 2/3 and 1/2; no longer ones.
    precision, recall = 1.0, (2 / 3 + 1 / 2) / 2
    expected = 100 * 5 * precision * recall / (4 * precision + recall)
    score = Chrf().corpus(["ab"], [["abc"]])
    assert score.value == pytest.approx(expected)
    assert score.name == "chrF2"
    assert "nc:6|nw:0" in score.signature
    assert Chrf(word_order=2).corpus(HYPOTHESES, [REFERENCES]).name == "chrF2++"
    assert Chrf(lowercase=True).corpus(["AB"], [["ab"]]).value == pytest.approx(100)


@pytest.mark.spec("H1")
def test_bleu_of_a_sentence_has_the_order_that_the_translation_has() -> None:
    """Two words have unigrams and bigrams, and no more is asked of them."""
    metric = Bleu(tokenize="none", smoothing="none")
    assert metric.sentence("the cat", ["the cat"]).value == 100.0
    assert metric.corpus(["the cat"], [["the cat"]]).value == 0.0
    assert metric.sentence("the cat", ["the cat sat"]).value == pytest.approx(100 * math.exp(1 - 3 / 2))
    assert metric.sentence("a cat", ["the cat"]).value == 0.0  # no bigram
    assert Bleu(tokenize="none").sentence("a cat", ["the cat"]).value == pytest.approx(100 * math.sqrt(0.5 * 0.5))
    assert "eff:yes" in metric.sentence("the cat", ["the cat"]).signature
    short = Bleu(tokenize="none", order=2).sentence("the cat", ["the cat"])
    assert (short.name, short.value, short.signature[-8:]) == ("BLEU-2", 100.0, "|order:2")


def test_no_warning_is_written_for_text_that_looks_tokenized(caplog: pytest.LogCaptureFixture) -> None:
    Bleu().corpus(["it is so ."] * 200, [["it is so ."] * 200])
    assert not caplog.records


@pytest.mark.spec("H1")
@pytest.mark.spec("H3")
@pytest.mark.parametrize("references", [1, 2])
@pytest.mark.parametrize(
    ("metric", "scorer"),
    [
        (Bleu(), BLEU()),
        (
            Bleu(tokenize="intl", order=2, smoothing="add-k"),
            BLEU(tokenize="intl", max_ngram_order=2, smooth_method="add-k"),
        ),
        (Chrf(), CHRF()),
        (Chrf(word_order=2, lowercase=True), CHRF(word_order=2, lowercase=True)),
        pytest.param(Ter(), TER(case_sensitive=True), marks=pytest.mark.slow),
        pytest.param(Ter(lowercase=True, normalize=True), TER(normalized=True), marks=pytest.mark.slow),
    ],
    ids=["bleu", "bleu-2", "chrf", "chrf++", "ter", "ter-lc"],
)
def test_metrics_equal_sacrebleus(metric: Metric, scorer: Any, references: int, segments: Segments) -> None:
    hypotheses, more_references = segments
    if isinstance(metric, Ter):  # sacreBLEU needs a fiftieth of a second for each segment and reference
        hypotheses, more_references = hypotheses[:30], [reference[:30] for reference in more_references]
    score, wanted = (
        metric.corpus(hypotheses, more_references[:references]),
        scorer.corpus_score(hypotheses, more_references[:references]),
    )
    assert score.value == pytest.approx(wanted.score, abs=1e-9)
    assert score.signature.startswith(str(scorer.get_signature()))
    assert score.name.startswith(wanted.name)
    alone = copy.copy(scorer)
    alone.effective_order = True  # which only BLEU looks at
    for segment in zip(hypotheses[:100], *more_references[:references], strict=False):
        wanted = alone.sentence_score(segment[0], list(segment[1:]))
        assert metric.sentence(segment[0], segment[1:]).value == pytest.approx(wanted.score, abs=1e-9)


@pytest.mark.spec("H1")
def test_the_worked_examples_of_papineni_et_al() -> None:
    """Their examples 1 and 2: 17 of 18 words, 10 of 17 pairs, 2 of 7 words."""
    references = [
        "It is a guide to action that ensures that the military will forever heed Party commands",
        "It is the guiding principle which guarantees the military forces always being under the command of the Party",
        "It is the practical guide for the army always to heed the directions of the party",
    ]
    good = "It is a guide to action which ensures that the military always obeys the commands of the party"
    bad = "It is to insure the troops forever hearing the activity guidebook that party direct"
    unigrams = Bleu(order=1, lowercase=True)
    assert unigrams.sentence(good, references).value == pytest.approx(100 * 17 / 18)
    brevity = math.exp(1 - 16 / 14)
    assert unigrams.sentence(bad, references).value == pytest.approx(100 * brevity * 8 / 14)
    bigrams = Bleu(order=2, lowercase=True)
    assert bigrams.sentence(good, references).value == pytest.approx(100 * math.sqrt(17 / 18 * 10 / 17))
    assert bigrams.sentence(bad, references).value == pytest.approx(100 * brevity * math.sqrt(8 / 14 * 1 / 13))
    second_references = ["The cat is on the mat.", "There is a cat on the mat."]
    assert unigrams.sentence("the the the the the the the.", second_references).value == pytest.approx(
        100 * 3 / 8
    )  # and the dot
    assert Bleu(order=1, lowercase=True, tokenize="none").sentence(
        "the the the the the the the", [line.rstrip(".") for line in second_references]
    ).value == pytest.approx(100 * 2 / 7)


@pytest.mark.spec("H2")
def test_bleu_of_cs224n_is_the_printed_equation() -> None:
    """The words: 5 of 6, 3 of 5, 2 of 4 and 1 of 3 n-grams, in 6 words for 7."""
    metric = BleuCS224n(tokenize="none")
    score = metric.corpus(["the cat sat on a mat"], [["yes the cat sat on the mat"]])
    precisions = (5 / 6) ** 0.5 * (3 / 5) ** 0.25 * (2 / 4) ** 0.125 * (1 / 3) ** 0.0625
    assert score.value == pytest.approx(100 * math.exp(1 - 7 / 6) * precisions)
    assert score.signature == "nrefs:1|case:mixed|tok:none|order:4"
    assert metric.corpus(["a b c d e"], [["a b c d"]]).value == pytest.approx(
        100 * (4 / 5) ** 0.5 * (3 / 4) ** 0.25 * (2 / 3) ** 0.125 * (1 / 2) ** 0.0625
    )  # β is 1 where the translation is longer
    assert metric.corpus(["a b c"], [["a b c"]]).value == 0  # no 4-gram
    assert BleuCS224n(order=3).corpus(["a b c"], [["a b c"]]).value == 100
    assert metric.corpus(["a b c x d"], [["a b c d"]]).value == 0  # no 4-gram that matches
    assert metric.corpus([""], [["a b"]]).value == 0
    assert BleuCS224n(lowercase=True).corpus(["A b c d"], [["a b c d"]]).value == 100


@pytest.mark.spec("H2")
def test_bleu_of_cs224n_is_nltks_with_these_weights(segments: Segments) -> None:
    bleu_score = pytest.importorskip("nltk.translate.bleu_score")
    long = [segment for segment in zip(segments[0], *segments[1], strict=True) if len(segment[0].split()) >= 4]
    hypotheses, *references = (
        list(lines) for lines in zip(*long, strict=True)
    )  # others have nltk's own 0 of 1 4-grams
    words = [[line.split() for line in segment] for segment in zip(*references, strict=True)]
    weights = [1 / 2, 1 / 4, 1 / 8, 1 / 16]
    wanted = bleu_score.corpus_bleu(words, [line.split() for line in hypotheses], weights)
    assert len(hypotheses) > 800
    assert BleuCS224n(tokenize="none").corpus(hypotheses, references).value == pytest.approx(100 * wanted)


@pytest.mark.spec("H7")
@pytest.mark.spec("H8")
def test_ter_and_hter_of_snover_et_al() -> None:
    """Their example: a shift, a substitution and two insertions in 13 words, and after post-editing one shift less."""
    hypothesis = "THIS WEEK THE SAUDIS denied information published in the new york times"
    wanted = "SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times"
    assert Ter().corpus([hypothesis], [[wanted]]).value == pytest.approx(100 * 4 / 13)
    edited = "THE SAUDIS denied THIS WEEK information published in the new york times"
    score = Hter().corpus([hypothesis], [[edited]])
    assert score.value == pytest.approx(100 * 1 / 12)
    assert (score.name, score.signature) == ("HTER", Ter().corpus([hypothesis], [[edited]]).signature)
    assert Hter(lowercase=True).corpus(["A"], [["a"]]).value == 0
