"""Scores as they are printed."""

from dragoman.evaluation.metrics.metric import Score, predicted


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


def test_references_that_are_compared_alike_have_one_signature() -> None:
    score = Score("BLEU", 1.0, "tok:13a")
    assert score.against(["\u00e9t\u00e9"]) == score.against(["e\u0301te\u0301"])


def test_score_is_a_plain_tuple() -> None:
    name, value, signature = Score("BLEU", 12.345, "tok:13a")
    assert (name, value, signature) == ("BLEU", 12.345, "tok:13a")
    assert str(Score("BLEU", 12.345, "tok:13a")) == "BLEU = 12.35 (tok:13a)"
