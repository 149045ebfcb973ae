"""Terms that take the place of words of a translation, by its attention."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.data.language import Language
from dragoman.data.surfaces import ExtendedVocabulary
from dragoman.data.vocabulary import Vocabulary
from dragoman.errors import UserError
from dragoman.search.limits import FORCED
from dragoman.text.glossary import FoundTerm, Glossary, Term, Wholes
from dragoman.text.pipeline import TextPipeline, WordsOf
from dragoman.text.pretokenizer import punctuation
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS
from dragoman.training import session
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.sentence import Sentence
from dragoman.translation.transforms.term_placement import locate_terms, placed, read
from dragoman.translation.transforms.terms import (
    CLINGING,
    OPEN,
    AllowedForms,
    LexicalConstraints,
    Pieces,
    SentenceConstraints,
    Terms,
)
from dragoman.translation.translator import Translator, shortcomings
from tests import toy
from tests.golden import Golden

OF_WORDS = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("word"))
TEXT = "nous vendons l' armoire"


def words_of(text: str) -> WordsOf:
    spans, begin = [], 0
    for word in text.split():
        begin = text.index(word, begin)
        spans.append((begin, begin + len(word)))
        begin += len(word)
    return WordsOf(text.split(), list(range(len(spans))), spans)


def seen(rows: list[list[float]], words: str = "we sell the wardrobe", share: float = 1.0) -> SourceAttention:
    attention = np.array(rows)
    return SourceAttention("en", words, words.split(), attention, np.full(len(rows), share))


SELLS = [[0.8, 0.1, 0.0, 0.1], [0.1, 0.9, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8], [0.0, 0.1, 0.2, 0.7]]


def term(text: str, *forms: str) -> FoundTerm:
    return FoundTerm(text, 0, len(text), forms)


@pytest.mark.parametrize(
    ("terms", "words", "taken", "expected"),
    [
        ([term("sell", "liquidons", "liquidez")], [range(1, 2)], (), {1: "liquidons"}),
        ([term("wardrobe", "étagère")], [range(3, 4)], (), {3: "étagère"}),  # not the article, which attends to it more
        ([term("sell the wardrobe", "étagère")], [range(1, 4)], (), {1: "étagère"}),  # the longest of three words
        ([term("wardrobe", "armoire")], [range(3, 4)], (), {}),  # is there
        ([term("sell", "armoire")], [range(1, 2)], (), {}),  # said elsewhere
        ([term("sell", "moire")], [range(1, 2)], (), {1: "moire"}),  # a part of a word is not
        ([term("sell", "liquidons")], [range(1, 2)], {1}, {}),  # no other word attends to nothing else more
        ([term("we", "je"), term("wardrobe", "lit")], [range(1), range(3, 4)], (), {0: "je", 3: "lit"}),
        ([term("we", "je"), term("the", "ce")], [range(1), range(1)], (), {0: "je"}),  # a word has one
        ([term("wardrobes", "lit")], [range(7, 8)], (), {}),  # was not read
        ([term("wardrobes", "lit")], [range(0)], (), {}),  # is not there
    ],
)
def test_the_word_that_attends_to_a_term_most_is_replaced(
    terms: list[FoundTerm], words: list[range], taken: Any, expected: dict[int, str]
) -> None:
    assert placed(TEXT, words_of(TEXT), seen(SELLS), terms, words, taken) == expected


def test_what_a_model_does_not_know_is_replaced_as_a_whole() -> None:
    """Of a model of words, and of one of characters or subwords with punctuation beside it."""
    for text, expected in (("nous <unk> l' armoire", "liquidons"), ("nous (<unk>!) l' armoire", "(liquidons!)")):
        assert placed(text, words_of(text), seen(SELLS), [term("sell", "liquidons")], [range(1, 2)]) == {1: expected}


@pytest.mark.parametrize(
    ("text", "forms", "expected"),
    [
        ("l'armoire", ["ajouter"], "ajouter "),
        ("L\u2019armoire", ["ajouter"], "Ajouter "),
        ("l'armoire", ["d'"], "d'"),
        ("(l'armoire)", ["ajouter"], "ajouter "),
        ("l'y ranger", ["ajouter"], "ajouter "),
    ],
)
def test_what_takes_the_place_of_an_elided_word_is_parted(text: str, forms: list[str], expected: str) -> None:
    spans = punctuation(text)
    words = WordsOf([text[slice(*span)] for span in spans], [*range(len(spans))], spans)
    place = next(number for number, word in enumerate(words.words) if word[0].lower() == "l")
    rows = [[0.9, 0.0] if number == place else [0.0, 0.9] for number in range(len(words.words))]
    terms, read = [FoundTerm("add", 0, 3, tuple(forms))], [range(1)]
    assert placed(text, words, seen(rows, "add ladder"), terms, read) == {place: expected}


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([[0.05, 0.0]], 0.05),  # looks at another source
        ([[0.4, 0.0]], 1.0),  # looks at the end of the source
        ([[0.4, 0.5]], 1.0),  # looks at another word
        ([[0.0, 0.0]], 0.0),
    ],
)
def test_a_word_that_looks_elsewhere_stays(rows: list[list[float]], share: float) -> None:
    bed = [term("bed", "lit")]
    assert placed("armoire", words_of("armoire"), seen(rows, "bed and", share), bed, [range(1)]) == {}
    assert placed("armoire", words_of("armoire"), seen([[0.6, 0.1]], "bed and"), bed, [range(1)]) == {0: "lit"}


def test_a_text_of_terms_is_looked_through_once_and_no_further_than_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list[str]()

    def counted(text: str) -> Wholes:
        texts.append(text)
        return Wholes(text)

    monkeypatch.setattr("dragoman.translation.transforms.term_placement.Wholes", counted)
    source = Language(
        "en", TextPipeline(lowercase=False, pretokenizer="whitespace", tokenizer=Spec("word")), Vocabulary(()), (1,) * 4
    )
    ranges = read(source, "bed and " * 300, [term("bed", "lit")] * 300)
    assert ranges == [range(place, place + 1) for place in range(0, 500, 2)] + [range(0)] * 50
    assert locate_terms("lit et " * 300, [term("bed", "lit"), term("and", "et")] * 300) == [
        span for place in range(0, 2100, 7) for span in ((place, place + 3), (place + 4, place + 6))
    ]
    assert len(texts) == 3  # as written, as read, and its translation


def test_of_a_term_that_the_source_has_twice_the_other_one_is_replaced() -> None:
    text, source = "le lit et une armoire", "the bed and a bed"
    same, words = [term("bed", "lit")] * 2, [range(1, 2), range(4, 5)]
    assert locate_terms(text, same) == [(3, 6), None]
    rows = np.eye(5).tolist()
    assert placed(text, words_of(text), seen(rows, source), same, words) == {4: "lit"}
    rows[4] = [0.0, 0.0, 0.0, 0.6, 0.4]
    assert placed(text, words_of(text), seen(rows, source), same, words) == {}


@pytest.mark.parametrize(
    ("text", "forms", "expected"),
    [
        ("(Armoire), vide", ["lit"], "(Lit), vide"),  # at the beginning, with a capital as before
        ("une Armoire.", ["lit"], "une lit."),
        ("une Armoire.", ["lit", "Lit"], "une Lit."),  # the form with the same case
        ("une armoire", ["Lit", "lit"], "une lit"),
        ("%d armoires", ["lits"], "%d lits"),
        ("(दराजो!) क", ["DUE"], "(DUE!) क"),  # with its last vowel sign
        (f"une {MARKS[0]}armoire", ["lit"], f"une {MARKS[0]}armoire"),
        ("衣装だんすを売る", ["棚"], "衣装だんすを売る"),
    ],
)
def test_what_is_around_a_word_stays(text: str, forms: list[str], expected: str) -> None:
    """Nor is a word of a script without spaces replaced, as it may be a sentence."""
    words = words_of(text)
    wardrobe = np.argmax([len(word) for word in words.words])
    rows = [[0.0, 1.0] if place == wardrobe else [1.0, 0.0] for place in range(len(words.words))]
    replacements = placed(text, words, seen(rows, "a wardrobe"), [term("wardrobe", *forms)], [range(1, 2)])
    assert " ".join(replacements.get(number, word) for number, word in enumerate(words.words)) == expected


def test_places_of_terms_do_not_overlap() -> None:
    printer, queue = term("printer", "Drucker", "Drucker X"), term("queue", "Drucker Warteschlange")
    assert locate_terms("Drucker X und Drucker", [printer, printer]) == [(0, 9), (14, 21)]
    assert locate_terms("Drucker Warteschlange des Geräts", [printer, queue]) == [None, (0, 21)]
    assert locate_terms("Lit et lit", [term("bed", "lit")] * 3) == [(0, 3), (7, 10), None]
    assert locate_terms("un Lit", [term("bed", "lit")]) == [None]
    assert locate_terms("{lit} et lit", [term("bed", "lit")] * 2, [(0, 5)]) == [(9, 12), None]


@pytest.mark.parametrize(
    ("text", "terms", "pretokenizer", "expected"),
    [
        ("l'imprimante", ["imprimante"], "punctuation", [["imprimante"]]),
        ("the re-print queue", ["print"], "punctuation", [["re-print"]]),
        ("une (imprimante)", ["imprimante"], "whitespace", [["(imprimante)"]]),
        ("GNU/Linux", ["GNU"], "whitespace", [["gnu/linux"]]),
        ("Print the print queue", ["Print", "print queue"], "punctuation", [["print"], ["print", "queue"]]),
        ("  a\u00a0 cafe\u0301", ["cafe\u0301"], "punctuation", [["caf\u00e9"]]),
    ],
)
def test_words_of_terms_are_those_that_overlap(
    text: str, terms: list[str], pretokenizer: str, expected: list[list[str]]
) -> None:
    pipeline = TextPipeline(lowercase=True, pretokenizer=pretokenizer, tokenizer=Spec("word"))
    source = Language("fr", pipeline, Vocabulary(()), (1,) * 4)
    words, found_terms, begin = pipeline.words(pipeline.encode(text)).words, list[FoundTerm](), 0
    for term_text in terms:
        begin = text.index(term_text, begin)
        found_terms.append(FoundTerm(term_text, begin, begin + len(term_text), ("x",)))
    assert [[words[number] for number in numbers] for numbers in read(source, text, found_terms)] == expected


def test_a_term_in_capitals_is_not_a_word_that_a_lower_case_model_reads_alike() -> None:
    source = Language(
        "en", TextPipeline(lowercase=True, pretokenizer="punctuation", tokenizer=Spec("word")), Vocabulary(()), (1,) * 4
    )
    text = "give us a US printer, us"
    assert read(source, text, Glossary([Term("US")]).find(text)) == [range(3, 4)]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return dragoman.load(toy.trained(tmp_path_factory.mktemp("toy")))


@pytest.mark.slow
def test_terms_that_the_model_cannot_write_stay_in_their_places(translator: Translator) -> None:
    """Even if another one is searched for, which the prefix has left no place for."""
    (plain,) = translator.translate(["one two three"])
    assert plain.text == "trois deux un"
    terms = Glossary([Term("one", ("Alpha",)), Term("three", ("quatre",))])
    (translation,) = translator.translate(["one two three"], prefix=["trois"], constraints=LexicalConstraints(terms))
    assert translation.text.startswith("trois deux")
    assert "Alpha" in translation.words
    assert "quatre" in translation.words
    assert [applied.target is None for applied in translation.terms] == [False, False]


@pytest.mark.slow
def test_terms_of_a_lower_case_model_are_in_lower_case(tmp_path: Path) -> None:
    corpus = toy.corpus(tmp_path / "corpus")
    options = {"text.source.lowercase": True, "text.target.lowercase": True, "training.epochs": 1}
    run = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path
    lexical = LexicalConstraints(Glossary([Term("Two", ("CINQ",)), Term("one", ("Xylo",))]))
    (translation,) = dragoman.load(run).translate(["one TWO three"], constraints=lexical)
    assert [(applied.text, applied.forms) for applied in translation.terms] == [("one", ("xylo",)), ("TWO", ("cinq",))]
    assert translation.terms[1].target is not None


def test_what_a_memory_has_is_exact_beside_terms(tmp_path: Path) -> None:
    corpus = toy.corpus(tmp_path / "corpus")
    options = {"data.translation_memory": "nearest", "training.steps": 1, "training.epochs": None}
    model = dragoman.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    source = (corpus / "train.en").read_text("utf-8").splitlines()[0]
    target = (corpus / "train.fr").read_text("utf-8").splitlines()[0]
    lexical = LexicalConstraints(Glossary([Term(source.split()[0], ("ailleurs",))]))
    (translation,) = model.translate([source], exact=True, constraints=lexical)
    assert translation.text == target
    assert translation.terms[0].target is None


@pytest.fixture(scope="module")
def of_languages(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model of several languages with one vocabulary, after a few steps."""
    folder = tmp_path_factory.mktemp("languages")
    data = {"data.pairs": toy.languages(folder), "data.train": [], "data.dev": ""}
    options = {**data, "text.shared_vocabulary": True, "training.steps": 40, "training.epochs": None}
    return dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)


