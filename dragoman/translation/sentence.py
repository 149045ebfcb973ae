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
LEAST_CAPITALS = 4  # letters of a text that is taken for one in capitals, and no acronym


class OriginalText(NamedTuple):
    """The first text of a sentence as the user gave it, its protected spans there, and `place`, which maps spans of
    what the model reads to spans of it.
    """

    text: str
    spans: Sequence[Span]
    place: Callable[[Span], Span]


def _is_in_capitals(text: str) -> bool:
    """Return whether a text has at least LEAST_CAPITALS capitals, and no more letters in lower case than those."""
    capitals = sum(map(str.isupper, text))
    return capitals >= LEAST_CAPITALS and capitals >= sum(map(str.islower, text))


def _unchanged(text: str) -> tuple[str, list[Span]]:
    return text, []


@dataclass(frozen=True, eq=False)
class Sentence:
    """A text to translate, with its position `number`: `inputs` are the sources as given, `read` what the model reads.

    `mark` stands before a source and names the target `language` of a multilingual model; no translation has the
    symbols `forbidden`, `<unk>` among them. The translation begins with the text `beginning`, if there is one.
    `protection` finds all protected spans. `attends`: whether the model has attention. `target` is the given
    translation of a pair, `answer` a translation that needs no search. `notes` are those of the transforms. `restore`
    puts protected spans in the place of placeholders in a text of the model, and returns their places, too.
    """

    number: int
    inputs: tuple[Given, ...]
    read: tuple[Given, ...]
    reading: ModelInputs | CombinedInputs
    writing: ModelOutputs
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
            if transform.reads is None or transform.reads(sentence):
                sentence = transform.prepare(sentence)
        return sentence

    def noted(self, transform: "TextTransform", note: Any = None, **changes: Any) -> "Sentence":
        """Return the sentence with the note of a transform, and other changes."""
        # A new sentence: cached symbols depend on the text, and are computed again when they are needed.
        return replace(self, notes={**self.notes, transform: note}, **changes)

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.reading.sources

    @cached_property
    def encoded(self) -> list[Encoded]:
        """The symbols of each source."""
        return self.reading.encoded(self.read, self.mark)

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
        """Whether a text has two spaces in a row, which its translation may have as well."""
        # Of what the user gave: a span that a transform takes out may leave two spaces behind.
        return any(_SPACES.search(text) for text in self.inputs if isinstance(text, str))

    @property
    def in_capitals(self) -> bool:
        """Whether most letters of a text are capitals."""
        return any(isinstance(text, str) and _is_in_capitals(text) for text in self.inputs)

    @property
    def may_lack_words(self) -> bool:
        """Whether there may be no source word that can take the place of `<unk>`."""
        return not self.attends or self.protection is not None or not has_text(self.truncated)

    @property
    def is_protected(self) -> bool:
        """Whether it may have protected spans."""
        return self.protection is not None

    @property
    def seed(self) -> int:
        """The seed of its search: the same for the same sources, whatever else is translated."""
        seed = 0
        for source in self.truncated:
            symbols = (
                source.tobytes()
                if isinstance(source, np.ndarray)
                else "\n".join(map(str, source)).encode("utf-8", "surrogatepass")
            )
            # Chained over the sources; a checksum of what is read is the same in every process and batch.
            seed = zlib.crc32(symbols, seed)
        return seed

    @cached_property
    def prefix(self) -> list[int]:
        """The ids with which the translation begins. UserError if the model cannot produce them."""
        if self.beginning is None:
            return []
        text = self.beginning
        if isinstance(text, str) and text != text.rstrip():
            symbols = self.writing.begun(self.encoded, text)
            if UNK in self.writing.numbering(self.encoded).ids(symbols):
                text = text.rstrip()  # units of words have no symbol for a space at the end, which is where a word ends
        return self.writing.prefix(self.encoded, text, self.forbidden)

    @cached_property
    def written_prefix(self) -> str:
        """The text of the prefix, with placeholders."""
        return "".join(self.writing.surfaces(self.encoded, self.prefix))

    @cached_property
    def first_text(self) -> tuple[Language | None, str]:
        """The first source that is a text and not blank, and what is read of it; None and "" if all are blank."""
        pairs = zip(self.sources, self.read, strict=True)
        texts = [(source, str(text)) for source, text in pairs if isinstance(source, Language)]
        return next((pair for pair in texts if pair[1].strip()), (None, ""))

    @property
    def shown(self) -> OriginalText:
        """The first text as the user gave it."""
        return self.original or OriginalText(self.first_text[1], [], lambda span: span)

    def accepts(self, ids: Sequence[int]) -> bool:
        """Return whether a translation may begin with these symbols. Edits, whose words are those of a source, always
        may.
        """
        # The usual sentence has no transform that could object.
        if self.writing.edited is not None or not self.notes:
            return True
        surfaces = self.writing.surfaces(self.encoded, ids)
        return all(transform.accepts(self, ids, surfaces) for transform in self.notes)


