"""Links between words that come from the pairs alone."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import pytest

from dragoman.corpus import aligners
from dragoman.corpus.aligners import (
    LONGEST,
    AlignmentTask,
    Method,
    Symmetrization,
    WordPair,
    links,
    lower_words,
    passes,
)
from dragoman.corpus.pharaoh import Gold, Links
from dragoman.errors import UserError
from dragoman.evaluation.alignment import error_rate
from tests import toy
from tests.golden import Golden

PAIRS = [WordPair(*pair) for pair in toy.pairs(80, 1)]
SIZES = [source for source, _ in (pair.counts for pair in PAIRS)]
GOLD = [Gold(frozenset((place, size - 1 - place) for place in range(size)), frozenset()) for size in SIZES]
needs_thot = pytest.mark.skipif(find_spec("thot") is None, reason="needs the extra `align`")


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other processes would do is done in this one, which is quicker."""

    def done(tasks: list[Any], processes: int, passed: Callable[[], object]) -> list[Any]:
        answers = []
        for task in tasks:
            *nothing, answer = aligners._aligned(task)
            for _ in nothing:
                passed()
            answers.append(answer)
        return answers

    monkeypatch.setattr(aligners, "_in_processes", done)


def find_links(pairs: list[WordPair], method: Method, symmetrization: Symmetrization, **options: Any) -> list[Links]:
    return list(links(pairs, method=method, symmetrization=symmetrization, processes=2, **options))


@needs_thot
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(("method", "most"), [("ibm1", 0.2), ("ibm2", 0.0), ("hmm", 0.0), ("fast_align", 0.4)])
def test_every_model_finds_which_words_belong_together(method: str, most: float) -> None:
    """IBM model 1 does not know of order, and FastAlign expects much the same one; here it is the opposite."""
    assert error_rate(find_links(PAIRS, Method(method), Symmetrization.grow_diag_final_and), GOLD).error_rate <= most


@needs_thot
@pytest.mark.usefixtures("_here")
def test_symmetrized_links_are_between_what_both_directions_and_what_either_has() -> None:
    """By IBM model 1, whose directions differ most: for equal words of a sentence."""
    links_by_kind = {kind: find_links(PAIRS, Method.ibm1, kind) for kind in Symmetrization}
    both = list(zip(links_by_kind[Symmetrization.forward], links_by_kind[Symmetrization.backward], strict=True))
    assert links_by_kind[Symmetrization.intersection] == [one & other for one, other in both]
    assert links_by_kind[Symmetrization.union] == [one | other for one, other in both]
    for kind in set(Symmetrization) - {Symmetrization.forward, Symmetrization.backward}:
        for (one, other), joined in zip(both, links_by_kind[kind], strict=True):
            assert one & other <= joined <= one | other
    grown = [links_by_kind[Symmetrization(name)] for name in ("grow_diag", "grow_diag_final_and", "grow_diag_final")]
    for less, more in pairwise(grown):
        assert all(few <= many for few, many in zip(less, more, strict=True))
    assert len({tuple(kind) for kind in links_by_kind.values()}) > 4
    for one, other in both:
        assert len({target for _, target in one}) == len(one)
        assert len({source for source, _ in other}) == len(other)


@pytest.mark.slow
@needs_thot
@pytest.mark.usefixtures("_here")
def test_a_pair_that_cannot_be_aligned_has_no_links_and_changes_nothing() -> None:
    long = " ".join(["one"] * (LONGEST + 1))
    unusable = [WordPair("", ""), WordPair("one", ""), WordPair("", "un"), WordPair(long, "un"), WordPair("one", long)]
    options = Method.hmm, Symmetrization.union
    alone = find_links(PAIRS, *options)
    assert find_links([*unusable, *PAIRS, *unusable], *options) == [frozenset[Any]()] * 5 + alone + [frozenset()] * 5
    assert find_links(unusable, *options) == [frozenset()] * 5
    whole = [WordPair(long[4:], long[4:])]  # as long as may be
    assert find_links(whole, *options) != [frozenset()]


@needs_thot
@pytest.mark.usefixtures("_here")
def test_other_pairs_are_learned_from_and_not_aligned() -> None:
    options = Method.hmm, Symmetrization.grow_diag
    assert find_links(PAIRS[70:], *options, also=PAIRS[:70]) == find_links(PAIRS, *options)[70:]
    assert find_links(PAIRS[70:], *options) != find_links(PAIRS, *options)[70:]


@needs_thot
@pytest.mark.parametrize("processes", [1, 2])
def test_processes_find_the_same(processes: int, request: pytest.FixtureRequest) -> None:
    options: Any = {"method": Method.ibm1, "symmetrization": Symmetrization.och}
    heard: list[int] = []
    apart = list(links(PAIRS, processes=processes, passed=lambda: heard.append(1), **options))
    assert len(heard) == passes(**options)
    request.getfixturevalue("_here")
    assert apart == find_links(PAIRS, **options)


def test_a_process_that_is_ended_is_told(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr(aligners, "PROGRAM", "sys.stdin.readline(); sys.exit(9)")
    with pytest.raises(UserError, match="9") as error:
        aligners._in_processes([AlignmentTask(Method.hmm, PAIRS, 0)] * 2, 2, lambda: None)
    golden(str(error.value))


def test_what_fails_in_a_process_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, golden: Golden, capfd: pytest.CaptureFixture[str]
) -> None:
    fails = "from dragoman.corpus import aligners; aligners._library = lambda module: {}[module]; aligners.work()"
    monkeypatch.setattr(aligners, "PROGRAM", fails)
    with pytest.raises(UserError) as raised:
        aligners._in_processes([AlignmentTask(Method.ibm1, PAIRS, 0)], 1, lambda: None)
    golden(str(raised.value))
    assert capfd.readouterr().err == ""


def test_a_missing_library_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    for module in ("thot", "thot.alignment", "thot.common"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match="align") as error:
        find_links(PAIRS, Method.hmm, Symmetrization.union)
    golden(str(error.value))


@pytest.mark.parametrize(
    ("pretokenizer", "text", "words"),
    [
        ("punctuation", "L'Homme (42)!", ["l'", "homme", "(", "42", ")", "!"]),
        ("whitespace", " L'Homme  (42)!", ["l'homme", "(42)!"]),
        ("whitespace", "a\u00a0b\u3000c d\te", ["a\u00a0b\u3000c", "d", "e"]),
        ("punctuation", " \t", []),
    ],
)
def test_words_are_those_of_the_pretokenizer_in_lower_case(pretokenizer: str, text: str, words: list[str]) -> None:
    assert WordPair(lower_words(pretokenizer)(text), "").lists == (words, [])
