"""Codes of subword-nmt: merges in the order of the file, and words as Moses' scripts split and join them."""

import pickle
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline
from dragoman.text.subword_codes import SubwordCodes
from dragoman.text.tokenizer import InsufficientCorpusError

pytestmark = pytest.mark.spec("J17")
WORDS = "low lower lowest new newer newest wide wider widest slow slowest aaaaa aaab".split()
CODES = "#version: 0.2\nl o\nlo w\ne s\nes t</w>\nn e\nne w\ne r</w>\nlow est</w>\n"
MOSES = "It's a well-known \"test\" of & [square] brackets, isn't it? Yes: 3.5 | 4!"


def tokenizer(codes: str, **options: str | bool) -> SubwordCodes:
    text = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("subword_codes", options))
    assert isinstance(text.tokenizer, SubwordCodes)
    text.tokenizer.load_codes(codes)
    return text.tokenizer


def learn(words: list[str], count: int, *, apart: bool) -> list[tuple[str, str]]:
    """The most frequent pairs, one after the other (Sennrich et al. 2016a, algorithm 1)."""
    pieces = [[*word, "</w>"] if apart else [*word[:-1], f"{word[-1]}</w>"] for word in words]
    pairs = []
    for _ in range(count):
        counts = Counter(pair for word in pieces for pair in pairwise(word))
        if not counts:
            break
        pair = max(counts, key=lambda pair: (counts[pair], pair))
        pairs.append(pair)
        pieces = [merge(word, pair) for word in pieces]
    return pairs


def merge(word: list[str], pair: tuple[str, str]) -> list[str]:
    pattern = rf"(?<!\S){re.escape(' '.join(pair))}(?!\S)"
    return re.sub(pattern, "".join(pair), " ".join(word)).split()


@pytest.mark.parametrize("apart", [False, True])
def test_merges_are_applied_in_their_order(apart: bool) -> None:
    """As if one was applied after the other to the whole word. In version 0.1, the end of a word is a piece."""
    pairs = learn(WORDS, 25, apart=apart)
    lines = [" ".join(pair) for pair in pairs]
    for header in [[], ["#version: 0.1"]] if apart else [["#version: 0.2"]]:
        coded = tokenizer("\n".join([*header, *lines, ""]))
        for word in [*WORDS, "newslow", "aaaa", "x", "xx", "lowlow"]:
            pieces = [*word, "</w>"] if apart else [*word[:-1], f"{word[-1]}</w>"]
            for pair in pairs:
                pieces = merge(pieces, pair)
            spelled = "@@ ".join(pieces).removesuffix("</w>").removesuffix("@@ ")
            assert coded.encode(word) == (spelled.split() if len(word) > 1 else [word])
    assert tokenizer("#version: 0.2\nb c</w>\na b\n").encode("abc") == ["a@@", "bc"]  # not from left to right


def test_words_between_spaces() -> None:
    coded = tokenizer(CODES)
    assert coded.encode("lowest  newer wow") == ["lowest", "new@@", "er", "w@@", "o@@", "w"]
    assert coded.surfaces(["low@@", "est", "<unk>", "w@@", "ow"]) == ["low", "est", " <unk>", " w", "ow"]
    assert coded.decode(["w@@", "low@@"]) == "wlow"
    assert coded.decode(coded.encode("the newest wide river")) == "the newest wide river"
    assert coded.encode("") == []


def test_symbols_outside_the_vocabulary_are_split_again() -> None:
    """As far as there are merges: a letter that is unknown stays. In version 0.1, the end of a word is no symbol."""
    coded = tokenizer(CODES, split_unknown=True)
    coded.set_inventory(["lo@@", "w@@", "es@@", "t", "e@@", "n@@"])
    assert coded.encode("lowest newer lower") == ["lo@@", "w@@", "es@@", "t", *["n@@", "e@@", "w@@", "e@@", "r"]] + (
        ["lo@@", "w@@", "e@@", "r"]
    )
    coded.set_inventory(["lowest"])
    assert coded.encode("lowest") == ["lowest"]
    older = tokenizer("l o\nlo w\nlow </w>\n", split_unknown=True)
    older.set_inventory(["lo@@", "w"])
    assert older.encode("low lowlow") == ["lo@@", "w", "lo@@", "w@@", "lo@@", "w"]


def test_a_tokenizer_can_be_pickled() -> None:
    coded = tokenizer(CODES)
    assert coded.encode("lowest") == pickle.loads(pickle.dumps(coded)).encode("lowest") == ["lowest"]


