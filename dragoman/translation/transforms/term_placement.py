"""The places of glossary terms in a translation, and the words that missing terms replace."""

import re
from collections.abc import Container, Iterator, Sequence

from dragoman.data.language import Language
from dragoman.files.reading import LONGEST_TEXT
from dragoman.text.glossary import FoundTerm, Wholes
from dragoman.text.pipeline import WordsOf
from dragoman.text.pretokenizer import COMBINING, Span, spaceless
from dragoman.text.tokenizer import MARK, UNKNOWN
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.output_text import UNKNOWN_WORD
from dragoman.translation.source_inputs import LONGEST

APOSTROPHES = "'\u2019"
LEAST = 0.1  # of the attention of a word, for a term to take its place
_LETTERS = re.compile(rf"\w(?:.*\w)?{COMBINING}*", re.DOTALL)


def locate_terms(text: str, terms: Sequence[FoundTerm], taken: Sequence[Span] = ()) -> list[Span | None]:
    """Return the place of each term in a translation, or None. No two terms have the same place, and none overlaps
    a span that is `taken`. The longest forms are placed first.
    """
    wholes = Wholes(text)
    spans_by_forms = {forms: _places(wholes, forms) for forms in {term.forms for term in terms}}
    term_spans, closed = list[Span | None]([None] * len(terms)), list(taken)
    for begin, end in sorted(
        {span for spans in spans_by_forms.values() for span in spans}, key=lambda span: (span[0] - span[1], span)
    ):
        if not any(begin < last and first < end for first, last in closed):
            waiting = (number for number, term in enumerate(terms) if (begin, end) in spans_by_forms[term.forms])
            number = next((number for number in waiting if term_spans[number] is None), None)
            if number is not None:
                term_spans[number] = (begin, end)
                closed.append((begin, end))
    return term_spans


def _places(wholes: Wholes, forms: Sequence[str]) -> set[Span]:
    """Where these forms stand as whole words; at the beginning of the text, they may have a capital."""
    capitals = {form[:1].upper() + form[1:] for form in forms}
    return {*wholes.occurrences(forms), *(span for span in wholes.occurrences(capitals) if not span[0])}


def read(source: Language, text: str, terms: Sequence[FoundTerm]) -> list[range]:
    """The words of each term among those of its text, as far as it is read; none of a term that the source writes
    otherwise.
    """
    symbols = source.text.encode(text[:LONGEST_TEXT])[:LONGEST]
    written, spans = "".join(source.text.tokenizer.surfaces(symbols)).lower(), source.text.words(symbols).spans
    here, there, word_ranges = Wholes(text[:LONGEST_TEXT].lower()), Wholes(written), list[range]()
    same: dict[str, Iterator[tuple[Span, Span]]] = {}  # places of a word in the text and as it is read, terms or not
    for term in terms:
        wanted = source.text.normalize(term.text).lower()
        if wanted not in same:
            same[wanted] = zip(here.occurrences([term.text.lower()]), there.occurrences([wanted]), strict=False)
        place = next((read for text_span, read in same[wanted] if text_span[0] >= term.begin), None)
        over = _overlapping(spans, *place) if place else []
        word_ranges.append(range(over[0], over[-1] + 1) if over else range(0))
    return word_ranges


def _overlapping(spans: Sequence[Span], begin: int, end: int) -> list[int]:
    return [number for number, (first, last) in enumerate(spans) if first < end and begin < last]


def placed(
    text: str,
    words: WordsOf,
    seen: SourceAttention,
    terms: Sequence[FoundTerm],
    read: Sequence[range],
    taken: Container[int] = (),
) -> dict[int, str]:
    """What becomes of words of a translation, by their numbers, that terms take the place of. `read` are the words of
    each term in its source; words that are `taken` stay as they are, and so do those of scripts without spaces.

    A term that is not said takes the place of the word that attends to it most, provided that this attends to no other
    word of the source more, and to the term with at least LEAST. Of several such words side by side, as an article and
    a noun, it is the longest. Punctuation around the word stays, and of several forms it is the first with its case.
    """
    replacements = dict[int, str]()
    places = locate_terms(text, terms)
    kept = [place for place in places if place]
    free = [
        number not in taken
        and not any(map(spaceless, word))
        and not MARK.search(word)
        and not any(begin < last and first < end for first, last in kept)
        for number, (word, (begin, end)) in enumerate(zip(words.words, words.spans, strict=True))
    ]
    for term, own, place in zip(terms, read, places, strict=True):
        same = [own, *(other for other_term, other in zip(terms, read, strict=True) if other_term.forms == term.forms)]
        for ours in same if place is None else ():
            run = _attending(seen, ours, free)
            if run:
                word = max(run, key=lambda number: len(words.words[number]))
                begin, end = words.spans[word]
                replacements[word] = _instead(text[begin:end], term.forms, text[end : end + 1], first=begin == 0)
                free[run.start : run.stop] = [False] * len(run)
                break
    return replacements


def _attending(seen: SourceAttention, term: range, free: Sequence[bool]) -> range | None:
    """The free word that attends to a term most, and those beside it that also attend to nothing else more."""
    if not (term and seen.attention.size and term.start < seen.attention.shape[1]):
        return None
    weights = seen.attention[:, term.start : term.stop].max(1)
    strongest = seen.attention.max(1).clip(min=seen.share - seen.attention.sum(1))  # that is the end of the source
    mostly = (weights >= strongest) & (weights >= LEAST) & free
    if not mostly.any():
        return None
    first = last = int((weights * mostly).argmax())
    while first and mostly[first - 1]:
        first -= 1
    while last + 1 < len(mostly) and mostly[last + 1]:
        last += 1
    return range(first, last + 1)


def _instead(word: str, forms: Sequence[str], after: str, *, first: bool) -> str:
    """A form with the punctuation around a word, and its capital if the word is the `first` of a translation. What is
    unknown has no punctuation of its own. The apostrophe of an elided word before a letter (`l'`) goes with it: a space
    parts the form from what is `after`, unless it is elided, too.
    """
    word = word.replace(UNKNOWN, UNKNOWN_WORD)
    core = _LETTERS.search(word)
    begin, end = core.span() if core else (0, len(word))
    capital = word[begin : begin + 1].isupper()
    form = next((form for form in forms if form[:1].isupper() == capital), forms[0])
    if first and capital:
        form = form[:1].upper() + form[1:]
    if after.isalnum() and word[end:] in tuple(APOSTROPHES):
        return word[:begin] + form + ("" if form.endswith(tuple(APOSTROPHES)) else " ")
    return word[:begin] + form + word[end:]
