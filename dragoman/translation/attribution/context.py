"""Where a translation comes from: the pair and the search by which it can be explained."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dragoman.configuration import arguments
from dragoman.corpus.translation_memory import Match
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.search.tree import SearchTree
from dragoman.translation.attribution.attribution import contrasted, explained
from dragoman.translation.explanation.explanation import Explanation
from dragoman.translation.generator import SequenceGenerator, Task
from dragoman.translation.processor import listed
from dragoman.translation.sentence import EncodedPair, Sentence
from dragoman.translation.source_inputs import symbol_name
from dragoman.translation.translation import NO_MODEL, Translation
from dragoman.visualization.explained import BeamNode

EVERY = 1_000_000  # finished hypotheses that a search keeps beside those asked for: all of them
CONTRASTS = "explain([translation], [text])"

Similar: TypeAlias = Callable[[Sequence[str], int], list[list[Match]]]  # so many training pairs for each text


class Searched(NamedTuple):
    """The search that found a translation."""

    task: Task
    sentence: Sentence


@dataclass(frozen=True)
class ExplanationContext:
    """The pair that is explained, by the model of `generator`; the search that found it, unless the pair was given;
    what finds `similar` training pairs, if these are there; and what the model said, without spans that were taken out
    of its text.
    """

    generator: SequenceGenerator
    pair: EncodedPair
    searched: Searched | None = None
    similar: Similar | None = None
    draft: Translation | None = None

    def __call__(self, translation: Translation, contrast: str | None, nearest: int) -> Explanation:
        (explanation,) = explain([translation], [contrast], nearest)
        return explanation

    def instead(self, text: str) -> EncodedPair:
        """The very same sources with another translation, whatever of their spans that has."""
        pair = self.pair
        for transform in pair.sentence.notes:
            text = transform.contrast(text, pair.sentence)
        return pair._replace(target=self.generator.processor.model_outputs.symbols(pair.encoded, text, None))

    def beam(self) -> tuple[BeamNode, ...]:
        """The hypotheses that the search kept, and all that finished; none if there was no search."""
        if self.searched is None:
            return ()
        (task, sentence), trace, processor = self.searched, SearchTree(), self.generator.processor
        self.generator.generate(task._replace(spare=EVERY, deadline=None, trace=trace), [sentence])
        nodes, symbols_so_far = list[BeamNode](), list[list[str]]()
        for step in trace.trees[0]:
            (symbol,) = processor.model_outputs.named(sentence.encoded, [step.symbol])
            written = str(symbol) if step.surface is None else step.surface
            symbols_so_far.append([*([] if step.parent is None else symbols_so_far[step.parent]), written])
            text = "" if step.symbol == EOS else processor.target.text.tokenizer.surfaces(symbols_so_far[-1])[-1]
            shown = symbol_name(symbol) if step.surface is None else step.surface
            nodes.append(BeamNode(step.parent, shown, text, *step[3:6], str(step.fate), step.score))
        return tuple(nodes)


def explain(
    translations: Iterable[Translation], contrasts: Sequence[str | None] = (), nearest: int = 0
) -> list[Explanation]:
    """Explain translations by one model, and why they are not these other ones. UserError if one has no model."""
    if not isinstance(translations, Iterable):
        raise arguments.unexpected(translations, "translations", "a list of translations, as in explain([translation])")
    translations = [arguments.checked(item, "translations", Translation) for item in translations]
    origins = [item.explainer for item in translations]
    own_origins = [item for item in origins if isinstance(item, ExplanationContext)]
    if len(own_origins) < len(origins):
        raise UserError(NO_MODEL)
    contrasts = [arguments.checked(item, "contrast", str, type(None)) for item in listed(contrasts, CONTRASTS)]
    if contrasts and len(contrasts) != len(own_origins):
        raise ValueError(f"{len(own_origins)} translations and {len(contrasts)} contrasts: expected one each, or None")
    nearest = arguments.whole(nearest, "nearest", 0)
    if not own_origins:
        return []
    similar = own_origins[0].similar if nearest else None
    matches = similar([_text(item) for item in translations], nearest) if similar else [[] for _ in own_origins]
    instead = contrasts or [None] * len(own_origins)
    drafts = [origin.draft or item for origin, item in zip(own_origins, translations, strict=True)]
    other_pairs = [item.instead(text) for item, text in zip(own_origins, instead, strict=True) if text is not None]
    explanations = explained(own_origins[0].generator, [*(item.pair for item in own_origins), *other_pairs])
    mine, theirs = explanations[: len(own_origins)], iter(explanations[len(own_origins) :])
    why_not = [None if text is None else contrasted(one, next(theirs)) for one, text in zip(mine, instead, strict=True)]
    return [
        Explanation(
            translation.text,
            translation.words,
            translation.log_probs,
            translation.sources,
            translation.sentinel,
            one.sources,
            contrast,
            origin.beam,
            tuple(near),
            translation.confidence and translation.confidence.words,
        )
        for translation, origin, one, contrast, near in zip(drafts, own_origins, mine, why_not, matches, strict=True)
    ]


def _text(translation: Translation) -> str:
    """The first source that is a text of the user's."""
    texts = (source.text for source in translation.sources if not source.regions and source.match is None)
    return next(texts, "")
