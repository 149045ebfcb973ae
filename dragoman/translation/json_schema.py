"""The keys and values of a translation in JSON, and their JSON schema. docs/results.md describes them with an example.

Empty values are omitted. Unknown keys are ignored on reading, so keys may be added without a new version number.
"""

import json
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic.json_schema import GenerateJsonSchema

from dragoman.configuration.messages import shown
from dragoman.translation.explanation.explanation_schema import ExplanationSchema
from dragoman.translation.json_values import Count, Schema, Text, Weights, misfit, sized

VERSION: Final = 2


class StepSchema(Schema):
    """A step of the decoder: one symbol."""

    symbol: Text = Field(
        description="the symbol: a word, a subword, a character, an edit operation, or `</s>`, the end"
    )
    word: Count | None = Field(description="the number of its word in words, from 0; null if it is a part of none")
    log_prob: float | None = Field(description="its log-probability in nats; null if that is not finite")
    statistics: dict[Text, float] = Field(
        {}, description="further probabilities of the step, by name: copied, of a model that copies words"
    )
    calibrated: float | None = Field(
        None, description="its log-probability at the temperature of a calibrated run, in nats"
    )


class ConfidenceSchema(Schema):
    """How sure a calibrated run is, from 0 to 1."""

    sentence: float = Field(description="of the translation: the mean of its words, the end counted as one")
    words: list[float] = Field(description="of each word: the product of its symbols' probabilities: (target words)")


class MatchSchema(Schema):
    """What a translation memory found."""

    source: Text = Field(description="the source in the memory, normalized, of which the text is the translation")
    score: float = Field(ge=0, le=1, description="its similarity to the source that was looked up; 1 is the same")


class SourceSchema(Schema):
    """A source, and the attention that it got."""

    name: Text = Field(description="its name in the configuration, such as its language")
    text: Text = Field(description="the text as it was given; of an array, the name of its file, if it has one")
    words: list[Text] = Field(description="its words; of an array, the numbers of its regions, from 1")
    attention: list[Weights] = Field(
        description="for each target word the weight of each source word, from 0 to 1: (target words, source words)"
    )
    share: Weights = Field(
        description="for each target word the weight of the whole source, its end symbol too: (target words)"
    )
    end_attention: Weights | None = Field(
        None, description="for each target word the weight of the end symbol, if the model is taught to look there"
    )
    regions: bool = Field(False, description="whether the source is an array of regions, and not a text")
    match: MatchSchema | None = Field(None, description="of a text from a translation memory, what was found there")
    alignment: list[Annotated[list[Count], Field(min_length=2, max_length=2)]] = Field(
        description="links [source word, target word] from 0, which follow from the weights"
    )


class ReplacedSchema(Schema):
    """A word for which the model had no symbol (`<unk>`)."""

    word: Count = Field(description="the number of the word in words, from 0")
    source: Text = Field(description="the name of the source whose word took its place")
    source_word: Count = Field(description="the number of that word in its words, from 0")
    dictionary: bool = Field(description="whether a dictionary translated it; false = it stands there as it is")


Place = Annotated[list[Count], Field(min_length=2, max_length=2)]  # in characters, begin and end


class SpanSchema(Schema):
    """A span of a source that comes through verbatim."""

    text: Text = Field(description="the span")
    source: Text = Field(description="the name of its source")
    place: Place = Field(description="where it stands there, in characters from 0: begin and end")
    target: Place | None = Field(description="where it stands in the translation; null if it does not")


class TermSchema(SpanSchema):
    """A term of a glossary in a source."""

    text: Text = Field(description="the term, as it is written there")
    forms: list[Text] = Field(description="the forms of its translation, of which the translation is to have one")


class EditSchema(Schema):
    """A word of the edited source, of the translation, or of both."""

    word: Text = Field(description="the word, as it stands between spaces")
    change: Literal["kept", "deleted", "inserted"] = Field(description="what became of it")


class EditsSchema(Schema):
    """How a source was post-edited."""

    source: Text = Field(description="the name of the source that was edited")
    words: list[EditSchema] = Field(description="its words and those of the translation, in order")


