"""What stands between the sentences of a document is one symbol, or is refused."""

import pytest

from dragoman.configuration.components import Spec
from dragoman.data.language import Language
from dragoman.data.vocabulary import Vocabulary
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
