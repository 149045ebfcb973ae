"""Gold links between the words of two languages, from the meanings that they express."""

from phrasebook.grammar import Line, Word, links, words

SAW = words("saw", "see")
A_VU = [Word("a", ("perfect",), otherwise="see"), Word("vu", ("see",))]
HAT_GESEHEN = [Word("hat", ("perfect",), otherwise="see"), Word("gesehen", ("see",))]


def turned(source: Line, target: Line) -> frozenset[tuple[int, int]]:
    return frozenset((i, j) for j, i in links(target, source))


def test_a_word_without_a_counterpart_is_linked_through_its_fallback() -> None:
    """The auxiliary of "a vu" has none in "saw", and one in "hat gesehen"."""
    assert links(SAW, A_VU) == turned(SAW, A_VU) == {(0, 0), (0, 1)}
    assert links(A_VU, HAT_GESEHEN) == turned(A_VU, HAT_GESEHEN) == {(0, 0), (1, 1)}


def test_words_are_linked_where_they_share_a_meaning_however_often() -> None:
    ne_pas = [Word("ne", ("not",)), *SAW, Word("pas", ("not",))]
    assert links(words("not", "not"), ne_pas) == {(0, 0), (0, 2)}
    assert links(words("today", "day"), A_VU) == frozenset()