class TranslationSchema(Schema):
    """A translation, or a given target under forced decoding, with everything that is known of it."""

    version: Literal[2] = Field(description="of this form")
    text: Text = Field(description="the translation")
    words: list[Text] = Field(description="its words")
    score: float | None = Field(
        description="what the search ranks by, log P under its length normalization; null if not finite"
    )
    log_prob: float | None = Field(
        description="log P(target given sources) in nats, the end counted; null if not finite"
    )
    log_probs: list[float | None] = Field(description="the same of each word, the sum over its symbols: (target words)")
    steps: list[StepSchema] = Field(description="the symbols in the order in which they were decided, the end last")
    statistics: dict[Text, Weights] = Field(
        {}, description="the statistics of the steps for each word, the mean over its symbols: (target words) by name"
    )
    confidence: ConfidenceSchema | None = Field(
        None, description="of a calibrated run, how sure it is; follows from `calibrated` of the steps"
    )
    criteria: dict[Text, float] = Field({}, description="what it was reranked by, by name; `score` is the weighted sum")
    withheld: Text | None = Field(
        None, description="the translation where its confidence is below --min-confidence; `text` is empty then"
    )
    sources: list[SourceSchema] = Field(
        min_length=1, description="what was translated, in the order of the configuration"
    )
    sentinel: Weights | None = Field(
        None, description="for each target word the weight that went to no source, if the model has a sentinel"
    )
    replaced: list[ReplacedSchema] = Field([], description="the words that stand for `<unk>`, and what they come from")
    spans: list[SpanSchema] = Field([], description="the protected spans of the source, in their order")
    terms: list[TermSchema] = Field([], description="the terms of a glossary in the source, in their order")
    proved: bool | None = Field(
        None, description="of exhaustive search, whether it has shown that none but those before it is more probable"
    )
    left_out: Count = Field(0, description="symbols at the end of overlong sources that were not read")
    reference: Text | None = Field(None, description="the translation by a person")
    pair: Text | None = Field(None, description="of a run with several pairs of languages, which one: en-de")
    edits: EditsSchema | None = Field(None, description="what post-editing changed")
    explanation: ExplanationSchema | None = Field(None, description="why it is this translation, if that was asked for")
    alternatives: list["TranslationSchema"] = Field(
        [], description="further translations, the next best first, each in this form"
    )

    @model_validator(mode="after")
    def _fits(self) -> "TranslationSchema":
        words = len(self.words)
        for number, source in enumerate(self.sources):
            place = f"sources.{number}"
            sized(f"{place}.attention", "rows", source.attention, words)
            for row, weights in enumerate(source.attention):
                sized(f"{place}.attention.{row}", "weights", weights, len(source.words))
            sized(f"{place}.share", "weights", source.share, words)
            sized(f"{place}.end_attention", "weights", source.end_attention, words)
        sized("sentinel", "weights", self.sentinel, words)
        for number, step in enumerate(self.steps):
            if step.word is not None and step.word >= words:
                raise misfit(f"steps.{number}.word: expected the number of one of {words} words, found {step.word}")
        names = {source.name: len(source.words) for source in self.sources}
        for number, replacement in enumerate(self.replaced):
            if replacement.word >= words or replacement.source_word >= names.get(replacement.source, 0):
                where = f"none {replacement.source_word} in {replacement.source}"
                raise misfit(f"replaced.{number}: there is no word {replacement.word}, or {where}")
        if self.explanation:
            self.explanation.fit("explanation", words, [len(source.words) for source in self.sources])
        if self.edits and self.edits.source not in names:
            raise misfit(f"edits.source: expected one of {', '.join(names)}, found {shown(self.edits.source)}")
        return self


def problem(error: ValidationError) -> str:
    """The first error: the keys that lead to it, and what was expected there."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "misfit":
        return f"{place}.{first['msg']}" if place else first["msg"]
    if first["type"] == "missing":
        return f"{place}: required"
    expected = "an object" if first["type"] == "model_type" else first["msg"].removeprefix("Input should be ")
    return f"{place}: expected {expected}, found {shown(first['input'])}"


def schema() -> str:
    """The JSON schema of a translation."""
    json_schema = {"$schema": GenerateJsonSchema.schema_dialect, **TranslationSchema.model_json_schema()}
    return json.dumps(json_schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