class EncodedPair(NamedTuple):
    """A sentence, its symbols as they are read, and those of a translation."""

    sentence: Sentence
    encoded: list[Encoded]
    target: list[Symbol]


class TextTransform:
    """A step around the model, as transforms in OpenNMT and logits processors in Hugging Face. All methods are
    optional.

    Sentences are prepared by all transforms in order, and translations finished in reverse order. A transform keeps
    what it needs of a sentence in `Sentence.notes`; sentences without its note are not passed to it again, but for
    `finish`, which `writes` may ask for. `reads` and `writes` are properties of a sentence and of a translation: those
    for which they are false never enter the transform, so that a plain text meets none.
    """

    reads: "ClassVar[attrgetter[bool] | None]" = None  # of the sentences to prepare; None: all
    writes: "ClassVar[attrgetter[bool] | None]" = None  # of the translations to finish, of sentences without a note
    scores: ClassVar[bool] = False  # whether sentences with a given translation are prepared and finished, too
    inserts: ClassVar[bool] = False  # whether `finish` inserts words that no model read, which cannot be explained

    def prepare(self, sentence: Sentence) -> Sentence:
        """Return the sentence as the model should read it (`Sentence.noted`), or with its answer."""
        return sentence

    def constraints(self, batch: Sequence[Sentence], device: torch.device, *, strict: bool) -> list[Constraint]:
        """Return constraints on the translations of a batch. `strict`: of sentences that had an unacceptable
        translation.
        """
        return []

    def symbols(self, sentence: Sentence) -> Collection[int]:
        """Return ids of symbols that the translation may need, whatever a vocabulary shortlist has."""
        return ()

    def wrap(self, predictor: Predictor[Any], batch: Sequence[Sentence], device: torch.device) -> Predictor[Any]:
        """Return the predictor by which a batch is searched."""
        return predictor

    def accepts(self, sentence: Sentence, ids: Sequence[int], surfaces: Sequence[str]) -> bool:
        """Return whether a translation may begin with these symbols, with what they spell. The best is rarely
        unacceptable, so that a sentence is searched with this condition only if it was.
        """
        return True

    def finish(self, translation: Translation, sentence: Sentence) -> Translation:
        """Return a translation as the transforms before this one expect it."""
        return translation

    def answer(self, translation: Translation, sentence: Sentence) -> Translation:
        """Return the same of a translation that was known, and whose text stays."""
        return translation

    def retry(self, translation: Translation, sentence: Sentence) -> Sentence | None:
        """Return the sentence as it should be searched once more, given its translation; None if that is good
        enough.
        """
        return None

    def missing(self, translation: Translation, sentence: Sentence) -> int:
        """Return how many requirements a translation misses: of several, those that miss fewest are best."""
        return 0

    def closed(self, translation: Translation, sentence: Sentence) -> list[Span]:
        """Return parts of the text of a translation into which nothing may be inserted."""
        return []

    def complete(self, translation: Translation, sentence: Sentence) -> Translation:
        """Return the chosen translation, or an alternative, when nothing else is done to it."""
        return translation

    def contrast(self, text: str, sentence: Sentence) -> str:
        """Return another translation of the sentence as the model would write it, for explanations."""
        return text
