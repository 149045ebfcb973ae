"""The keys and values of an explanation in JSON, a part of those of its translation. docs/explain.md describes them."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from dragoman.translation.json_values import Count, Schema, Text, Weights, misfit, sized

Part = Annotated[list[Count], Field(min_length=2, max_length=2)]  # of a list of words, begin and end


class SourceMapsSchema(Schema):
    """What the words of a source did for each target word, in nats, by two methods beside attention."""

    name: Text = Field(description="the name of the source")
    gradient: list[Weights] = Field(
        description="gradient times input of log P of the target word: (target words, source words)"
    )
    erasure: list[Weights] = Field(
        description="what log P of the target word loses without the source word: (target words, source words)"
    )
    gradient_share: Weights = Field(
        description="gradient times input summed over the whole source, its end symbol too: (target words)"
    )
    erasure_share: Weights | None = Field(
        None, description="what is lost without the whole source, of several: (target words)"
    )


class SourceContrastSchema(Schema):
    """The maps of a source, summed over words of this translation, less those of the other one: (source words)."""

    name: Text = Field(description="the name of the source")
    attention: Weights = Field(description="by attention")
    gradient: Weights = Field(description="by gradient times input, in nats")
    erasure: Weights = Field(description="by erasure, in nats")


class PlaceSchema(Schema):
    """Where the two translations differ."""

    words: Part = Field(description="the words that stand there in this translation, from 0: begin and end")
    other: Part = Field(description="those in the other one")
    difference: float = Field(description="log P of the former less log P of the latter, in nats")
    sources: list[SourceContrastSchema] = Field(description="what did it, in each source")


class ContrastSchema(Schema):
    """Why this translation and not another one."""

    text: Text = Field(description="the other one")
    words: list[Text] = Field(description="its words")
    log_prob: float = Field(description="its log-probability in nats, the end counted")
    difference: float = Field(description="log P of this translation less that, in nats")
    sources: list[SourceContrastSchema] = Field(
        description="what did it over all words, by gradient and erasure over the end symbol too, in each source"
    )
    places: list[PlaceSchema] = Field(description="the places where the words differ, in their order")

    def fit(self, place: str, words: int, lengths: Sequence[int]) -> None:
        """Raise an error unless the maps have so many words of each source, and the places are some of the words."""
        named_sources = [(f"{place}.sources", self.sources)]
        for number, difference in enumerate(self.places):
            named_sources.append((f"{place}.places.{number}.sources", difference.sources))
            for name, part, most in (("words", difference.words, words), ("other", difference.other, len(self.words))):
                if not part[0] <= part[1] <= most:
                    raise misfit(f"{place}.places.{number}.{name}: expected a part of {most} words, found {part}")
        for here, sources in named_sources:
            sized(here, "sources", sources, len(lengths))
            for number, (maps, length) in enumerate(zip(sources, lengths, strict=True)):
                for method in ("attention", "gradient", "erasure"):
                    sized(f"{here}.{number}.{method}", "values", getattr(maps, method), length)


class BeamNodeSchema(Schema):
    """A hypothesis that the search kept."""

    parent: Count | None = Field(description="the number of the one that it continues, from 0; null for the empty one")
    symbol: Text = Field(description="its last symbol")
    text: Text = Field(description="what that adds to its text")
    log_prob: float = Field(description="log-probability of the symbol in nats")
    total: float = Field(description="log-probability of all its symbols in nats")
    length: Count = Field(description="how many symbols it has, the end counted: the step at which it was kept")
    fate: Literal["continued", "pruned", "finished", "open"] = Field(
        description="what became of it: a longer one was kept, none was, it has ended, or the search ended before it"
    )
    score: float | None = Field(None, description="of one that is finished, what the search ranks by")


class NearSchema(Schema):
    """A training pair whose source is like this one."""

    source: Text = Field(description="the source, normalized")
    translation: Text = Field(description="its translation")
    score: float = Field(ge=0, le=1, description="how similar the sources are; 1 is the same")


class ExplanationSchema(Schema):
    """Why a translation is as it is. The attention stands in `sources` of the translation."""

    sources: list[SourceMapsSchema] = Field(
        description="the maps of each source, in the order of those of the translation"
    )
    contrast: ContrastSchema | None = Field(None, description="why not another translation, if one was named")
    beam: list[BeamNodeSchema] = Field(
        [], description="the hypotheses that the search kept, shorter ones first, then the finished ones, best first"
    )
    nearest: list[NearSchema] = Field([], description="the most similar training pairs, the most similar first")

    def fit(self, place: str, words: int, lengths: Sequence[int]) -> None:
        """Raise an error that names the key below `place` unless the maps have so many target words, and so many words
        of each source.
        """
        sized(f"{place}.sources", "sources", self.sources, len(lengths))
        for number, (maps, length) in enumerate(zip(self.sources, lengths, strict=True)):
            here = f"{place}.sources.{number}"
            for name, rows in (("gradient", maps.gradient), ("erasure", maps.erasure)):
                sized(f"{here}.{name}", "rows", rows, words)
                for row, values in enumerate(rows):
                    sized(f"{here}.{name}.{row}", "values", values, length)
            sized(f"{here}.gradient_share", "values", maps.gradient_share, words)
            sized(f"{here}.erasure_share", "values", maps.erasure_share, words)
        for number, node in enumerate(self.beam):
            if node.parent is not None and node.parent >= number:
                raise misfit(
                    f"{place}.beam.{number}.parent: expected the number of an earlier one, found {node.parent}"
                )
        if self.contrast:
            self.contrast.fit(f"{place}.contrast", words, lengths)
