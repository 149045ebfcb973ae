"""Terms of a catalogue or corpus: short texts whose translation recurs where longer texts contain them."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Prefix

from dragoman.corpus.examples import Pair
from dragoman.text.glossary import Term
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation

LONGEST = 3  # words of a term, and of its translation
STEM, ENDING = 4, 3  # letters that two forms of a word share at least, and in which each may end differently
RARE = 0.05  # share of a form, of all that keep the translation, below which it is left out
MARKS = " .:!?…。：！？"  # after a text

_normalize = Normalizer(lowercase=False)


class TermUse(NamedTuple):
    """A term, with the forms of its translation in longer texts, the most frequent first. `texts` is the number of
    longer texts that contain the term, `kept` the number of those whose translation contains a form.
    """

    term: Term
    kept: int
    texts: int

    @property
    def share(self) -> float:
        """The share of longer texts that keep the translation."""
        return self.kept / self.texts


def learn(pairs: Iterable[Pair], *, min_count: int = 2) -> list[TermUse]:
    """Return the terms of pairs that at least `min_count` longer texts contain, in the order of the pairs.

    A term is a text of at most LONGEST words, as is its translation, the most frequent one. A longer text contains it
    in any letter case, unless the term has capitals after its first letter, and not within a longer term. A translation
    keeps that of the term if it contains its words, perhaps with other endings, or its letters within a longer word (a
    compound, or a script without spaces).
    """
    texts = [Pair(*(_normalize(text).strip(MARKS) for text in pair)) for pair in pairs]
    terms = _short(texts)
    uses = defaultdict[str, Counter[str]](Counter)
    for source, target in texts:
        for key in set(_contained(_pieces(source), terms)):
            uses[key][_form(terms[key].forms[0], target)] += 1
    all_uses = (_use(term, uses[key]) for key, term in terms.items())
    return [use for use in all_uses if use.texts >= min_count]


def _short(texts: Sequence[Pair]) -> dict[str, Term]:
    """Return the texts that may be terms, with their most frequent translation, by their words as they are compared."""
    written, translations = dict[str, str](), defaultdict[str, Counter[str]](Counter)
    for source, target in texts:
        if source != target and all(0 < len(_words(text)) <= LONGEST for text in (source, target)):
            key = Term(" ".join(_words(source))).key
            written.setdefault(key, Term(source).key)
            translations[key][target] += 1
    return {key: Term(written[key], (targets.most_common(1)[0][0],)) for key, targets in translations.items()}


def _words(text: str) -> list[str]:
    """Return the words of a text; none if it also has numbers, punctuation or placeholders."""
    words = _pieces(text)
    return words if all(word[0].isalpha() for word in words) else []


def _pieces(text: str) -> list[str]:
    """Return the words and marks of a text."""
    return [text[begin:end] for begin, end in punctuation(text)]


def _contained(words: Sequence[str], terms: Container[str]) -> Iterator[str]:
    """Yield the terms in a text from left to right, the longest of those that begin at a word, but for the text."""
    begin = 0
    while begin < len(words):
        lengths = range(min(LONGEST, len(words) - (begin == 0)), 0, -1)
        written = [" ".join(words[begin : begin + length]) for length in lengths]
        key = next((key for text in written for key in (text, text.lower()) if key in terms), "")
        if key:
            yield key
        begin += 1 + key.count(" ")


def _form(translation: str, target: str) -> str:
    """Return the form of a term's translation in a target text; nothing if it is not there."""
    wanted, words = _pieces(translation), _pieces(target)
    for begin in range(len(words) - len(wanted) + 1):
        window = words[begin : begin + len(wanted)]
        if all(map(_inflected, wanted, window)):
            return " ".join(window)
    return translation if translation.lower() in target.lower() else ""


def _inflected(word: str, other: str) -> bool:
    """Whether two words may be forms of the same one."""
    word, other = word.lower(), other.lower()
    stem = Prefix.similarity(word, other)
    return word == other or (stem >= STEM and max(len(word), len(other)) - stem <= ENDING)


def _use(term: Term, forms: Counter[str]) -> TermUse:
    """Return the use of a term whose translation has these forms in longer texts."""
    texts, lost = forms.total(), forms.pop("", 0)
    kept = texts - lost
    frequent = tuple(form for form, count in forms.most_common() if count >= RARE * kept)
    return TermUse(Term(term.source, frequent or term.forms), kept, texts)
