"""Protected spans come through a translation verbatim, each exactly once, whatever the model has learned."""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dragoman
from dragoman.cli import app
from dragoman.configuration.components import Spec
from dragoman.data.vocabulary import UNK
from dragoman.errors import UserError
from dragoman.model.predictor import Prediction, Predictor
from dragoman.model.shapes import Int
from dragoman.text import protection
from dragoman.text.glossary import Glossary, Term
from dragoman.text.protection import ProtectedSpan, Protection
from dragoman.text.tokenizer import MARKS
from dragoman.training import session
from dragoman.translation.transforms.placeholders import PlaceholderText
from dragoman.translation.transforms.terms import LexicalConstraints
from dragoman.translation.translator import Translator
from tests import toy

KINDS = ["placeholders", "tags", "urls", "emails", "numbers", {"kind": "pattern", "regex": r"@@\w+@@"}]
LEARNED = [*KINDS, "whitespace"]  # which is one with other white space beside it
INVENTORY = [
    *"%d %s %1$s %2$s %(count)s %-5.2f %% %1 {name} {} {0:.2f} {{x}} ${x} $x #{y} [X12X] <b> </b> <br/> &amp;".split(),
    *('<a href="%s">', "<a href='{url}'>", "{{ x }}", '{"%d"}', "https://example.org/a?b={c}", "www.example.org/(x)"),
    *"a.b@example.org 5 -5 1,000.5 10:30 2024-01-31 0x1F @@x@@ \U0010ff00 \U0010ff0f".split(),
]
SEARCHES = [Spec("greedy"), Spec("beam", {"size": 3})]
BREAKS = ["\n", " \t", "\n\n  "]  # white space, which no line of a corpus has
WORDS = [*toy.WORDS, "One", "FIVE", "(", ")", '"', ".", ",", "…", "☃", "é", "-", ":", "="]
TEXTS = ["three %d", "one two", "six five four"]
TOKENIZERS: dict[str, dict[str, Any]] = {
    "word": {"kind": "word"},
    "character": {"kind": "character"},
    "bpe": {"kind": "bpe", "vocab_size": 310, "dropout": 0.2},
    "unigram": {"kind": "unigram", "vocab_size": 300},
}
WAYS = [(unit, search) for unit in TOKENIZERS for search in SEARCHES]
FOUND = Protection.of(list(map(Spec.parse, KINDS)))
DRAWN = [kind() for name, kind in protection.KINDS.items() if name not in ("pattern", "whitespace")]
NESTING = ["<a b='{}'>", "{{{}}}", "<!--{}-->", "$t({})", "https://{}/"]
KNOWN = st.sampled_from([*INVENTORY, *BREAKS])
ANY = st.one_of(KNOWN, *(st.from_regex(pattern, fullmatch=True) for pattern in DRAWN))


def lines(spans: st.SearchStrategy[str], count: int) -> list[str]:
    """Lines that hypothesis draws, of words and spans, which may be nested, repeated and adjacent."""
    nested = st.builds(str.format, st.sampled_from(NESTING), spans)
    part = st.one_of(spans, nested, st.sampled_from(WORDS))
    spaced = st.tuples(part, st.sampled_from(["", " ", "  "])).map("".join)
    texts = list[str]()

    @settings(max_examples=count, phases=[Phase.generate])
    @given(st.lists(spaced, min_size=1, max_size=6))
    def draw(parts: list[str]) -> None:
        texts.append("".join(parts))

    draw()
    return texts


def sentence(draw: random.Random, spans: list[str]) -> str:
    """Words and spans, with one space between them, several or none; spans are repeated and adjacent."""
    parts = [draw.choice(spans if draw.random() < 0.4 else WORDS) for _ in range(draw.randint(1, 9))]
    return "".join(part + draw.choice(["", " ", " ", " ", "  "]) for part in parts).strip() or "one"


def spans_of(text: str) -> Counter[str]:
    assert FOUND
    return Counter(text[begin:end] for begin, end in FOUND.find(text))


