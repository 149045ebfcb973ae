"""A text on its way from the user to its translation, and the contract of the transforms that it passes."""

import re
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from dragoman.corpus.features import Given
from dragoman.data.language import Language, Source
from dragoman.data.vocabulary import UNK
from dragoman.model.predictor import Predictor
from dragoman.search.constraints import Constraint
from dragoman.text.mark import Mark, Symbol
from dragoman.text.pretokenizer import Span
from dragoman.text.protection import Protection
from dragoman.translation import source_inputs
from dragoman.translation.combined_inputs import CombinedInputs
from dragoman.translation.output_text import ModelOutputs
from dragoman.translation.source_inputs import Encoded, ModelInputs, cut, has_text
from dragoman.translation.translation import Translation

_SPACES = re.compile(r"\s\s")
LEAST_CAPITALS = 4  # letters of a text in capitals; fewer may be an acronym


class OriginalText(NamedTuple):
    """The first text of a sentence as the user gave it, its protected spans, and `to_original`, which maps spans of the
    model's input to spans of the original text.
    """

    text: str
    spans: Sequence[Span]
    to_original: Callable[[Span], Span]


def _is_in_capitals(text: str) -> bool:
    """Return whether a text has at least LEAST_CAPITALS capitals, and no more lower-case letters than capitals."""
    capitals = sum(map(str.isupper, text))
    return capitals >= LEAST_CAPITALS and capitals >= sum(map(str.islower, text))


def _unchanged(text: str) -> tuple[str, list[Span]]:
    return text, []


@dataclass(frozen=True, eq=False)
class Sentence:
    """A text to translate, with its position `number` in the call.

    `inputs` is one text (or array) for each source as the user gave it, `prepared_inputs` the same after the
    transforms. `model_inputs` and `model_outputs` belong to the run: the first turns prepared inputs into the symbols
    that the model reads, the second turns symbols into the text of a translation.

    `mark` precedes a source and names the target `language` of a multilingual model; no translation contains the
    symbols `forbidden`, such as `<unk>`. The translation begins with the text `beginning`, if there is one.
    `protection` finds all protected spans. `attends`: whether the model has attention. `target` is the given
    translation of a pair, `answer` a translation that needs no search. `notes` has an entry for each transform that
    changed the sentence or needs it later. `restore` replaces placeholders in a text of the model by their protected
    spans, and returns the positions of these, too.
    """

    number: int
    inputs: tuple[Given, ...]
    prepared_inputs: tuple[Given, ...]
    model_inputs: ModelInputs | CombinedInputs
    model_outputs: ModelOutputs
    language: str
    mark: Sequence[Mark] = ()
    forbidden: frozenset[int] = frozenset({UNK})
    beginning: str | None = None
    protection: Protection | None = None
    transforms: tuple["TextTransform", ...] = ()
    attends: bool = True
    target: str | None = None
    answer: str | None = None
    notes: dict["TextTransform", Any] = field(default_factory=dict)
    original: OriginalText | None = None
    restore: Callable[[str], tuple[str, list[Span]]] = _unchanged

    def prepared(self) -> "Sentence":
        """Return the sentence after all transforms."""
        sentence = self
        for transform in self.transforms:
            if transform.applies_to is None or transform.applies_to(sentence):
                sentence = transform.prepare(sentence)
        return sentence

    def noted(self, transform: "TextTransform", note: Any = None, **changes: Any) -> "Sentence":
        """Return the sentence with the note of a transform, and other changes."""
        # A new sentence, since cached symbols depend on the text.
        return replace(self, notes={**self.notes, transform: note}, **changes)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the run, one for each input: their languages, tokenizers and vocabularies."""
        return self.model_inputs.sources

    @cached_property
    def encoded(self) -> list[Encoded]:
        """The symbols of each source."""
        return self.model_inputs.encoded(self.prepared_inputs, self.mark)

    @cached_property
    def truncated(self) -> list[Encoded]:
        """The symbols of each source that are read, at most LONGEST."""
        return cut(self.encoded, source_inputs.LONGEST)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to translate."""
        return not any(len(symbols) > len(self.mark) for symbols in self.encoded)

    @property
    def has_spaces_in_a_row(self) -> bool:
        """Whether a text has two spaces in a row; its translation may have them, too."""
        # Looks at the original text: a transform that removes a span may leave two spaces in `prepared_inputs`.
        return any(_SPACES.search(text) for text in self.inputs if isinstance(text, str))

    @property
    def in_capitals(self) -> bool:
        """Whether most letters of a text are capitals."""
        return any(isinstance(text, str) and _is_in_capitals(text) for text in self.inputs)

    @property
    def may_lack_words(self) -> bool:
        """Whether there may be no source word that can replace `<unk>`."""
        return not self.attends or self.protection is not None or not has_text(self.truncated)

    @property
    def is_protected(self) -> bool:
        """Whether it may have protected spans."""
        return self.protection is not None

    @property
    def seed(self) -> int:
        """The seed of the search: the same for the same sources, whatever else is translated."""
        seed = 0
        for source in self.truncated:
            symbols = (
                source.tobytes()
                if isinstance(source, np.ndarray)
                else "\n".join(map(str, source)).encode("utf-8", "surrogatepass")
            )
            # A checksum, chained over the sources: unlike `hash`, the same in every process.
            seed = zlib.crc32(symbols, seed)
        return seed

    @cached_property
    def prefix(self) -> list[int]:
        """The ids with which the translation begins. UserError if the model cannot produce them."""
        if self.beginning is None:
            return []
        text = self.beginning
        if isinstance(text, str) and text != text.rstrip():
            symbols = self.model_outputs.encode_prefix(self.encoded, text)
            # Numbers depend on the sources: words that can be copied from them have one.
            if UNK in self.model_outputs.numbering(self.encoded).ids(symbols):
                text = text.rstrip()  # word-level models have no symbol for a space at the end
        return self.model_outputs.prefix(self.encoded, text, self.forbidden)

    @cached_property
    def written_prefix(self) -> str:
        """The text of the prefix, with placeholders."""
        return "".join(self.model_outputs.surfaces(self.encoded, self.prefix))

    @cached_property
    def first_text(self) -> tuple[Language | None, str]:
        """The first text source that is not blank, and its text as the model reads it; None and "" if all are blank."""
        pairs = zip(self.sources, self.prepared_inputs, strict=True)
        texts = [(source, str(text)) for source, text in pairs if isinstance(source, Language)]
        return next((pair for pair in texts if pair[1].strip()), (None, ""))

    @property
    def shown(self) -> OriginalText:
        """The first text as the user gave it."""
        return self.original or OriginalText(self.first_text[1], [], lambda span: span)

    def accepts(self, ids: Sequence[int]) -> bool:
        """Return whether a translation may begin with these symbols; always true for edit operations, which copy words
        of a source.
        """
        # Usually no transform of the sentence could object.
        if self.model_outputs.edited is not None or not self.notes:
            return True
        surfaces = self.model_outputs.surfaces(self.encoded, ids)
        return all(transform.accepts(self, ids, surfaces) for transform in self.notes)


