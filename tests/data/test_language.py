"""What stands between the sentences of a document is one symbol, or is refused."""

import json
from pathlib import Path

import pytest

from dragoman.configuration.components import Spec
from dragoman.data.language import Language
from dragoman.data.vocabulary import BOS, EOS, PAD, Vocabulary
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline

LINES = ["the cat sleeps . § a dog runs . § it is late .", "a cat runs . § the dog sleeps ."] * 20
UNITS = [Spec("word"), Spec("character"), Spec("bpe", {"vocab_size": 300})]


def language(unit: Spec) -> Language:
    pipeline = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=unit)
    pipeline.tokenizer.fit(LINES, 1)
    return Language("en", pipeline, Vocabulary(pipeline.tokenizer.inventory))


@pytest.mark.spec("A9")
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_mark_is_found_where_it_stands_in_a_text_and_nowhere_else(unit: Spec) -> None:
    learned = language(unit)
    mark = learned.mark("§")
    assert mark is not None
    assert [learned.ids(line).count(mark) for line in (*LINES[:2], "the cat sleeps .")] == [2, 1, 0]
    assert learned.mark(None) is None


REFUSED = [
    (Spec("word"), "|||", r"'\|\|\|' is 3 tokens \(.*\), expected one"),
    (Spec("word"), "", r"'' is 0 tokens"),
    (Spec("word"), "§§", r"'§§' is 2 tokens"),
    (Spec("word"), "¶", r"'¶' is not in the vocabulary; expected it between sentences of the corpus"),
    (Spec("bpe", {"vocab_size": 300}), "¶", r"'¶' is \d tokens \(.*<0xC2> <0xB6>\), expected one"),
    (Spec("bpe", {"vocab_size": 300, "dropout": 0.1}), "§", r"subword dropout would split '§'"),
]


@pytest.mark.parametrize(("unit", "text", "message"), REFUSED)
def test_what_is_not_always_one_known_symbol_is_refused(unit: Spec, text: str, message: str) -> None:
    with pytest.raises(UserError, match=f"^model.attention.sentences: {message}"):
        language(unit).mark(text)


@pytest.mark.spec("J9")
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_source_is_framed_by_symbols_of_its_vocabulary(unit: Spec, tmp_path: Path) -> None:
    """By pieces of texts, and by specials that no text spells; its own symbols and words stay the same."""
    plain = language(unit)
    symbol = plain.vocabulary.symbols([7])[0]
    pipeline = TextPipeline(
        lowercase=False, pretokenizer="punctuation", tokenizer=unit, prefix=["<s>", symbol], suffix=[symbol]
    )
    pipeline.tokenizer.restore(plain.text.tokenizer.learned())
    vocabulary = Vocabulary(pipeline.tokenizer.inventory, (), (*pipeline.prefix, *pipeline.suffix))
    framed = Language("en", pipeline, vocabulary, (1,) * len(plain.vocabulary))
    framed.save(tmp_path, "source")
    for learned in (framed, Language.load(tmp_path, "source", "en")):
        wanted = [[BOS, 7, *plain.ids(line)[:-1], 7, EOS] for line in LINES]
        assert [learned.ids(line) for line in LINES] == wanted
        rows = learned.rows(LINES)
        assert rows.values.tolist() == [number for ids in wanted for number in ids]
        assert rows.lengths.tolist() == list(map(len, wanted))
        assert learned.text.encode(LINES[0]) == plain.text.encode(LINES[0])


@pytest.mark.spec("J9", "J16")
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_shorter_source_is_padded(unit: Spec, tmp_path: Path) -> None:
    """Behind its suffix and before its end; a longer one stays as it is."""
    plain = language(unit)
    length = len(plain.ids("the cat sleeps .")) + 2
    pipeline = TextPipeline(
        lowercase=False, pretokenizer="punctuation", tokenizer=unit, suffix=["</s>"], padded_length=length
    )
    pipeline.tokenizer.restore(plain.text.tokenizer.learned())
    vocabulary = Vocabulary(pipeline.tokenizer.inventory, (), pipeline.frame)
    Language("en", pipeline, vocabulary, (1,) * len(plain.vocabulary)).save(tmp_path, "source")
    padded = Language.load(tmp_path, "source", "en")
    wanted = [[*plain.ids(line)[:-1], EOS] for line in ("a cat", "the cat sleeps .", LINES[0])]
    wanted = [[*ids, *[PAD] * (length - len(ids)), EOS] for ids in wanted]
    assert [len(ids) for ids in wanted[:2]] == [length + 1] * 2
    assert len(wanted[2]) > length + 1
    assert [padded.ids(line) for line in ("a cat", "the cat sleeps .", LINES[0])] == wanted


@pytest.mark.spec("J9")
def test_what_frames_a_source_must_be_in_its_vocabulary(tmp_path: Path) -> None:
    language(UNITS[0]).save(tmp_path, "source")
    description = tmp_path / "source.json"
    values = json.loads(description.read_text("utf-8"))
    for key, name, message in (
        ("prefix", ["<2de>"], "has no symbol '<2de>'"),
        ("prefix", "§", "expected lists of symbols"),
        ("prefix", [1], "lists"),
        ("padded_length", 0, "padded_length: expected a number from 1 to 1000"),
        ("padded_length", "9", "padded_length: expected a number from 1 to 1000"),
    ):
        description.write_text(json.dumps({**values, key: name}), "utf-8")
        with pytest.raises(UserError, match=rf"source\.(json|vocabulary): .*{message}"):
            Language.load(tmp_path, "source", "en", counted=False)
