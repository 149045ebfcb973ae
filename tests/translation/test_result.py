"""The JSON form of a translation: nothing is lost, the schema is true of it, and errors name what is no translation."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

from dragoman import inspection
from dragoman.corpus.translation_memory import Match
from dragoman.errors import UserError
from dragoman.translation import json_schema, result
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.json_values import PLACES
from dragoman.translation.result import Result
from dragoman.translation.translation import Step, Translation
from tests.forms import results, validator

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NO_OTHERS: st.SearchStrategy[Any] = st.just(())
NUMBERS = st.floats(-1e4, 0) | st.sampled_from([-math.inf, math.nan])


def weights(*shape: int) -> st.SearchStrategy[Any]:
    return arrays(np.float64, shape, elements=st.floats(0, 1), fill=st.just(0.25))


def sources(words: int) -> st.SearchStrategy[SourceAttention]:
    """A source of up to three words."""
    return st.lists(TEXTS, max_size=3).flatmap(
        lambda tokens: st.builds(
            SourceAttention,
            TEXTS,
            TEXTS,
            st.just(tokens),
            weights(words, len(tokens)),
            weights(words),
            st.none() | weights(words),
            st.booleans(),
        ).flatmap(found_in_memory)
    )


def found_in_memory(source: SourceAttention) -> st.SearchStrategy[SourceAttention]:
    """The source, or the same as a text from a memory."""
    match = st.builds(Match, st.just(source.text), st.floats(0, 1), TEXTS)
    return (st.none() | match).map(lambda value: source._replace(match=value))


def translations(other_translators: st.SearchStrategy[Any] = NO_OTHERS) -> st.SearchStrategy[Translation]:
    """One of up to three words, with `other_translators` beside."""

    def of(tokens: list[str]) -> st.SearchStrategy[Translation]:
        words = st.none() | st.sampled_from(range(len(tokens))) if tokens else st.none()
        return st.builds(
            Translation,
            st.lists(sources(len(tokens)), min_size=1, max_size=2).map(tuple),
            TEXTS,
            st.just(tokens),
            NUMBERS,
            NUMBERS,
            st.lists(
                st.builds(
                    Step, TEXTS, words, NUMBERS, st.dictionaries(TEXTS, NUMBERS, max_size=2), st.none() | NUMBERS
                ),
                max_size=4,
            ).map(tuple),
            st.none() | weights(len(tokens)),
            other_translators,
            st.integers(0, 9),
            proved=st.none() | st.booleans(),
            withheld=st.none() | TEXTS,
            criteria=st.dictionaries(TEXTS, st.integers(-9, 9).map(float), max_size=2),
        )

    return st.lists(TEXTS, max_size=3).flatmap(of)


@st.composite
def results_with_all_keys(draw: st.DrawFn) -> Result:
    translation = draw(translations(st.lists(translations(), max_size=1).map(tuple)))
    names = [source.name for source in translation.sources]
    return Result(translation, draw(st.none() | TEXTS), draw(st.none() | TEXTS), draw(st.sampled_from([None, *names])))


def same_number(one: float, other: float) -> bool:
    """After rounding; what is not finite is NaN."""
    return math.isnan(other) if not math.isfinite(one) else abs(one - other) <= 0.51 * 10**-PLACES


def same_weights(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=0, atol=0.51 * 10**-PLACES))


def same_figures(one: Step, other: Step) -> bool:
    """To rounding; what is not finite is 0."""
    expected = {name: value if math.isfinite(value) else 0.0 for name, value in one.statistics.items()}
    return other.statistics == {name: pytest.approx(value, abs=0.51 * 10**-PLACES) for name, value in expected.items()}


def same(one: Translation, other: Translation) -> bool:
    """To rounding."""
    numbers = [(one.score, other.score), (one.log_prob, other.log_prob)]
    numbers += [(a.log_prob, b.log_prob) for a, b in zip(one.steps, other.steps, strict=True)]
    sure = [(a.calibrated, b.calibrated) for a, b in zip(one.steps, other.steps, strict=True)]
    numbers += [(a, math.nan if b is None else b) for a, b in sure if a is not None]
    matrices = [(one.sentinel, other.sentinel)]
    for a, b in zip(one.sources, other.sources, strict=True):
        if (a.name, a.text, a.words, a.regions) != (b.name, b.text, b.words, b.regions):
            return False
        if (a.match is None, a.match and a.match.source) != (b.match is None, b.match and b.match.source):
            return False
        numbers += [(a.match.score, b.match.score)] if a.match and b.match else []
        matrices += [(a.attention, b.attention), (a.share, b.share), (a.end_attention, b.end_attention)]
    return (
        (one.text, one.words, one.left_out, one.proved) == (other.text, other.words, other.left_out, other.proved)
        and [step[:2] for step in one.steps] == [step[:2] for step in other.steps]
        and all(map(same_figures, one.steps, other.steps))
        and all(b is None for a, b in sure if a is None)
        and (one.withheld, one.criteria) == (other.withheld, other.criteria)
        and all(same_number(*pair) for pair in numbers)
        and all(same_weights(*pair) for pair in matrices)
        and all(same(*pair) for pair in zip(one.alternatives, other.alternatives, strict=True))
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # as what checks types does
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(results_with_all_keys())
def test_nothing_is_lost(result: Result) -> None:
    (read_back,) = results([result.line()])
    assert read_back[1:] == result[1:]
    assert same(result.translation, read_back.translation)
    assert json.loads(result.line()) == result.json()
    assert read_back.json() == result.json()


def example(**options: Any) -> Translation:
    """Two words from three; the second of two symbols, after an operation that writes nothing."""
    attention = np.array([[0.7, 0.2, 0.1], [0.0, 0.25, 0.75]])
    source = SourceAttention("en", "a b c", ["a", "b", "c"], attention, np.ones(2))
    steps = (Step("x", 0, -0.5), Step("<delete>", None, -0.1), Step("y", 1, -1.0), Step("z", 1, -0.25))
    end = Step("</s>", None, -0.125)
    return Translation((source,), "x yz", ["x", "yz"], -0.9, -1.975, (*steps, end), **options)


def test_each_key_tells_what_it_says() -> None:
    other = example()
    fields = Result(example(alternatives=(other,), left_out=3), "x y", "en-fr", "en").json()
    assert fields["version"] == 2
    assert (fields["text"], fields["words"]) == ("x yz", ["x", "yz"])
    assert (fields["score"], fields["log_prob"]) == (-0.9, -1.975)
    assert fields["log_probs"] == [-0.5, -1.25]
    assert fields["steps"][1] == {"symbol": "<delete>", "word": None, "log_prob": -0.1}
    assert sum(step["log_prob"] for step in fields["steps"]) == pytest.approx(fields["log_prob"])
    assert fields["sources"] == [
        {
            "name": "en",
            "text": "a b c",
            "words": ["a", "b", "c"],
            "attention": [[0.7, 0.2, 0.1], [0.0, 0.25, 0.75]],
            "share": [1.0, 1.0],
            "alignment": [[0, 0], [2, 1]],
        }
    ]
    assert (fields["left_out"], fields["reference"], fields["pair"]) == (3, "x y", "en-fr")
    changes = [("a", "deleted"), ("b", "deleted"), ("c", "deleted"), ("x", "inserted"), ("yz", "inserted")]
    assert fields["edits"] == {"source": "en", "words": [{"word": word, "change": what} for word, what in changes]}
    assert fields["alternatives"] == [Result(other).json()]


def test_what_is_empty_is_left_out() -> None:
    keys = {"version", "text", "words", "score", "log_prob", "log_probs", "steps", "sources"}
    assert Result(example()).json().keys() == keys


def test_links_follow_from_the_weights_as_written() -> None:
    """So that whoever reads the weights finds the same links, though rounding makes two weights equal."""
    source = SourceAttention("en", "a b", ["a", "b"], np.array([[0.4999999, 0.5000001]]), np.ones(1))
    written = Result(Translation((source,), "x", ["x"], 0.0, 0.0, ())).json()
    assert written["sources"][0]["attention"] == [[0.5, 0.5]]
    assert Result.from_json(written).json() == written


def test_the_figure_of_a_word_is_the_mean_over_its_symbols() -> None:
    """As written; the end and what is part of no word do not count."""
    original = example()
    values = [0.25, 0.9, 0.1, 0.5, 0.75]
    steps = tuple(
        means._replace(statistics={"copied": value}) for means, value in zip(original.steps, values, strict=True)
    )
    translation = replace(original, steps=steps)
    assert {name: means.tolist() for name, means in translation.statistics.items()} == {"copied": [0.25, 0.3]}
    written = Result(translation).json()
    assert [step["statistics"]["copied"] for step in written["steps"]] == values
    assert written["statistics"] == {"copied": [0.25, 0.3]}
    assert Result.from_json(written).json() == written
    seen = translation.attention_matrix
    assert (seen.columns, seen.shares) == (["a", "b", "c", "[copied]"], [3])
    assert seen.attention.tolist() == [[0.7, 0.2, 0.1, 0.25], [0.0, 0.25, 0.75, 0.3]]
    shown = inspection.example(Result(translation), [(2, 1)])
    assert (shown.gold, shown.shares) == ([(2, 1)], [3])


def test_the_confidence_of_a_word_is_a_product_and_that_of_all_the_mean_of_words_and_end() -> None:
    """What is part of no word does not count. Without one step's there is none."""
    original = example()
    chances = [0.5, 0.8, 0.9, 0.25, 0.75]
    step_chances = zip(original.steps, chances, strict=True)
    steps = tuple(step._replace(calibrated=math.log(chance)) for step, chance in step_chances)
    translation = replace(original, steps=steps)
    confidence = translation.confidence
    assert confidence is not None
    assert confidence.words.tolist() == pytest.approx([0.5, 0.225])
    assert confidence.sentence == pytest.approx((0.5 + 0.225 + 0.75) / 3)
    written = Result(translation).json()
    assert written["confidence"] == {"sentence": pytest.approx(0.491667, abs=1e-6), "words": [0.5, 0.225]}
    assert [step["calibrated"] for step in written["steps"]] == [round(math.log(chance), 6) for chance in chances]
    assert replace(translation, steps=(*steps[:-1], original.steps[-1])).confidence is None
    assert replace(translation, steps=()).confidence is None
    alone = replace(translation, words=[], steps=steps[-1:]).confidence
    assert alone is not None
    assert alone.sentence == pytest.approx(0.75)