def terms_of(sentence: Sentence) -> SentenceConstraints:
    (transform,) = (transform for transform in sentence.notes if isinstance(transform, Terms))
    return transform.of(sentence)


@pytest.mark.slow
def test_a_term_in_another_language_is_not_searched_for(of_languages: Translator) -> None:
    """Its symbols are those of German, which no translation to French has; another term is searched for."""
    lexical = LexicalConstraints(Glossary([Term("one", ("drei",)), Term("two", ("six un",))]))
    (translation,) = of_languages.translate(["three four"], to="fr")
    for target, wanted in (("fr", 1), ("de", 1)):
        (sentence,) = of_languages.prepare(["one two"], to=target, constraints=lexical)
        searched = terms_of(sentence).searching(translation)
        assert searched
        assert len(searched.required.wanted) == wanted
    texts = [source for source, _ in toy.pairs(12, 4) if "one" in source or "two" in source]
    for search in (Spec("greedy"), Spec("beam", {"size": 3})):
        translations = of_languages.translate(texts, to="fr", search=search, constraints=lexical)
        assert [translation for translation in translations if translation.log_prob < -100] == []


@pytest.mark.slow
def test_a_translation_that_was_cut_off_is_no_better_for_its_terms(translator: Translator) -> None:
    (translation,) = translator.translate(
        ["one two"], constraints=LexicalConstraints(Glossary([Term("one", ("Xylo",))]))
    )
    lexical = LexicalConstraints(Glossary([Term("one", ("Xylo",))]))
    (sentence,) = translator.prepare(["one two"], constraints=lexical)
    lacking = replace(translation, text="deux")
    assert shortcomings(sentence, translation) < shortcomings(sentence, lacking)
    assert shortcomings(sentence, lacking) < shortcomings(sentence, replace(translation, log_prob=10 * FORCED))