def test_words_are_grouped(tmp_path: Path) -> None:
    text = TextPipeline(lowercase=True, pretokenizer="whitespace", tokenizer=Spec("subword_codes"))
    assert isinstance(text.tokenizer, SubwordCodes)
    text.tokenizer.load_codes(CODES)
    text.tokenizer.set_inventory(["low", "est"])
    words = text.words(text.encode("Newer WOW"))
    assert (words.words, words.word_of) == (["newer", "wow"], [0, 0, 1, 1, 1])
    text.save(tmp_path, "source")
    loaded = TextPipeline.load(tmp_path, "source")
    assert loaded.encode("Newer WOW") == text.encode("Newer WOW")
    assert loaded.tokenizer.inventory == ["low", "est"]


def test_own_vocabularies_are_learned_with_codes(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(CODES, "utf-8")
    text = TextPipeline(
        lowercase=False,
        pretokenizer="whitespace",
        tokenizer=Spec("subword_codes", {"codes": str(tmp_path / "codes")}),
    )
    text.tokenizer.fit(["lowest new", "new low"], 1)
    assert text.tokenizer.inventory == ["w", "ne@@", "lo@@", "lowest"]
    with pytest.raises(InsufficientCorpusError, match="set codes: FILE"):
        SubwordCodes().fit([], 1)
    with pytest.raises(UserError, match="cannot read"):
        SubwordCodes(codes=str(tmp_path / "none")).fit([], 1)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ("#version: 0.3\na b\n", "expected codes of version 0.1 or 0.2, found '#version: 0.3'"),
        ("#version: 0.2\na b\nc\n", "line 3: expected two pieces to merge, found 'c'"),
        ("a b\n\n", "line 2: expected two pieces"),
        ("a b c\n", "line 1: expected two pieces to merge, found 'a b c'"),
    ],
)
def test_damaged_codes_are_refused(codes: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(codes, "utf-8")
    if codes == "a b\n\n":
        codes += "c d\n"
        (tmp_path / "codes").write_text(codes, "utf-8")
    with pytest.raises(UserError) as raised:
        SubwordCodes(codes=str(tmp_path / "codes")).fit([], 1)
    assert str(raised.value).startswith(f"{tmp_path / 'codes'}: {message}")


@pytest.mark.parametrize("contents", [b"[]", b'{"symbols": []}', b'{"symbols": [1], "codes": ""}', b"{"])
def test_a_damaged_file_of_a_run_is_refused(contents: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        SubwordCodes().restore(contents)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UserError, match=r"sacremoses is not installed; run .*\.\[moses\]"):
        SubwordCodes(moses="en").load_codes(CODES)


@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("split_dashes", [False, True])
def test_words_of_moses(escape: bool, split_dashes: bool) -> None:
    """Characters that it escapes and dashes that it splits come back, and belong to the symbols that spell them."""
    pytest.importorskip("sacremoses", reason="needs the extra moses")
    coded = tokenizer(CODES, moses="en", escape=escape, split_dashes=split_dashes)
    symbols = coded.encode(MOSES)
    assert ("&@@" in symbols) == escape
    assert ("@@@" in symbols) == split_dashes
    surfaces = coded.surfaces(symbols)
    assert "".join(surfaces) == coded.decode(symbols) == MOSES
    words = {"".join(surfaces[first:last]) for first, last in words_of(symbols)}
    assert {"It", " &", ' "', ",", "?"} <= words
    assert (" well-known" in words) == (not split_dashes)


def words_of(symbols: list[str]) -> list[tuple[int, int]]:
    """The first symbol of each word, and the one after its last."""
    ends = [number for number, symbol in enumerate(symbols, start=1) if not symbol.endswith("@@")]
    return list(zip([0, *ends], ends, strict=False))


def test_letters_that_a_rule_changes_stand_between_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    class Detokenizer:
        def __init__(self, lang: str) -> None:
            self.lang = lang

        def detokenize(self, words: list[str], unescape: bool) -> str:
            return f"{self.lang} is not it"

    fake = type(sys)("sacremoses")
    fake.__dict__.update(MosesTokenizer=Detokenizer, MosesDetokenizer=Detokenizer)
    monkeypatch.setitem(sys.modules, "sacremoses", fake)
    assert tokenizer(CODES, moses="en").surfaces(["n@@", "ow", ","]) == ["n", "ow", " ,"]
