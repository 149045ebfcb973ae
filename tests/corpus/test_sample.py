"""The first look at a corpus."""

from pathlib import Path

import pytest

from dragoman.corpus.sample import CorpusSample, Inventory, measure_sample, spread
from dragoman.errors import UserError
from tests.golden import Golden


def looked_at(folder: Path, sources: list[str], targets: list[str]) -> CorpusSample:
    for suffix, lines in (("en", sources), ("fr", targets)):
        (folder / f"corpus.{suffix}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return measure_sample(str(folder / "corpus"), "en", "fr")


def test_tells_natural_text_from_tokenized_and_one_alphabet_from_two(tmp_path: Path) -> None:
    natural = looked_at(tmp_path, ["The cat, it sleeps."] * 9, ["Le chat, il dort."] * 9)
    apart = looked_at(tmp_path, ["the cat , it sleeps ."] * 9, ["\u043a\u043e\u0442 \u0441\u043f\u0438\u0442 ."] * 9)
    assert (natural.tokenized, apart.tokenized) == (False, True)
    assert natural.tokenize is None
    assert looked_at(tmp_path, ["The cat, it sleeps."] * 9, ["猫，它睡觉。"] * 9).tokenize == "zh"
    assert natural.shared > 0.6
    assert apart.shared < 0.2
    assert (natural.pairs, natural.words, natural.longest) == (9, 6.0, 6)
    assert str(natural).startswith("9 pairs of natural text, 6.0 words a sentence, 99 % of them up to 6; 10 different")


def test_counts_words_characters_and_runs_of_each_side(tmp_path: Path) -> None:
    sample = looked_at(tmp_path, ["a-b cat, 12:5", "cat dog"], ["cat !", "x"])
    assert sample.source == Inventory(words=5, characters=13, runs=3)  # a-b cat , 12:5 dog; cat 12 dog
    assert sample.target == Inventory(words=3, characters=5, runs=1)
    assert sample.both == Inventory(words=7, characters=15, runs=3)


@pytest.mark.parametrize(
    ("inventory", "wanted", "symbols"),
    [
        (Inventory(9_000, 100, 8_000), 2_000, 2_000),
        (Inventory(9_000, 3_000, 8_000), 2_000, 257 + 3_000 + 3_000),  # many characters, such as Chinese ones
        (Inventory(900, 100, 800), 2_000, 257 + 100 + 400),
        (Inventory(7, 7, 0), 2_000, 257 + 7),
    ],
)
def test_symbols_are_as_many_as_wanted_where_the_text_has_so_many(
    inventory: Inventory, wanted: int, symbols: int
) -> None:
    assert inventory.symbols(wanted) == symbols


@pytest.mark.parametrize(("source", "target"), [([], []), (["", " "], ["un", "deux"]), (["one"], ["\t"])])
def test_a_side_without_words_is_told(source: list[str], target: list[str], tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match="corpus:") as raised:
        looked_at(tmp_path, source, target)
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (4, [0, 1, 2, 3]), (5, [0, 2, 4]), (8, [0, 2, 4, 6]), (9, [0, 4, 8]), (40, [0, 16, 32])],
)
def test_items_are_spread_over_all_of_them(count: int, expected: list[int]) -> None:
    assert spread(iter(range(count)), 4) == (expected, count)