def test_symbols_of_a_sentences_own_are_words() -> None:
    """Whatever symbol is the last of the vocabulary."""
    language = Language("fr", OF_WORDS, Vocabulary(["un", "\uffed+"]))
    sayable = AllowedForms(Pieces(language), ExtendedVocabulary(language.vocabulary, [["GNU"]]))
    (in_vocabulary, own) = sayable.numbering.ids(["un", "GNU"])
    assert (sayable.first(in_vocabulary), sayable.first(own)) == (" ", " ")
    assert sayable.class_of(in_vocabulary) == sayable.class_of(own)


@pytest.mark.parametrize(("symbol", "clings"), [("un", True), ("का", True), ("\u2764\ufe0f", False), (".", True)])
def test_what_a_word_would_become_one_with(symbol: str, clings: bool) -> None:
    """A letter or a vowel sign, and a mark of punctuation that is within words; not the sign after a symbol."""
    language = Language("hi", OF_WORDS, Vocabulary([symbol]))
    sayable = AllowedForms(Pieces(language), language.vocabulary)
    assert sayable.class_of(*language.vocabulary.ids([symbol])) == (CLINGING if clings else OPEN)


def test_a_form_with_a_protected_span_is_not_searched_for(translator: Translator) -> None:
    """Spans come from the source alone, so no search could say it."""
    language = Language("fr", OF_WORDS, Vocabulary(["un", "5"]))
    sayable = AllowedForms(Pieces(language), language.vocabulary)
    assert [*sayable.spellings("un 5")]
    assert not [*sayable._replace(protection=Protection.named(["numbers"])).spellings("un 5")]
    assert not [*sayable._replace(forbidden=frozenset(language.vocabulary.ids(["5"]))).spellings("un 5")]
    (translation,) = translator.translate(["three four"])
    for protection, searched in ((None, True), (Protection.named(["pattern=six"]), False)):
        lexical = LexicalConstraints(Glossary([Term("one", ("un six",))]), protection=protection)
        (sentence,) = translator.prepare(["one two"], constraints=lexical)
        assert (terms_of(sentence).searching(translation) is not None) == searched


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ([Term(f"one{number}", (f"un{number}",)) for number in range(51)], " ".join(f"one{n}" for n in range(51))),
        ([Term("one", tuple(f"un{number}" for number in range(501)))], "two one"),
    ],
    ids=["terms", "forms"],
)
def test_a_sentence_with_too_many_terms_is_refused_in_one_line(
    terms: list[Term], text: str, translator: Translator, golden: Golden
) -> None:
    """One with as many as it may have is not; and the whole glossary may be larger."""
    with pytest.raises(UserError, match=r"of the glossary|in the glossary") as raised:
        translator.translate(["two", text], constraints=LexicalConstraints(Glossary(terms)))
    golden(str(raised.value))
    fewer = Glossary([*(term._replace(forms=term.forms[:500]) for term in terms[:50]), *terms[50:]])
    (translation,) = translator.translate(
        [text.rpartition(" ")[0] if len(terms) > 1 else text], constraints=LexicalConstraints(fewer)
    )
    assert len(translation.terms) == min(50, len(terms))
