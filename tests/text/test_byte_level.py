"""Byte-level BPE: merges of bytes in the order of the file, and texts that come back."""

import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.byte_level import LETTERS, ByteLevelBpe, Merge, check_merges, parse_merges
from dragoman.text.pipeline import TextPipeline
from dragoman.text.tokenizer import InsufficientCorpusError

pytestmark = pytest.mark.spec("J18")
TEXTS = ["the cat sat on the mat", " two  spaces ", "Grüße, 你好 😀!", "don't 3.5", "\u2581 \ue000\ue001 \u200d", ""]


def letters(text: str) -> str:
    return "".join(LETTERS[byte] for byte in text.encode())


def learn(texts: list[str], count: int) -> list[Merge]:
    """The most frequent pairs of pieces of words, one after the other."""
    words = [[*letters(word)] for text in texts for word in re.findall(" ?[^ ]+", text)]
    merges: list[Merge] = []
    while len(merges) < count and (counts := Counter(pair for word in words for pair in pairwise(word))):
        pair = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(pair)
        words = [merge(word, pair) for word in words]
    return merges


def merge(word: list[str], pair: Merge) -> list[str]:
    pattern = rf"(?<!\S){re.escape(' '.join(pair))}(?!\S)"
    return re.sub(pattern, lambda _: "".join(pair), " ".join(word)).split(" ")


MERGES = learn(["the cat sat on the mat", "the Grüße of the cat"], 14)


@pytest.fixture
def pipeline() -> TextPipeline:
    pytest.importorskip("tokenizers", reason="needs the extra tokenizers")
    text = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("byte_level_bpe"))
    assert isinstance(text.tokenizer, ByteLevelBpe)
    text.tokenizer.load_merges(MERGES)
    return text


def test_merges_are_applied_in_their_order(pipeline: TextPipeline) -> None:
    """As if one was applied after the other to a word, with the space before it."""
    for text in ("the cat sat on that", "Grüße the  cat"):
        wanted = []
        for word in re.findall(r" ?[^ ]+| +(?= )", text):
            pieces = [*letters(word)]
            for pair in MERGES:
                pieces = merge(pieces, pair)
            wanted += pieces
        assert pipeline.encode(text) == wanted


def test_texts_come_back(pipeline: TextPipeline) -> None:
    for text in TEXTS:
        symbols = pipeline.encode(text)
        surfaces = pipeline.tokenizer.surfaces(symbols)
        assert "".join(surfaces) == pipeline.decode(symbols) == text
    assert pipeline.tokenizer.surfaces(["the", "<unk>", "\u0120c", "\u00c3", "\u00bc", "\u00c3"]) == [
        *("the", "<unk>", " c", "ü", "", "\ufffd")
    ]
    assert pipeline.words(pipeline.encode("the cat sat.")).words == ["the", "cat", "sat", "."]


def test_it_is_saved_with_its_symbols(pipeline: TextPipeline, tmp_path: Path) -> None:
    assert isinstance(pipeline.tokenizer, ByteLevelBpe)
    assert pipeline.tokenizer.inventory[:2] == ["!", '"']
    assert len(pipeline.tokenizer.inventory) == 256 + len(MERGES)
    pipeline.tokenizer.load_merges(MERGES, ["\u0120the", "the"])
    pipeline.save(tmp_path, "source")
    loaded = TextPipeline.load(tmp_path, "source")
    assert loaded.tokenizer.inventory == ["\u0120the", "the"]
    assert [loaded.encode(text) for text in TEXTS] == [pipeline.encode(text) for text in TEXTS]


def test_own_vocabularies_are_those_of_a_file(pipeline: TextPipeline, tmp_path: Path) -> None:
    (tmp_path / "merges.txt").write_text("#version: 0.2\nt h\nth e\n", "utf-8")
    tokenizer = ByteLevelBpe(merges=str(tmp_path / "merges.txt"))
    tokenizer.fit([], 1)
    assert tokenizer.inventory[256:] == ["th", "the"]
    (tmp_path / "merges.txt").write_text("t h\nx the\n", "utf-8")
    with pytest.raises(UserError, match=r"merges\.txt: not the merges of byte-level BPE"):
        tokenizer.fit([], 1)
    with pytest.raises(UserError, match="cannot read"):
        ByteLevelBpe(merges=str(tmp_path / "none")).fit([], 1)


def test_a_file_is_required() -> None:
    with pytest.raises(InsufficientCorpusError, match="set merges: FILE"):
        ByteLevelBpe().fit([], 1)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UserError, match=r"tokenizers is not installed; run .*\.\[tokenizers\]"):
        ByteLevelBpe().load_merges([])


@pytest.mark.parametrize(
    "merges", [["a"], ["a b c"], [["a", "b", "c"]], [["a", 1]], [["", "b"]], [1], {"a": "b"}, None]
)
def test_damaged_merges_are_refused(merges: object) -> None:
    with pytest.raises(ValueError, match=r"merge 1: expected two pieces, found|expected a list of merges"):
        check_merges(merges)


def test_merges_are_pairs_or_texts() -> None:
    wanted = [("a", "b"), ("ab", "c")]
    assert check_merges(["a b", "ab c"]) == check_merges([["a", "b"], ["ab", "c"]]) == wanted
    assert parse_merges("#version: 0.2\na b\r\nab c\n") == parse_merges("a b\nab c") == wanted


@pytest.mark.parametrize("contents", [b"[]", b'{"symbols": [1], "merges": []}', b'{"symbols": []}', b"{"])
def test_a_damaged_file_of_a_run_is_refused(contents: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        ByteLevelBpe().restore(contents)