def corpus(folder: Path) -> Path:
    """Toy pairs with spans that both sides have, and some that one has alone."""
    toy.corpus(folder)
    draw = random.Random(3)
    for name, count in (("train", 80), ("dev", 8)):
        lines = []
        for source, target in toy.pairs(count, len(name), 4):
            span, other = draw.sample(INVENTORY, 2)
            more = f" {other}" if draw.random() < 0.2 else ""
            lines.append((f"{source} {span}{more}", f"({span}) {target}" + f" {draw.choice(INVENTORY)}" * (not more)))
        toy.write(folder, name, lines)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs with each kind of symbols, trained for three steps; that of words writes in lower case."""
    folder = tmp_path_factory.mktemp("spans")
    return {name: trained(corpus(folder), name, {"text.protect": LEARNED}) for name in TOKENIZERS}


@pytest.fixture(scope="module")
def runs(folders: dict[str, Path]) -> dict[str, Translator]:
    return {name: dragoman.load(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    """The same without marks."""
    folder = tmp_path_factory.mktemp("free")
    return {name: dragoman.load(trained(corpus(folder), name, {})) for name in TOKENIZERS}


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return dragoman.load(toy.trained(tmp_path_factory.getbasetemp()))


def trained(folder: Path, name: str, options: dict[str, Any]) -> Path:
    units = {
        "text.source.tokenizer": TOKENIZERS[name],
        "text.target.tokenizer": TOKENIZERS[name],
        "text.target.lowercase": name == "word",
    }
    changes = {"training.epochs": None, "training.steps": 3, **options, **units}
    return session.train(toy.config(folder, folder / name, changes), quiet=True).path


@pytest.fixture(scope="module")
def few() -> list[str]:
    return lines(ANY, 24)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "search"), WAYS, ids=str)
def test_each_span_stands_in_the_translation_once_and_no_other(
    runs: dict[str, Translator], few: list[str], unit: str, search: Spec
) -> None:
    for text, translation in zip(few, runs[unit].translate(few, search=search), strict=True):
        assert spans_of(translation.text) == spans_of(text), (text, translation.text)
        assert [translation.text[slice(*span.target or ())] for span in translation.spans] == [
            span.text for span in translation.spans
        ]
        assert Counter(span.text for span in translation.spans if not span.text.isspace()) == spans_of(text)
        assert [text[slice(*span.place)] for span in translation.spans] == [span.text for span in translation.spans]


def test_spaces_beside_protected_white_space_are_left_out() -> None:
    """Also where other symbols have the spaces; a span beside it, and what is after that, stay."""
    line, name = ProtectedSpan(MARKS[0], "\n", 3, 4), ProtectedSpan(MARKS[1], "{x}", 8, 11)
    marked = PlaceholderText(("",), spans=(line, name))
    texts, places = marked.restored(["one", " ", f" {MARKS[0]}", " ", f" {MARKS[1]} ", " two"])
    assert texts == ["one", "", "\n", "", "{x} ", " two"]
    assert places == [(line, (3, 4)), (name, (4, 7))]


@pytest.fixture(scope="module")
def many() -> list[str]:
    """Lines of words and spans, which may be nested, repeated and adjacent."""
    draw = random.Random(7)

    def part() -> str:
        text = draw.choice([*INVENTORY, *BREAKS, *WORDS])
        return draw.choice(NESTING).format(text) if draw.random() < 0.3 else text

    return ["".join(part() + draw.choice(["", " ", "  "]) for _ in range(draw.randint(1, 6))) for _ in range(2500)]


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "search"), WAYS, ids=str)
def test_of_2500_translations_all_have_each_span_once(
    runs: dict[str, Translator], many: list[str], unit: str, search: Spec
) -> None:
    """500 by greedy search and 125 by beam search, which takes far longer, in each unit."""
    mine = many[list(TOKENIZERS).index(unit) :: len(TOKENIZERS)]
    texts = mine[:500] if search.kind == "greedy" else mine[500:]
    translations = runs[unit].translate(texts, search=search)
    assert [
        text
        for text, translation in zip(texts, translations, strict=True)
        if spans_of(text) != spans_of(translation.text)
    ] == []


class Random(Predictor[Any]):
    """A predictor whose log-probabilities are random; a third of its symbols are unknown."""

    def __init__(self, model: Predictor[Any]) -> None:
        self.start_id = model.start_id
        self.model = model
        self.generator = torch.Generator().manual_seed(1)

    def begin(self, sources: Any) -> Any:
        return self.model.begin(sources)

    def predict(self, symbols: Int[torch.Tensor, "R"], state: Any) -> Prediction[Any]:
        step = self.model.predict(symbols, state)
        step.log_probs.normal_(generator=self.generator)
        step.log_probs[:, (step.symbols == UNK).nonzero()[0, 0]] += 2.5
        return step

    def reorder(self, state: Any, rows: Any, sentences: Any = None) -> Any:
        return self.model.reorder(state, rows, sentences)


@pytest.mark.slow
@pytest.mark.parametrize("sources", [["en"], ["en", "mt"]], ids=["a source", "two sources"])
@pytest.mark.parametrize("unit", [{"kind": "word", "vocab_size": 8}, {"kind": "character"}], ids=["word", "character"])
@pytest.mark.parametrize("pretokenizer", ["whitespace", "punctuation"])
def test_unknown_words_are_replaced_without_loss_of_a_span_and_bring_in_none(
    pretokenizer: str, unit: dict[str, Any], sources: list[str], tmp_path: Path
) -> None:
    """Where a mark is part of the unknown word, in which replaced words touch it, and of another source that has spans
    of its own.
    """
    folder = corpus(tmp_path)
    for part in ("train", "dev"):
        (folder / f"{part}.mt").write_text((folder / f"{part}.fr").read_text("utf-8"), "utf-8")
    options = {
        "training.epochs": None,
        "training.steps": 2,
        "data.source": sources if len(sources) > 1 else "en",
        "text.protect": KINDS,
        "text.source.pretokenizer": pretokenizer,
        "text.target": {"pretokenizer": pretokenizer, "tokenizer": unit},
    }
    model = dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)
    model.generator.predictor = Random(model.scorer)
    draw = random.Random(5)
    texts, more = ([sentence(draw, INVENTORY) for _ in range(200)] for _ in range(2))
    read = texts if len(sources) == 1 else list(zip(texts, more, strict=True))
    translations = model.translate(read, search=Spec("greedy"))
    assert sum(len(translation.replaced) for translation in translations) > 200
    for text, translation in zip(texts, translations, strict=True):
        assert Counter(span.text for span in translation.spans) == spans_of(text), (text, translation.text)
        assert not spans_of(translation.text) - spans_of(text), (
            text,
            translation.text,
        )  # `%sthree` is none after a number
        assert [translation.text[slice(*span.target or ())] for span in translation.spans] == [
            span.text for span in translation.spans
        ]


@pytest.mark.slow
def test_a_text_of_spans_alone_has_no_words_that_could_be_copied(runs: dict[str, Translator]) -> None:
    for translator in runs.values():
        (translation,) = translator.translate(["{a}{b}"])
        assert translation.replaced == ()
        assert Counter(span.text for span in translation.spans) == Counter(["{a}", "{b}"])


@pytest.mark.slow
def test_a_model_that_spells_words_spells_no_spans(tmp_path: Path) -> None:
    """Of two spellings it takes the one that is no span; numbers are all it has learned to spell."""
    folder = toy.corpus(tmp_path)
    draw = random.Random(5)
    for name, count in (("train", 80), ("dev", 8)):
        pairs = [(source, f"{target} {draw.randrange(100, 999)}") for source, target in toy.pairs(count, 3)]
        toy.write(folder, name, pairs)
    options = {
        "text.protect": KINDS,
        "text.target.tokenizer": {"kind": "word", "vocab_size": 9},
        "model.output": {"kind": "hybrid", "size": 8, "characters": 4, "beam": 8},
    }
    translator = dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)
    for search in (Spec("greedy"), Spec("beam", {"size": 3})):
        for text, translation in zip(TEXTS, translator.translate(TEXTS, search=search), strict=True):
            assert spans_of(translation.text) == spans_of(text), translation.text


@pytest.mark.slow
def test_what_is_between_spans_and_around_them_is_written_as_the_model_says(runs: dict[str, Translator]) -> None:
    """No space is invented or lost, by whatever symbols a text is spelled."""
    text = 'one (%d) two{name}three "%s" <b>four</b>.%%%d  {x}{x} , 5'
    for translator in runs.values():
        (scored,) = translator.score([text], [text])
        lower = translator.target.text.normalize.lowercase
        assert scored.text == (text.lower().replace("{name}", "{name}") if lower else text)
        assert "".join(scored.words).replace(" ", "") == scored.text.replace(" ", "").replace("\ufffd", "")
        assert [step.symbol for step in scored.steps if "span" in step.symbol][:3] == ["<span1>", "<span2>", "<span3>"]


def test_letter_case_is_changed_around_spans_alone(runs: dict[str, Translator]) -> None:
    (translation,) = runs["word"].translate(["ONE %D {NAME} <A HREF='X'>"])
    assert all(span in translation.text for span in ("%D", "{NAME}", "<A HREF='X'>"))


@pytest.mark.slow
def test_every_one_of_the_n_best_has_the_spans(runs: dict[str, Translator]) -> None:
    text = "one %d of {name} <b>two</b>"
    for translator in runs.values():
        (translation,) = translator.translate([text], n_best=3, beam_size=6)
        assert len({alternative.text for alternative in translation.n_best}) == len(translation.n_best) > 1
        assert all(spans_of(alternative.text) == spans_of(text) for alternative in translation.n_best)


@pytest.mark.slow
def test_a_forced_beginning_may_have_spans_of_the_source_and_no_others(runs: dict[str, Translator]) -> None:
    for translator in runs.values():
        (translation,) = translator.translate(["one %d of {name}"], prefix=["{name}"])
        assert translation.text.startswith("{name}")
        assert spans_of(translation.text) == Counter(["%d", "{name}"])
        for prefix in ("%s", "{name} {name}"):
            with pytest.raises(UserError, match="prefix"):
                translator.translate(["one %d of {name}"], prefix=[prefix])


def test_models_together_keep_spans_as_one_does(runs: dict[str, Translator], folders: dict[str, Path]) -> None:
    both = dragoman.load([folders["word"], folders["word"]])
    text = "one %d of {name}"
    assert both.translate([text])[0].text == runs["word"].translate([text])[0].text


def test_spans_are_whole_so_no_text_is_translated_while_it_arrives(runs: dict[str, Translator]) -> None:
    with pytest.raises(UserError, match=r"text\.protect"):
        list(runs["bpe"].simultaneous(["one", "%d"], wait=1))


def test_a_translation_in_json_tells_where_the_spans_are(runs: dict[str, Translator]) -> None:
    (translation,) = runs["bpe"].translate(["one %d"])
    read = dragoman.Result.from_line(dragoman.Result(translation).line()).translation
    assert read.spans == translation.spans
    assert [(span.text, span.source, span.place) for span in read.spans] == [("%d", "en", (4, 6))]


@pytest.mark.slow
def test_without_marks_spans_come_through_and_no_model_reads_them(free: dict[str, Translator]) -> None:
    """Nested, repeated and adjacent ones too, by every search, and told where they stand; no model says others."""
    lexical = LexicalConstraints(protection=FOUND)
    for name, translator in free.items():
        draw = random.Random(name)
        texts = [*(sentence(draw, INVENTORY) for _ in range(12)), *TEXTS]
        for search, n_best in zip(SEARCHES, (1, 2), strict=True):
            translations = translator.translate(texts, search=search, n_best=n_best, constraints=lexical)
            for text, translation in (
                (text, span) for text, best in zip(texts, translations, strict=True) for span in best.n_best
            ):
                assert spans_of(translation.text) == spans_of(text), (name, text, translation.text)
                assert Counter(span.text for span in translation.spans) == spans_of(text)
                for span in translation.spans:
                    assert span.target
                    assert text[slice(*span.place)] == translation.text[slice(*span.target)] == span.text
                assert translation.attention.shape == (len(translation.words), len(translation.source_words))
                read = dragoman.Result.from_line(dragoman.Result(translation).line()).translation
                assert (read.text, read.words, read.spans) == (translation.text, translation.words, translation.spans)


@pytest.mark.slow
def test_marks_that_are_learned_and_spans_that_are_not_come_through_together(tmp_path: Path) -> None:
    model = dragoman.load(trained(corpus(tmp_path), "bpe", {"text.protect": ["placeholders"]}))
    texts = ["one %d https://example.org {name} two", "{name} a.b@example.org", "one {0:.2f} two", "one two"]
    for text, translation in zip(
        texts, model.translate(texts, constraints=LexicalConstraints(protection=FOUND)), strict=True
    ):
        assert spans_of(translation.text) == spans_of(text)
        for span in translation.spans:
            assert span.target
            assert text[slice(*span.place)] == translation.text[slice(*span.target)] == span.text


@pytest.mark.slow
def test_a_beginning_may_have_spans_that_no_model_reads(free: dict[str, Translator]) -> None:
    lexical = LexicalConstraints(protection=FOUND)
    for translator in free.values():
        for prefix in ("{name}", "({name}) trois", "trois {name} ", "trois ({name})", ""):
            (translation,) = translator.translate(["one %d of {name}"], prefix=[prefix], constraints=lexical)
            assert translation.text.startswith(prefix.rstrip())
            assert spans_of(translation.text) == Counter(["%d", "{name}"])
        for prefix in ("%s", "{name} {name}"):
            with pytest.raises(UserError, match="prefix"):
                translator.translate(["one %d of {name}"], prefix=[prefix], constraints=lexical)


@pytest.mark.slow
def test_a_translation_with_spans_that_no_model_read_is_explained_without_them(free: dict[str, Translator]) -> None:
    (translation,) = free["bpe"].translate(["one {name} two three"], constraints=LexicalConstraints(protection=FOUND))
    explanation = translation.explain("{name} un")
    assert "{name}" in translation.text
    assert explanation.text.split() == translation.text.replace("{name}", " ").split()
    assert explanation.contrast
    assert "{name}" not in explanation.contrast.text
    with pytest.raises(UserError, match="other words than the translation"):
        dragoman.Result(replace(translation, explanation=explanation)).line()
    (stays,) = free["bpe"].translate(["{name}"], constraints=LexicalConstraints(protection=FOUND))
    assert (stays.text, stays.explain().text) == ("{name}", "")


@pytest.mark.slow
def test_without_marks_no_translation_has_a_span_of_its_own(free: dict[str, Translator]) -> None:
    translator = free["bpe"]
    target = translator.target
    for text in ("one two", "one {name} two"):
        (sentence,) = translator.prepare([text], constraints=LexicalConstraints(protection=FOUND))
        ids = [target.vocabulary.ids(target.text.encode(text)) for text in ("un deux", "un {name}", "un %d deux")]
        assert [sentence.accepts(symbols) for symbols in ids] == [True, False, False]
        (free_sentence,) = translator.prepare([text])
        assert all(free_sentence.accepts(symbols) for symbols in ids)


def test_a_term_is_no_term_across_a_span_that_no_model_reads(free: dict[str, Translator]) -> None:
    lexical = LexicalConstraints(Glossary([Term("two three", ("cinq",)), Term("one", ("six",))]), protection=FOUND)
    text = "{a} one two {name} three"
    (translation,) = free["bpe"].translate([text], constraints=lexical)
    assert [(term.text, text[slice(*term.place)]) for term in translation.terms] == [("one", "one")]
    assert translation.terms[0].target
    assert translation.text[slice(*translation.terms[0].target)] in ("six", "Six")


@pytest.mark.slow
def test_every_term_is_in_the_translation(free: dict[str, Translator]) -> None:
    """In one of its forms and in the letter case of the source, which a first word may have from its place."""
    terms = Term("two", ("cinq", "quatre")), Term("three four", ("six six",)), Term("one"), Term("six", ("un",))
    wanted = {
        "five two": ["cinq|quatre"],
        "three four one": ["six six", "one"],
        "Two three": ["[Cc]inq|[Qq]uatre"],
        "five Two": ["Cinq|Quatre"],
        "SIX three four": ["UN", "six six"],
        "two two two": ["cinq|quatre"],
    }
    for name, translator in free.items():
        if name in ("character", "word"):  # has no capital letters, or none of these words
            continue
        translations = translator.translate(list(wanted), constraints=LexicalConstraints(Glossary(terms)))
        for translation, forms in zip(translations, wanted.values(), strict=True):
            assert all(re.search(rf"\b(?:{form})\b", translation.text) for form in forms), (
                name,
                translation.text,
                forms,
            )
            there = [(term.forms, *term.target) for term in translation.terms if term.target]
            assert {forms for forms, *_ in there} == {term.forms for term in translation.terms}
            for allowed, begin, end in there:
                form = translation.text[begin:end]
                assert form in allowed or (form[0].lower() + form[1:] in allowed and begin == 0)


@pytest.mark.slow
def test_a_term_that_a_span_cuts_is_told_as_not_applied(
    runs: dict[str, Translator], free: dict[str, Translator]
) -> None:
    """Whether spans are learned or required by constraints; but not a word of a longer span, which is no term there."""
    glossary = Glossary([Term("two 365"), Term("one", ("six",)), Term("name", ("nom",)), Term("5", ("cinq",))])
    text = "<b>one</b> {name} two 365 5"
    numbers = Protection.named(["placeholders", "tags", "numbers"])
    for translator, required in ((runs["bpe"], None), (free["bpe"], numbers)):
        (translation,) = translator.translate([text], constraints=LexicalConstraints(glossary, protection=required))
        assert [(term.text, text[slice(*term.place)]) for term in translation.terms] == [
            *[("one", "one"), ("two 365", "two 365"), ("5", "5")]
        ]
        assert [term.target is not None for term in translation.terms] == [True, "two 365" in translation.text, False]
    (read,) = runs["bpe"].translate(
        ["one 365"], prefix=["one 365"], constraints=LexicalConstraints(Glossary([Term("one 365")]))
    )
    assert [term.target for term in read.terms] == [(0, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("span", ["{cinq}", "cinq@two.fr", "https://two.fr/cinq/six"])
def test_a_term_in_a_protected_span_is_not_said(
    span: str, translator: Translator, runs: dict[str, Translator], free: dict[str, Translator]
) -> None:
    """Whether spans are learned or detached: the term is searched for, and told where it stands beside them."""
    lexical = LexicalConstraints(Glossary([Term("two", ("cinq",))]))
    texts = [f"one two three {span}", f"{span} two", f"two {span} one"]
    ways = (runs["word"], None), (runs["bpe"], None), (free["bpe"], FOUND), (translator, FOUND)
    for model, protected in ways:
        for translation in model.translate(texts, constraints=lexical._replace(protection=protected)):
            (kept,) = [term.target for term in translation.spans]
            (place,) = [term.target for term in translation.terms]
            assert kept
            assert place, translation.text
            assert translation.text[slice(*place)].lower() == "cinq"
            assert place[1] <= kept[0] or kept[1] <= place[0]
    (favored,) = translator.translate(["two {cinq}"], constraints=LexicalConstraints(lexical.glossary, 1e-6, FOUND))
    assert (favored.text, favored.terms[0].target) == ("deux {cinq}", None)


def test_a_favored_term_is_likelier_and_told_with_its_own_probability(translator: Translator) -> None:
    glossary = Glossary([Term("two", ("cinq",))])
    free, *_ = translator.translate(["one two three"])
    for weight, there in ((0.01, False), (20.0, True)):
        (translation,) = translator.translate(["one two three"], constraints=LexicalConstraints(glossary, weight))
        assert ("cinq" in translation.text) is there
        assert (translation.terms[0].target is not None) is there
        (scored,) = translator.score(["one two three"], [translation.text])
        assert translation.log_prob == pytest.approx(scored.log_prob, abs=1e-4)
    assert free.text == "trois deux un"


def test_marks_are_candidates_wherever_their_sentence_has_them(folders: dict[str, Path]) -> None:
    candidates = dragoman.load(folders["word"], shortlist=lexicon(folders["word"]))
    for text in ("one %d {name}", "two <b>three</b>"):
        assert spans_of(candidates.translate([text])[0].text) == spans_of(text)


def lexicon(folder: Path) -> tuple[int, int]:
    """Candidates that few symbols are among, from the prepared corpus of a run."""
    done = CliRunner().invoke(app, ["shortlist", str(folder)])
    assert done.exit_code == 0, done.output
    return 3, 1


@pytest.mark.slow
def test_a_memory_has_the_marks_of_its_sentence(tmp_path: Path) -> None:
    """And what it has alone stays text there, which no translation may take over."""
    options = {"text.protect": KINDS, "data.translation_memory": {"kind": "nearest", "threshold": 0.1}}
    model = dragoman.load(trained(corpus(tmp_path), "bpe", options))
    text = "one two %d three"
    (translation,) = model.translate([text])
    assert spans_of(translation.text) == Counter(["%d"])
    (again,) = model.translate([(text, "%d deux %s")])
    assert again.sources[1].text == "%d deux %s"
    assert "%d" in again.sources[1].words
    assert spans_of(again.text) == Counter(["%d"])
