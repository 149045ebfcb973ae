"""The metrics of a corpus: by hand, with signatures, with several references."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configuration.components import Spec, build, problems
from dragoman.configuration.config import UNTRANSLATED
from dragoman.errors import UserError
from dragoman.evaluation.metrics import (
    METRICS,
    Bleu,
    Chrf,
    ExactMatch,
    Score,
    Ter,
    TokenErrorRate,
    edit_distance,
    higher_is_better,
    predicted,
)
from tests.golden import Golden

SYMBOLS = st.lists(st.sampled_from("abc"), max_size=6)
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
        others = [lines[number].split() for lines in references]
        hypothesis_length += len(words)
        reference_length += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(1, order + 1):
            found = ngrams(words, n)
            limit: Counter[tuple[str, ...]] = Counter()
            for other in others:
                limit |= ngrams(other, n)
            matched[n - 1] += sum((found & limit).values())
            total[n - 1] += sum(found.values())
    mean = sum(math.log(m / t) for m, t in zip(matched, total, strict=True)) / order
    return 100 * math.exp(mean) * math.exp(min(0, 1 - reference_length / hypothesis_length))


def ngrams(words: list[str], n: int) -> "Counter[tuple[str, ...]]":
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


@pytest.mark.spec("H1")
def test_bleu_is_the_equation_over_the_whole_corpus() -> None:
    score = Bleu(tokenise="none").corpus(HYPOTHESES, [REFERENCES])
    assert score.value == pytest.approx(bleu_by_hand(HYPOTHESES, [REFERENCES]), abs=1e-9)
    sentences = [
        Bleu(tokenise="none").corpus([hypothesis], [[reference]]).value
        for hypothesis, reference in zip(HYPOTHESES, REFERENCES, strict=True)
    ]
    assert abs(score.value - sum(sentences) / 3) > 1  # the mean of sentence scores is something else


@pytest.mark.spec("H1")
@pytest.mark.spec("H3")
@pytest.mark.spec("H4")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_bleu_of_several_references_takes_the_best_count_and_the_nearest_length(order: int) -> None:
    second = ["there sat a cat on the mat", "a dog runs through the small park", "he reads in the garden"]
    score = Bleu(tokenise="none", order=order).corpus(HYPOTHESES, [REFERENCES, second])
    assert score.value == pytest.approx(bleu_by_hand(HYPOTHESES, [REFERENCES, second], order), abs=1e-9)
    assert score.value > Bleu(tokenise="none", order=order).corpus(HYPOTHESES, [REFERENCES]).value
    assert "nrefs:2" in score.signature
    assert f"order:{order}" in score.signature
    assert score.name == f"BLEU-{order}"


@pytest.mark.spec("H1")
def test_counts_are_clipped_by_hypothesis_and_reference() -> None:
    unigrams = Bleu(tokenise="none", order=1, smoothing="none")
    # Every word of "a b" is right once (precision 1, not 2); only its brevity costs: exp(1 - 4/2).
    assert unigrams.corpus(["a b"], [["a a b b"]]).value == pytest.approx(100 * math.exp(-1))
    # And a word that is said too often counts as often as the reference says it.
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
    unigrams = Bleu(tokenise="none", order=1, smoothing="none")
    references = [["a b c"], ["a a d"]]
    assert unigrams.corpus(["a a b"], references).value == pytest.approx(100)  # b of the first, both a of the second
    assert unigrams.corpus(["a a a"], references).value == pytest.approx(100 * 2 / 3)  # not 3, the sum of both
    # Brevity is that against the nearest length, 3 of 3 and 6.
    assert unigrams.corpus(["a b c"], [["x y z u v w"], ["a b c"]]).value == pytest.approx(100)


@pytest.mark.spec("H3")
@pytest.mark.parametrize("kind", sorted(METRICS))
def test_another_reference_can_only_help_a_translation_that_is_like_it(kind: str) -> None:
    metric = METRICS[kind]()
    alone, both = (metric.corpus(HYPOTHESES, found).value for found in ([REFERENCES], [REFERENCES, HYPOTHESES]))
    assert (both > alone) == METRICS[kind].higher_is_better
    assert both == pytest.approx(100.0 if METRICS[kind].higher_is_better else 0.0)


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


def test_tokenised_lower_cased_scores_of_the_literature() -> None:
    hypothesis, reference = ["The man -- it 's me -- said ."], ["the man -- it 's me -- said ."]
    assert Bleu(tokenise="none", lowercase=True).corpus(hypothesis, [reference]).value == 100.0
    plain = Bleu(tokenise="none").corpus(hypothesis, [reference])
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
    assert Ter(normalise=True).corpus(["the cat."], [["the cat ."]]).value == 0


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


@pytest.mark.spec("E4")
def test_exact_match_is_of_whole_lines() -> None:
    references = ["b a ː n", "t i ʃ", "h u n t", "m aʊ s"]
    score = ExactMatch().corpus(["b a ː n", "t ɪ ʃ", "h u n", "m aʊ s"], [references])
    assert score == Score("Exact match", 50.0, "nrefs:1|case:mixed")
    assert 100 - score.value == 50  # SIGMORPHON's word error rate: 2 of 4 words are not exactly right
    assert ExactMatch().corpus(["a ", "b  c", "d"], [["a", "b c", "d"]]).value == pytest.approx(100 / 3)


@pytest.mark.spec("E4")
def test_exact_match_takes_any_reference_and_case_if_wanted() -> None:
    hypotheses, references = ["x", "B", "c"], [["a", "b", "c"], ["x", "d", "e"]]
    assert ExactMatch().corpus(hypotheses, references).value == pytest.approx(200 / 3)
    ignoring = ExactMatch(lowercase=True).corpus(hypotheses, references)
    assert ignoring == Score("Exact match", 100.0, "nrefs:2|case:lc")


@pytest.mark.spec("E4")
def test_token_error_rate_by_hand() -> None:
    # A substitution in 3 phones, a deletion in 4, nothing in 2, two insertions in 1: 4 edits of 10 tokens.
    hypotheses, references = ["t ɪ ʃ", "h u n", "a b", "x a y"], ["t i ʃ", "h u n t", "a b", "a"]
    score = TokenErrorRate().corpus(hypotheses, [references])
    assert score.value == pytest.approx(40.0)
    assert score == Score("Token error rate", score.value, "nrefs:1|case:mixed|unit:token")
    assert TokenErrorRate().corpus(["a b c d"], [["a"]]).value == 300
    characters = TokenErrorRate(unit="character").corpus(["Tür zu"], [["tür  zu"]])  # one changed, one missing of 7
    assert characters.value == pytest.approx(200 / 7)
    assert characters == Score("Token error rate", characters.value, "nrefs:1|case:mixed|unit:character")
    assert TokenErrorRate(lowercase=True).corpus(["A b"], [["a b"]]).value == 0


@pytest.mark.spec("E4")
def test_token_error_rate_takes_the_nearest_reference_and_its_length() -> None:
    score = TokenErrorRate().corpus(["a b c", "x"], [["a b", "y"], ["a b c d e", "z w"]])
    assert score.value == pytest.approx(100 * (1 + 1) / (2 + 1))
    assert TokenErrorRate().corpus(["a", ""], [["", ""]]).value == 100  # one edit of no token


@pytest.mark.spec("E4")
def test_of_equally_near_references_the_shortest_counts() -> None:
    """One token is missing from a reference of two, or from one of four."""
    for references in ([["a b"], ["a b c d"]], [["a b c d"], ["a b"]]):
        assert TokenErrorRate().corpus(["a b c"], references).value == pytest.approx(100 / 2)


@given(SYMBOLS, SYMBOLS)
def test_edit_distance_is_the_recurrence(left: list[str], right: list[str]) -> None:
    def recurrence(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(
            recurrence(i - 1, j) + 1,
            recurrence(i, j - 1) + 1,
            recurrence(i - 1, j - 1) + (left[i - 1] != right[j - 1]),
        )

    assert edit_distance(left, right) == recurrence(len(left), len(right))


@pytest.mark.parametrize("kind", sorted(METRICS))
def test_every_metric_prefers_the_better_corpus(kind: str) -> None:
    metric = METRICS[kind]()
    better = metric.corpus([REFERENCES[0], *HYPOTHESES[1:]], [REFERENCES]).value
    worse = metric.corpus(["mat cat", "x", "garden reads"], [REFERENCES]).value
    assert (better > worse) == METRICS[kind].higher_is_better
    again = metric.corpus(HYPOTHESES, [REFERENCES, REFERENCES])  # the object may be used again
    assert "nrefs:2" in again.signature


@pytest.mark.parametrize("kind", sorted(METRICS))
def test_every_metric_prefers_the_better_sentence(kind: str) -> None:
    metric = METRICS[kind]()
    better, worse = (metric.sentence(text, REFERENCES[:1]).value for text in (REFERENCES[0], "mat cat"))
    assert (better > worse) == metric.higher_is_better
    assert better == pytest.approx(100.0 if metric.higher_is_better else 0.0)
    found = metric.sentence(HYPOTHESES[0], [REFERENCES[0], HYPOTHESES[0]])
    assert found.value == pytest.approx(better)
    assert "nrefs:2" in found.signature


@pytest.mark.parametrize("kind", sorted(set(METRICS) - {"bleu"}))
def test_a_sentence_is_a_corpus_of_one(kind: str) -> None:
    metric = METRICS[kind]()
    for text in (*HYPOTHESES, "", "mat"):
        assert metric.sentence(text, REFERENCES) == metric.corpus([text], [[each] for each in REFERENCES])


@pytest.mark.spec("H1")
def test_bleu_of_a_sentence_has_the_order_that_the_translation_has() -> None:
    """Two words have unigrams and bigrams, and no more is asked of them."""
    metric = Bleu(tokenise="none", smoothing="none")
    assert metric.sentence("the cat", ["the cat"]).value == 100.0
    assert metric.corpus(["the cat"], [["the cat"]]).value == 0.0
    assert metric.sentence("the cat", ["the cat sat"]).value == pytest.approx(100 * math.exp(1 - 3 / 2))
    assert metric.sentence("a cat", ["the cat"]).value == 0.0  # no bigram
    assert Bleu(tokenise="none").sentence("a cat", ["the cat"]).value == pytest.approx(100 * math.sqrt(0.5 * 0.5))
    assert "eff:yes" in metric.sentence("the cat", ["the cat"]).signature
    short = Bleu(tokenise="none", order=2).sentence("the cat", ["the cat"])
    assert (short.name, short.value, short.signature[-8:]) == ("BLEU-2", 100.0, "|order:2")


def test_a_sentence_needs_a_reference(golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        Bleu().sentence("a", [])
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("name", "more"),
    [("bleu", True), ("chrf", True), ("ter", False), ("exact_match", True), ("token_error_rate", False)]
    + [("loss", False), ("perplexity", False), ("accuracy", True)],
)
def test_of_what_is_measured_more_or_less_is_better(name: str, more: bool) -> None:
    assert higher_is_better(name) == more


def test_what_is_measured_without_translating_has_a_name_of_its_own() -> None:
    assert not set(METRICS) & set(UNTRANSLATED)


@pytest.mark.parametrize("kind", sorted(METRICS))
def test_corpora_that_cannot_be_scored(kind: str, golden: Golden) -> None:
    metric = METRICS[kind]()
    with pytest.raises(UserError) as raised:
        metric.corpus([], [[]])
    golden(str(raised.value), "no translations")
    with pytest.raises(UserError) as raised:
        metric.corpus(["a"], [])
    golden(str(raised.value), "no references")
    with pytest.raises(UserError) as raised:
        metric.corpus(["a", "b"], [["a", "b"], ["a"]])
    golden(str(raised.value), "unequal")


def test_options_come_from_a_configuration() -> None:
    metric = build(METRICS, Spec("bleu", {"tokenise": "none", "lowercase": True}))
    assert metric.corpus(["A b c d"], [["a b c d"]]).value == 100
    assert "13a" in str(problems(METRICS, Spec("bleu", {"tokenise": "13b"}), ())[0])
    assert problems(METRICS, Spec("bleu", {"order": 0}), ())


def test_no_warning_is_written_for_text_that_looks_tokenised(caplog: pytest.LogCaptureFixture) -> None:
    Bleu().corpus(["it is so ."] * 200, [["it is so ."] * 200])
    assert not caplog.records


def test_a_signature_tells_other_references_and_other_symbols_apart() -> None:
    score = Score("BLEU", 1.0, "tok:13a")
    signature = score.against(["un", "deux"]).signature
    assert signature.startswith("tok:13a|sentences:2|references:")
    assert score.against(["un", "deux"]).signature == signature
    assert score.against(["un", "trois"]).signature != signature
    perplexity, accuracy = predicted(1.5, 90.0, "bpe", ["a", "b"])
    assert str(perplexity).startswith("Perplexity = 1.50 (unit:bpe|symbols:2|inventory:")
    assert (accuracy.name, accuracy.value, accuracy.signature) == ("Accuracy", 90.0, perplexity.signature)
    assert predicted(1.5, 90.0, "bpe", ["a", "c"])[0].signature != perplexity.signature


def test_score_is_a_plain_tuple() -> None:
    name, value, signature = Score("BLEU", 12.345, "tok:13a")
    assert (name, value, signature) == ("BLEU", 12.345, "tok:13a")
    assert str(Score("BLEU", 12.345, "tok:13a")) == "BLEU = 12.35 (tok:13a)"