class EncodedPair(NamedTuple):
    """A sentence, its symbols as the model reads them, and the symbols of a translation."""

    sentence: Sentence
    encoded: list[Encoded]
    target: list[Symbol]


class TextTransform:
    """A step before and after the model, like transforms in OpenNMT and logits processors in Hugging Face. All methods
    are optional.

    Transforms prepare a sentence in order, and finish its translation in reverse order. A transform keeps what it
    needs later in `Sentence.notes`. `applies_to` and `applies_to_translation` are predicates. `prepare` is skipped
    if `applies_to` is false. A sentence without a note is passed only to `finish`, and only if
    `applies_to_translation` is true.

    A search is made first as if no transform could object, since few do. If the translation that it returns is not
    accepted (`accepts`), the sentence is searched again, with `constraints` that are `strict`.

    The order of calls: `prepare`; `constraints`, `symbols` and `wrap` for the search; `finish` for each hypothesis;
    `retry` and `missing`; `complete`.
    """

    applies_to: "ClassVar[attrgetter[bool] | None]" = None  # predicate of a sentence; None: true
    applies_to_translation: "ClassVar[attrgetter[bool] | None]" = None  # predicate of a translation; None: false
    applies_to_given: ClassVar[bool] = False  # whether it also applies to pairs, whose translation is given
    measures: ClassVar[bool] = False  # whether `wrap` adds statistics to predictions, and changes none
    inserts: ClassVar[bool] = False  # whether `finish` inserts words that the model did not write; not explainable

    def prepare(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model should read it (`Sentence.noted`), or with a known `answer`."""
        return sentence

    def constraints(self, batch: Sequence[Sentence], device: torch.device, *, strict: bool) -> list[Constraint]:
        """Return constraints on the translations of a batch. `strict`: this is the second search of these sentences."""
        return []

    def symbols(self, sentence: Sentence) -> Collection[int]:
        """Return ids of symbols that the translation may need, to be added to a vocabulary shortlist."""
        return ()

    def wrap(self, predictor: Predictor[Any], batch: Sequence[Sentence], device: torch.device) -> Predictor[Any]:
        """Return the predictor for the search of a batch: this one, or one that wraps it."""
        return predictor

    def needs_details(self, sentence: Sentence) -> bool:
        """Return whether `finish` reads the attention of a translation, or log P of its words."""
        return True

    def accepts(self, sentence: Sentence, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        """Return whether a translation may begin with these symbols, which spell `surfaces`."""
        return True

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        """Return the translation of a hypothesis, changed as earlier transforms expect it: the inverse of `prepare`."""
        return translation

    def finish_known(self, translation: Translation, sentence: Sentence) -> Translation:
        """As `finish`, for a translation that was known without a search (`Sentence.answer`); keep its text."""
        return translation

    def retry(self, translation: Translation, sentence: Sentence) -> Sentence | None:
        """Return the sentence for another search, given its translation; None if the translation is good enough."""
        return None

    def missing(self, translation: Translation, sentence: Sentence) -> int:
        """Return how many requirements a translation misses; translations that miss fewer are ranked first."""
        return 0

    def closed(self, translation: Translation, sentence: Sentence) -> list[Span]:
        """Return spans of the text of a translation into which nothing may be inserted."""
        return []

    def complete(self, translation: Translation, sentence: Sentence) -> Translation:
        """Return the final translation. Called last, on the chosen translation and its alternatives."""
        return translation

    def contrast(self, text: str, sentence: Sentence) -> str:
        """Return another translation of the sentence as the model would write it, for explanations."""
        return text
