"""Terms of a glossary in the place of what a translation has for them."""

from collections.abc import Sequence

from dragoman.data.language import Language
from dragoman.data.source import Source
from dragoman.text.glossary import FoundTerm, occurrences
from dragoman.text.pipeline import WordsOf
from dragoman.text.tokenise import Span
from dragoman.translation.translation import SourceAttention


def read(source: Source, text: str, terms: Sequence[FoundTerm]) -> list[Span]:
    """The words of each term among those of its text, from first to before last."""
    assert isinstance(source, Language)

    def words(end: int) -> int:
        return len(source.text.words(source.text.encode(text[:end])).words)

    return [(words(term.begin), words(term.end)) for term in terms]


def placed(
    text: str, words: WordsOf, seen: SourceAttention, terms: Sequence[FoundTerm], read: Sequence[Span], kept: int = 0
) -> dict[int, str]:
    """The words of a translation that terms take the place of, by their numbers, and these terms in their first form.
    `read` are the words of each term in its source; the first `kept` characters of the translation stay as they are.

    A term takes the place of the word that attended to it most, if that attended to nothing else more; of several such
    words side by side, as an article and a noun, it is the longest. As often as the translation has a form of the term,
    it takes the place of nothing.
    """
    found = dict[int, str]()
    taken = {word for word, (begin, _) in enumerate(words.spans) if begin < kept}
    strongest = seen.attention.argmax(1).tolist() if seen.attention.size else []
    for forms in dict.fromkeys(term.forms for term in terms):
        same = [span for term, span in zip(terms, read, strict=True) if term.forms == forms]
        said = list(occurrences(text, forms))
        lacking = len(same) - len(said)
        for first, last in same:
            mostly = [word not in taken and first <= place < last for word, place in enumerate(strongest)]
            if lacking <= 0 or not any(mostly):
                continue
            run = _run(int((seen.attention[:, first:last].sum(1) * mostly).argmax()), mostly)
            begin, end = words.spans[run[0]][0], words.spans[run[-1]][1]
            if not any(there < end and begin < here for there, here in said):
                found[max(run, key=lambda word: len(words.words[word]))] = forms[0]
                taken.update(run)
                lacking -= 1
    return found


def _run(word: int, mostly: Sequence[bool]) -> range:
    """The word, and those beside it of which the same is true."""
    first = last = word
    while first and mostly[first - 1]:
        first -= 1
    while last + 1 < len(mostly) and mostly[last + 1]:
        last += 1
    return range(first, last + 1)
