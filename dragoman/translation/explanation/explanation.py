"""Explanations of translations: what each source word did, by three methods, and what stands beside that."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal, get_args

import numpy as np
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from dragoman.corpus.translation_memory import Match
from dragoman.translation.attention_matrix import SHORT, AttentionMatrix, SourceAttention, attention_matrix
from dragoman.translation.explanation import explanation_json
from dragoman.translation.explanation.explanation_schema import ExplanationSchema
from dragoman.translation.explanation.source_maps import Contrast, Map, SourceContrast, SourceMaps
from dragoman.visualization import explained, heatmap
from dragoman.visualization.explained import AttributionMap, BeamNode

Method = Literal["attention", "gradient", "erasure"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a translation has these `words`, with these probabilities (`log_probs`, in nats).

    `attended` are its sources with the attention to them, `sentinel` the attention to none; `sources` have the maps by
    gradient and by erasure beside it. `contrast` is there if another translation was named. `search` finds `beam`, the
    hypotheses that the search for this translation kept, shorter ones first; none if it was given. `nearest` are the
    most similar training pairs. `confidence` (target words,) is how sure a calibrated run is of each word.

    It prints itself: of every target word the source words that did most, by each method.
    """

    text: str
    words: list[str]
    log_probs: Map
    attended: tuple[SourceAttention, ...]
    sentinel: Map | None
    sources: tuple[SourceMaps, ...]
    contrast: Contrast | None = None
    search: Callable[[], tuple[BeamNode, ...]] = tuple
    nearest: tuple[Match, ...] = ()
    confidence: Map | None = None

    @cached_property
    def beam(self) -> tuple[BeamNode, ...]:
        """The tree of the search, which is done once more when this is first asked for."""
        return self.search()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "search": partial(tuple, self.beam)}  # what found it has the whole model

    def matrix(self, method: Method) -> AttentionMatrix:
        """The map of all sources by a method, with the names of its columns. With several sources, the share of each
        stands before its words; a sentinel has a share of the attention alone.
        """
        if method == "attention":
            return attention_matrix(self.attended, self.sentinel)
        maps_and_shares = [(maps.gradient, maps.gradient_share) for maps in self.sources]
        if method == "erasure":
            nothing = np.zeros(len(self.words))
            erasures = ((maps.erasure, maps.erasure_share) for maps in self.sources)
            maps_and_shares = [(erasure, nothing if share is None else share) for erasure, share in erasures]
        return self._beside(maps_and_shares)

    def contrast_matrix(self) -> AttentionMatrix:
        """The contrast, by gradient and by erasure (rows). ValueError if there is none."""
        if self.contrast is None:
            raise ValueError("no contrast: pass a contrasting translation")
        stacked = [np.stack([maps.gradient, maps.erasure]) for maps in self.contrast.sources]
        return self._beside([(source_map, source_map.sum(1)) for source_map in stacked])

    def _beside(self, maps_and_shares: list[tuple[Map, Map]]) -> AttentionMatrix:
        sources = zip(self.attended, maps_and_shares, strict=True)
        return attention_matrix(
            tuple(seen._replace(attention=source_map, share=share) for seen, (source_map, share) in sources)
        )

    def json(self) -> dict[str, Any]:
        """The key `explanation` of the JSON form of its translation, as a mapping."""
        return self.form.model_dump(exclude_defaults=True)

    @property
    def form(self) -> ExplanationSchema:
        """The JSON form. Numbers are rounded to 6 decimals."""
        return explanation_json.written(self.sources, self.contrast, self.beam, self.nearest)

    def __str__(self) -> str:
        console = Console(width=120, color_system=None, highlight=False)
        with console.capture() as output:
            console.print(self)
        return output.get().rstrip("\n")

    def __repr__(self) -> str:
        return f"Explanation({SHORT.repr(self.text)}, source={SHORT.repr(self.attended[0].text)})"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield explained.words(self.words, self.log_probs, self._shown(), self._shares(), self.confidence)
        if self.contrast:
            yield Text(f"\nand not: {self.contrast.text}", no_wrap=True)
            yield explained.contrast(self.differences())
        if self.nearest:
            yield Text("")
            yield explained.nearest(self.nearest)
        if self.beam:
            yield Text(f"\nsearch: {explained.summarize_search(self.beam)}")

    def _repr_html_(self) -> str:
        """A heat map of each method, in a notebook."""
        matrices = ((method, self.matrix(method)) for method in METHODS)
        return "".join(
            f"<p>{method}</p>{heatmap.html(seen.attention, seen.columns, self.words, signed=method != 'attention')}"
            for method, seen in matrices
        )

    def _shown(self) -> dict[str, AttributionMap]:
        """The map of words by each method."""
        shown = dict[str, AttributionMap]()
        for method in METHODS:
            maps = [source.attention for source in self.attended]
            if method != "attention":
                maps = [getattr(source, method) for source in self.sources]
            shown[method] = AttributionMap(np.concatenate(maps, 1), self._columns(), method != "attention")
        return shown

    def _shares(self) -> AttributionMap | None:
        """The attention to each of several sources as a whole, and to a sentinel."""
        seen = self.matrix("attention")
        return (
            AttributionMap(seen.attention[:, seen.shares], [seen.columns[place] for place in seen.shares])
            if seen.shares
            else None
        )

    def _columns(self) -> list[str]:
        """The words of all sources, with the name of the source if there are several."""
        several = len(self.attended) > 1
        return [f"{word} [{source.name}]" if several else word for source in self.attended for word in source.words]

    def differences(self) -> list[list[str]]:
        """The contrast in words: a row for each place where the translations differ, and one for all, after a row of
        headings; empty if there is no contrast.
        """
        return explained.differences(self._places(self.contrast), self._columns()) if self.contrast else []

    def _places(self, contrast: Contrast) -> Iterator[tuple[str, float, dict[str, Map]]]:
        """What stands at each place in the two translations, and in all of them, with the maps of words."""
        for place in contrast.places:
            one, other = (
                " ".join(words[slice(*part)]) or "–"
                for words, part in ((self.words, place.words), (contrast.words, place.other))
            )
            yield f"{one} / {other}", place.difference, _joined(place.sources)
        yield "in all", contrast.difference, _joined(contrast.sources)


def _joined(sources: tuple[SourceContrast, ...]) -> dict[str, Map]:
    """The maps of all sources beside each other, by method."""
    return {method: np.concatenate([getattr(source, method) for source in sources]) for method in METHODS}