def test_what_is_not_trusted_is_withheld() -> None:
    """At the least confidence itself it still is; what is not known is trusted."""
    original = example()
    sure = replace(original, steps=tuple(step._replace(calibrated=math.log(0.5)) for step in original.steps))
    least = sure.confidence.sentence if sure.confidence else 0.0
    assert sure.trusted(least) is sure
    assert original.trusted(1.0) is original
    withheld = sure.trusted(0.51)
    assert (withheld.text, withheld.withheld, withheld.words) == ("", "x yz", ["x", "yz"])
    assert Result(withheld).json()["withheld"] == "x yz"


def test_half_characters_and_what_is_not_finite_do_no_harm() -> None:
    source = SourceAttention("en", "a\ud800", ["a\ud800"], np.array([[math.nan]]), np.array([math.inf]))
    translation = Translation((source,), "\ud800", ["\udfff"], math.nan, -math.inf, (Step("\ud800", 0, -math.inf),))
    written = json.loads(Result(translation, "\ud800").line().encode())
    assert (written["text"], written["words"], written["reference"]) == ("?", ["?"], "?")
    assert (written["score"], written["log_prob"], written["log_probs"]) == (None, None, [None])
    assert written["sources"][0] | {"attention": [[0.0]], "share": [0.0]} == written["sources"][0]
    assert math.isnan(Result.from_json(written).translation.score)


