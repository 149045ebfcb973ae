"""Splits, files, alignments and the writing of the sampled sentences."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.text.pretokenizer import PRETOKENIZERS
from phrasebook import corpus
from phrasebook.constructions import CONSTRUCTIONS
from phrasebook.corpus import sample, write
from phrasebook.draw import Draw, NoChoice, nouns_with
from phrasebook.entries import adjectives, nouns, phrases
from phrasebook.grammar import Phrase, phrase
from phrasebook.realize import Sentence, Triple
from tests.golden import Golden

Samples = dict[tuple[str, int], list[Triple]]

# Words without a counterpart of their own in one of the other languages.
FUNCTION_WORDS = set(
    "a an the some any to of is are was were am do does did it's be , que qu' de d' du des la le les l' un une est-ce"
    " a as ont ai avons y en zu um es das der die den dem ein eine einen".split()
)
NOUN_FORMS = {form: noun.lemma for noun in nouns().values() for form in noun.english}
DETERMINERS = "a|an|the|this|these|some|any|my|your|his|her|our|their|several"
OBJECTS_OF = {
    "eat": "eat|eats|eating|ate", "buy": "buy|buys|buying|bought", "read": "read|reads|reading",
    "drink": "drink|drinks|drinking|drank", "repair": "repair|repairs|repairing|repaired",
    "open": "open|opens|opening|opened", "write": "write|writes|writing|wrote", "sell": "sell|sells|selling|sold",
    "help": "help|helps|helping|helped", "see": "see|sees|saw|seen",
}  # fmt: skip


def languages(item: Triple) -> tuple[tuple[str, Sentence], ...]:
    return ("en", item.english), ("fr", item.french), ("de", item.german)


def test_tokens_are_those_of_the_pretokenizer(everything: list[Triple]) -> None:
    split = PRETOKENIZERS["punctuation"]
    for item in everything:
        for _, sentence in languages(item):
            assert sentence.words == tuple(sentence.text[begin:end] for begin, end in split(sentence.text))


def test_capital_letter_and_final_mark(everything: list[Triple]) -> None:
    for item in everything:
        marks = {sentence.words[-1] for _, sentence in languages(item)}
        assert len(marks) == 1
        assert marks <= {".", "?", "!"}
        for language, sentence in languages(item):
            assert sentence.text[0].isupper()
            assert "  " not in sentence.text
            assert sentence.text == sentence.text.strip()
            before = r"[^ ]" if language != "fr" or marks == {"."} else r"[^ ] "
            assert re.search(before + r"[.?!]$", sentence.text), sentence.text
            assert not re.search(r" [.,]", sentence.text)


def test_every_construction_is_drawn(train: list[Triple]) -> None:
    counts = Counter(item.construction for item in train)
    assert set(counts) == set(CONSTRUCTIONS)
    assert len(counts) >= 40
    assert min(counts.values()) > 60


def test_lengths_vary(train: list[Triple]) -> None:
    words = Counter(len(item.english.text.split()) for item in train)
    assert set(range(3, 15)) <= set(words)
    assert max(words) <= 22


def test_links_are_inside_the_sentences(everything: list[Triple]) -> None:
    for item in everything:
        lengths = {language: len(sentence.words) for language, sentence in languages(item)}
        for (source, target), links in item.links.items():
            assert links
            assert all(0 <= i < lengths[source] and 0 <= j < lengths[target] for i, j in links)


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("en", "de"), ("fr", "de")])
def test_nearly_every_word_is_linked(everything: list[Triple], source: str, target: str) -> None:
    linked = content = alone = words = 0
    for item in everything:
        sentences = dict(languages(item))
        for side, language in enumerate((source, target)):
            linked_places = {link[side] for link in item.links[source, target]}
            for place, token in enumerate(sentences[language].words):
                words, alone = words + 1, alone + (place not in linked_places)
                if token.lower() not in FUNCTION_WORDS:
                    content, linked = content + 1, linked + (place in linked_places)
    assert linked / content > 0.99
    assert alone / words < 0.05


@pytest.mark.parametrize(
    ("english", "french", "german"),
    [
        ("apples", "pommes", "Äpfel|Äpfeln"), ("potatoes", "pommes|de|terre", "Kartoffeln"),
        ("not", "ne|n'|pas", "nicht|keinen?"),
        ("my", "mon|ma|mes", "mein\\w*"), ("yesterday", "hier", "gestern"), ("tired", "fatigué\\w*", "müde\\w*"),
        ("because", "parce|que|qu'", "weil"), ("never", "ne|n'|jamais", "nie"), ("than", "que|qu'", "als"),
        ("Mr", "Monsieur", "Herrn?"), ("please", "s'|il|te|plaît", "bitte"), ("him", "l'|le|lui", "ihn|ihm"),
        ("library", "bibliothèque", "Bibliothek"), (".", "\\.", "\\."),
    ],
)  # fmt: skip
def test_words_are_linked_to_their_translations(train: list[Triple], english: str, french: str, german: str) -> None:
    seen = 0
    for item in train:
        for place, token in enumerate(item.english.words):
            if token.lower() != english.lower() or item.construction == "naming":  # "my name is": "ich heiße"
                continue
            seen += 1
            for language, sentence, wanted in (("fr", item.french, french), ("de", item.german, german)):
                got = [sentence.words[j].lower() for i, j in item.links["en", language] if i == place]
                assert got, (english, item)
                assert all(re.fullmatch(wanted.lower(), word) for word in got), (english, got, item)
    assert seen >= 5


def test_two_part_negation_is_linked_to_one_word(train: list[Triple]) -> None:
    item = next(t for t in train if "doesn't" in t.english.words and "pas" in t.french.words)
    place = item.english.words.index("doesn't")
    words = {item.french.words[j].lower() for i, j in item.links["en", "fr"] if i == place}
    assert "pas" in words
    assert words & {"ne", "n'"}


def test_the_same_seed_gives_the_same_sentences() -> None:
    once, again = list(sample(60, 7, "train")), list(sample(60, 7, "train"))
    other = list(sample(60, 8, "train"))
    assert once == again
    assert len({t.english for t in once} & {t.english for t in other}) < 6
    assert list(islice(sample(1_000_000, 7, "train"), 60)) == once


def test_a_seed_gives_the_same_corpus_for_ever(samples: Samples) -> None:
    """Texts, words and alignments of all splits and languages. Whoever means to change them writes another digest."""
    digest = sha256()
    for (split, seed), items in samples.items():
        for item in items:
            links = [[source, target, sorted(pairs)] for (source, target), pairs in item.links.items()]
            digest.update(json.dumps([split, seed, *item[:3], item.construction, links]).encode() + b"\n")
    assert digest.hexdigest() == "dfe86f600cff2554aa1f36ff02eeb40b1a12782dd5f4b0d947d049d50e4c0a30"


def test_sentences_are_distinct(train: list[Triple], compositional: list[Triple]) -> None:
    for items in (train, compositional):
        assert len({item.english.text for item in items}) == len(items)


def test_english_decides_french_and_german(everything: list[Triple]) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for item in everything:
        translations = item.french.text, item.german.text
        assert seen.setdefault(item.english.text, translations) == translations


def test_splits_share_no_sentence_in_any_language(
    more_train: list[Triple], dev: list[Triple], test_split: list[Triple], compositional: list[Triple]
) -> None:
    for side in range(3):
        sets = [{item[side].text for item in items} for items in (more_train, dev, test_split, compositional)]
        for at, one in enumerate(sets):
            assert all(one.isdisjoint(other) for other in sets[at + 1 :])


def _names(items: Iterable[Triple]) -> set[str]:
    title = re.compile(r"\b(?:Mrs?|name is) ([A-Z][a-z]+)")
    town = re.compile(r"\b(?:lives? in|come from|comes from|going to|went to) ([A-Z][a-z]+)")
    return {name for item in items for name in [*title.findall(item.english.text), *town.findall(item.english.text)]}


def test_invented_names_of_the_tests_are_new(train: list[Triple], dev: list[Triple], test_split: list[Triple]) -> None:
    real = {*phrases("town"), *phrases("country")}
    in_train, in_dev, in_test = (_names(items) - real for items in (train, dev, test_split))
    assert len(in_train) > 1_000
    assert len(in_test) > 50
    assert not in_train & in_test
    assert not in_train & in_dev
    assert not in_dev & in_test


def _described(items: Iterable[Triple]) -> set[tuple[str, str]]:
    """Adjective before noun, and noun followed by "is" and adjective."""
    pairs = set()
    for item in items:
        words = item.english.words
        for first, second in pairwise(words):
            if first in adjectives() and second in NOUN_FORMS:
                pairs.add((first, NOUN_FORMS[second]))
        match = re.match(
            r"(?:The|This|These) (\w+) (?:is|are|isn't|aren't|was|were) (?:\w+ )?(\w+)[.,]", item.english.text
        )
        if match and match[1] in NOUN_FORMS and match[2] in adjectives():
            pairs.add((match[2], NOUN_FORMS[match[1]]))
    return pairs


def _done(items: Iterable[Triple]) -> set[tuple[str, str]]:
    """Verb, determiner, perhaps an adjective, noun."""
    pairs = set()
    for item in items:
        for verb, forms in OBJECTS_OF.items():
            pattern = rf"\b(?:{forms}) (?:{DETERMINERS}) (?:\w+ )?(\w+)\b(?!')"
            for noun in re.findall(pattern, item.english.text):
                if noun in NOUN_FORMS:
                    pairs.add((verb, NOUN_FORMS[noun]))
    return pairs


@pytest.mark.parametrize("pairs_of", [_described, _done])
def test_compositional_pairs_never_occur_in_train(
    train: list[Triple],
    dev: list[Triple],
    compositional: list[Triple],
    pairs_of: Callable[[Iterable[Triple]], set[tuple[str, str]]],
) -> None:
    seen, held = pairs_of([*train, *dev]), pairs_of(compositional)
    assert len(held) > 15
    assert len(seen) > 60
    assert not seen & held
    # and nearly all their first words are known from other pairs (a sample does not hold every word)
    seen_heads, held_heads = {head for head, _ in seen}, {head for head, _ in held}
    assert len(held_heads - seen_heads) <= 0.05 * len(held_heads)


@pytest.mark.parametrize("split", ["train", "compositional"])
def test_feelings_are_of_people_that_the_split_may_have(split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "CONSTRUCTIONS", {"because": CONSTRUCTIONS["because"]})
    matches = [
        match
        for item in sample(400, 1, split)
        if (match := re.match(r"(?:\w+ )?(\w+) is (happy|sad) because", item.english.text)) and match[1] in NOUN_FORMS
    ]
    assert len(matches) > 3
    for match in matches:
        held = NOUN_FORMS[match[1]] in {noun.lemma for noun in nouns_with(adjectives()[match[2]], held=True)}
        assert held == (split == "compositional"), match[0]


def test_unknown_split_is_a_user_error(golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        next(sample(1, 1, "training"))
    golden(str(raised.value))


def test_more_than_there_is_is_a_user_error(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    def only(draw: Draw) -> Phrase:
        if draw.chance(0.1):
            raise NoChoice
        return phrase("Hello .", "Bonjour .", "Hallo .", "hello")

    monkeypatch.setattr(corpus, "CONSTRUCTIONS", {"only": only})
    with pytest.raises(UserError) as raised:
        list(sample(2, 1, "train"))
    golden(str(raised.value))


def test_files_of_a_corpus(tmp_path: Path) -> None:
    write(tmp_path / "new", "de", "fr", {"train": 40, "test": 10}, 5)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "test.de", "test.de-fr.align", "test.fr", "train.de", "train.de-fr.align", "train.fr",
    ]  # fmt: skip
    lines = {
        name: (tmp_path / "new" / f"test.{name}").read_text("utf-8").splitlines()
        for name in ("de", "fr", "de-fr.align")
    }
    items = list(sample(10, 5, "test"))
    assert lines["de"] == [item.german.text for item in items]
    assert lines["fr"] == [item.french.text for item in items]
    for line, item in zip(lines["de-fr.align"], items, strict=True):
        assert line == " ".join(f"{i}-{j}" for i, j in sorted((j, i) for i, j in item.links["fr", "de"]))


@pytest.mark.parametrize(("source", "target", "message"), [("en", "es", "no language 'es'"), ("en", "en", "both 'en'")])
def test_languages_that_cannot_be_written(tmp_path: Path, source: str, target: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        write(tmp_path, source, target, {"train": 1}, 1)
