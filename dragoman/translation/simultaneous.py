"""Simultaneous translation: which runs can translate a text that is still arriving, and when a model reads."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.configuration import arguments, components
from dragoman.configuration.components import Spec
from dragoman.data.language import is_only_text, require_text
from dragoman.errors import UserError
from dragoman.model.attention.terms.wait_terms import ShiftTerm
from dragoman.search.constraints import CombinedConstraints, NoUnknownInSentences
from dragoman.search.streaming import AdaptivePolicy, EmittedSymbol, StreamingPredictor, WaitKPolicy, stream
from dragoman.search.table import SEARCHES
from dragoman.text.mark import Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.translation.generator import SequenceGenerator
from dragoman.translation.incremental_text import ArrivingText, spoken
from dragoman.translation.transforms.unknown_words import UnknownWords
from dragoman.translation.translation import StreamedWord


class SimultaneousTranslator:
    """Translates texts while their words arrive, with the model of a generator and the limits of a search. `wait` is
    the k of wait-k; without it, the model decides when to read. UserError for what needs the whole text.
    """

    def __init__(self, generator: SequenceGenerator, search: Spec, wait: int | None = None) -> None:
        wait = None if wait is None else arguments.whole(wait, "wait")
        _check(generator, wait)
        self.generator = generator
        self.processor = generator.processor
        self._unknown_words = self.processor.transform(UnknownWords)
        self.limit = components.build(SEARCHES, search).limit
        self.wait = wait

    def translate(self, words: Iterable[str], to: str | None = None) -> Iterator[StreamedWord]:
        """Yield each target word as soon as the next one begins. UserError if nothing says when to read, TypeError if
        the words are a whole text.
        """
        if isinstance(words, str | bytes) or not isinstance(words, Iterable):
            raise arguments.unexpected(words, "words", "words one by one, as in simultaneous(text.split())")
        mark = self.processor.mark(to)
        text = ArrivingText(words, require_text(self.processor.model_inputs.sources), mark)
        model = self._predictor(text)
        constraints = self.generator.constraints_of(mark, 1)
        if self._unknown_words and not self.processor.attends:
            constraints.append(
                NoUnknownInSentences(torch.ones(1, dtype=torch.bool, device=self.generator.device.torch_device))
            )
        decided = self._one_by_one(stream(model, CombinedConstraints(constraints)))
        return spoken(decided, self.processor.target, text, partial(self._replaced, text.symbols))

    def _predictor(self, text: ArrivingText) -> StreamingPredictor:
        """The model, which reads as `wait` says or as it decides."""
        model = self.generator.model
        arguments = model, text, self.limit, self.generator.device.torch_device
        if self.wait is not None:
            return WaitKPolicy(*arguments, self.wait)
        if any(isinstance(part, ShiftTerm) for part in model.modules()):
            return AdaptivePolicy(*arguments)
        raise UserError("this model does not decide when to read (no attention term shift); use --wait K")

    def _replaced(
        self, source: list[Symbol], unknown: list[int], words: WordsOf, attention: NDArray[np.float64]
    ) -> dict[int, str]:
        """What words of these numbers become, by the attention to what has arrived."""
        if self._unknown_words is None:
            return {}
        seen, _ = self.processor.model_inputs.seen(("",), [source], words, (attention,))
        return {word: text for word, (text, _) in self._unknown_words.replaced(unknown, seen).items()}

    def _one_by_one(self, decided: Iterator[EmittedSymbol]) -> Iterator[EmittedSymbol]:
        """The same symbols, each computed with the threads for one row."""
        while True:
            with self.generator.threads(1):
                emitted = next(decided, None)
            if emitted is None:
                return
            yield emitted


def _check(generator: SequenceGenerator, wait: int | None) -> None:
    """UserError unless a model, read with this `wait`, can begin before its source has ended."""
    processor = generator.processor
    if wait is not None and wait < 1:
        raise UserError(f"wait is {wait}: at least one source symbol is read before a word is written")
    if not is_only_text(processor.model_inputs.sources) or processor.edited is not None:
        raise UserError("simultaneous translation requires a single source")
    if generator.predictor or generator.engine or generator.backend or generator.shortlist:
        raise UserError("simultaneous translation requires engine torch without a shortlist")
    text = require_text(processor.model_inputs.sources).text
    if text.suffix or text.padded_length:
        raise UserError("simultaneous translation does not support text.source.suffix and text.source.padded_length")
    if processor.model_inputs.protection:
        raise UserError("simultaneous translation does not support text.protect")
    if processor.model_outputs.extends:
        raise UserError("simultaneous translation does not support an output that copies source words")
    if processor.surfaces.sources or processor.surfaces.target:
        raise UserError("simultaneous translation does not support models that read or spell characters")
    if not generator.model.alignment_model.reads_one_step:
        raise UserError("simultaneous translation does not support hard attention of order: 1")