def test_unknown_keys_are_ignored() -> None:
    written = Result(example()).json()
    later = {**written, "votes": {"first": [0.1, 0.9]}, "sources": [{**written["sources"][0], "heads": []}]}
    validator(json_schema.schema()).validate(later)
    assert Result.from_json(later).json() == written


def test_a_form_that_was_checked_cannot_be_changed() -> None:
    form = json_schema.TranslationSchema.model_validate(Result(example()).json())
    with pytest.raises(ValidationError, match="frozen"):
        form.text = "other"  # type: ignore[misc]


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in Result(example()).json().items() if name != key}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The example with another value at a dotted path."""
    fields = Result(example(sentinel=np.zeros(2), alternatives=(example(),)), edited="en").json()
    *above, last = (int(key) if key.isdigit() else key for key in path.split("."))
    holder: Any = fields
    for key in above:
        holder = holder[key]
    holder[last] = value
    return fields


BY = "written by {} version of dragoman (in form {}; this one reads form 2)"
OTHER = f"expected a translation of version 2, found one {BY}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected a translation as a JSON object, found []"),
        (without("version"), "expected a translation of version 2, found one of no version"),
        (changed("version", 1), OTHER.format("an earlier", "1")),
        (changed("version", 3), OTHER.format("a later", "3")),
        (changed("version", True), OTHER.format("another", "true")),
        (without("text"), "text: required"),
        (changed("text", 3), "text: expected a valid string, found 3"),
        (changed("words", "x"), 'words: expected a valid list, found "x"'),
        (changed("score", "x"), 'score: expected a valid number, found "x"'),
        (changed("score", math.inf), "score: expected a finite number, found Infinity"),
        (changed("sources", []), "sources: "),
        (changed("steps.0", 3), "steps.0: expected an object, found 3"),
        (changed("steps.0.word", 2), "steps.0.word: expected the number of one of 2 words, found 2"),
        (changed("steps.0.word", -1), "steps.0.word: expected greater than or equal to 0, found -1"),
        (changed("sentinel", [0.5]), "sentinel: expected 2 weights, found 1"),
        (changed("sources.0.attention", [[1, 0, 0]]), "sources.0.attention: expected 2 rows, found 1"),
        (changed("sources.0.attention.1", [1]), "sources.0.attention.1: expected 3 weights, found 1"),
        (changed("sources.0.share", []), "sources.0.share: expected 2 weights, found 0"),
        (changed("sources.0.end_attention", [1]), "sources.0.end_attention: expected 2 weights, found 1"),
        (changed("sources.0.regions", 1), "sources.0.regions: expected a valid boolean, found 1"),
        (changed("sources.0.match", {"source": "a"}), "sources.0.match.score: required"),
        (changed("sources.0.match", {"source": "a", "score": 2}), "sources.0.match.score: expected less than or equal"),
        (changed("alternatives.0.sources.0.share", []), "alternatives.0.sources.0.share: expected 2 weights, found 0"),
        (changed("edits.source", "de"), 'edits.source: expected one of en, found "de"'),
    ],
)
def test_what_is_no_translation_is_told_by_file_line_and_key(value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    path.write_text(f"{Result(example()).line()}\n{json.dumps(value)}\n", encoding="utf-8")
    if math.inf != (value["score"] if isinstance(value, dict) else 0):  # which is no JSON either
        with pytest.raises(UserError) as error:
            list(result.read(path))
        assert str(error.value).startswith(f"{path}:2: {message}")
    with pytest.raises(UserError) as error:
        Result.from_json(value)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", ["", "[", '{"version": 2', "NaN", "[" * 9999, '{"version": 2, "text": "\\ud800"}'])
def test_what_is_no_json_is_told(line: str, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"^{re.escape(str(path))}:1: expected a translation as JSON \("):
        list(result.read(path))


@pytest.mark.parametrize(
    "value", [without("text"), changed("text", 3), changed("score", "x"), changed("version", 1), changed("steps.0", 3)]
)
def test_the_schema_refuses_what_cannot_be_read(value: dict[str, Any]) -> None:
    assert not validator(json_schema.schema()).is_valid(value)


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "results.md"


def test_the_documented_example_is_one() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    (parsed,) = results([json.dumps(json.loads(block), ensure_ascii=False, separators=(",", ":"))])
    assert parsed.translation.alternatives
    assert parsed.translation.alignment


def test_every_key_is_documented_with_the_words_of_the_schema() -> None:
    documents = "".join(path.read_text(encoding="utf-8") for path in (DOCUMENT, DOCUMENT.with_name("explain.md")))
    schema = json.loads(json_schema.schema())
    for form in schema["$defs"].values():
        for key, value in form["properties"].items():
            assert f"| `{key}` |" in documents
            assert value["description"] in documents, key
