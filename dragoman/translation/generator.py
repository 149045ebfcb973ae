"""The search of a translator: sentences to hypotheses, in batches, under all constraints that hold for them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.data.batch import pad
from dragoman.data.language import Language
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.model import linear
from dragoman.model.predictor import Predictor
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.candidates import CandidateList, shortlisted
from dragoman.search.constraints import (
    CONSTRAINTS,
    All,
    Constraint,
    ConstraintContext,
    FittingEdits,
    ForbiddenSymbols,
    NoUnknownIn,
    Prefix,
    first_forbidden,
)
from dragoman.search.decoding import Deadline, Trace
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.phrase_bonus import PhraseBonus
from dragoman.search.phrases import Phrases
from dragoman.search.search import Search
from dragoman.search.spans import Accepted, FilteredSpellings
from dragoman.search.tempered import Tempered
from dragoman.text.edits import OPERATIONS
from dragoman.text.mark import Mark
from dragoman.text.unit import MARKS
from dragoman.translation import source_inputs
from dragoman.translation.processor import BATCH, ROWS, Codec, by_length
from dragoman.translation.sentence import Sentence
from dragoman.translation.transforms import placeholders


class Task(NamedTuple):
    """What is asked of the search for all sentences alike: `n_best` hypotheses each, and up to `spare` more. `mark`
    stands before the sources.
    """

    search: Search
    n_best: int = 1
    spare: int = 0
    mark: Sequence[Mark] = ()
    deadline: Deadline | None = None
    trace: Trace | None = None  # looks at the search of each batch


class SequenceGenerator:
    """A model or an ensemble on a device, the codec that prepares its input, and what its hypotheses keep to.

    With a `predictor`, the search uses that instead of the model. A `model` given as a function is loaded when it is
    first needed. `constraints` are those that the configuration names; `candidates` are the symbols that translations
    are restricted to; `backend` computes linear maps.
    """

    def __init__(
        self, model: Seq2Seq | Ensemble | Callable[[], Seq2Seq | Ensemble], codec: Codec, device: Device
    ) -> None:
        self._given = model
        self.codec = codec
        self.device = device
        self.predictor: Predictor[Any] | None = None
        self.candidates: CandidateList | None = None
        self.constraints: tuple[Spec, ...] = ()
        self.backend: linear.LinearBackend | None = None

    @property
    def target(self) -> Language:
        return self.codec.target

    @property
    def several(self) -> bool:
        """Whether several models predict together."""
        return isinstance(self.predictor or self._given, Ensemble)

    @cached_property
    def scorer(self) -> Seq2Seq | Ensemble:
        """The model or ensemble that scores given pairs, and predicts unless another engine does."""
        if isinstance(self._given, Seq2Seq | Ensemble):
            return self._given
        with torch.inference_mode(False):  # what is loaded in inference mode has no gradients, ever
            return self._given()

    @property
    def model(self) -> Seq2Seq:
        """The model of a single run. UserError for an ensemble."""
        if isinstance(self.scorer, Ensemble):
            raise UserError("several runs that translate together have no one model, which this needs")
        return self.scorer

    def threads(self, rows: int) -> AbstractContextManager[None]:
        """The threads for steps with this many rows; for 0, those for next to no work."""
        return self.device.threads_for(rows and rows * self._weights)

    @cached_property
    def _weights(self) -> int:
        """About how many weights each row is multiplied by in a step."""
        models = self.scorer.models if isinstance(self.scorer, Ensemble) else (self.scorer,)
        modules = (each for each in models if isinstance(each, nn.Module))
        return sum(part.numel() for each in modules for part in each.parameters())

    def generate(self, task: Task, sentences: Sequence[Sentence]) -> dict[int, list[Hypothesis]]:
        """The hypotheses of each sentence by its number, best first."""
        found = self._in_batches(task, sentences)
        if self.codec.reading.protection or any(each.constraints or each.detached for each in sentences):
            # The best is rarely anything but faithful, and looking at each beginning takes time.
            again = [each for each in sentences if not self.codec.faithful(each, found[each.number][0].symbols)]
            found |= self._in_batches(task, again, checked=True)
        return found

    def _in_batches(
        self, task: Task, sentences: Sequence[Sentence], *, checked: bool = False
    ) -> dict[int, list[Hypothesis]]:
        """The hypotheses of each sentence, from batches of similar length."""
        found: dict[int, list[Hypothesis]] = {}
        lengths = [min(source_inputs.length(each.encoded), source_inputs.LONGEST) for each in sentences]
        width = task.search.rows(task.n_best)
        for places in by_length(range(len(sentences)), lengths, BATCH // width, max(1, ROWS // width)):
            batch = [sentences[place] for place in places]
            every = zip(batch, self.hypotheses(task, batch, checked=checked), strict=True)
            found.update((each.number, hypotheses) for each, hypotheses in every)
        return found

    def hypotheses(self, task: Task, batch: Sequence[Sentence], *, checked: bool = False) -> list[list[Hypothesis]]:
        """Search one batch of sentences. `checked`: every beginning is faithful to its sentence."""
        batch = [each._replace(encoded=source_inputs.cut(each.encoded, source_inputs.LONGEST)) for each in batch]
        encoded = [each.encoded for each in batch]
        read = self.codec.reading.batch(encoded, self.codec.writing.vocabularies(encoded))
        sources = tuple(each.to(self.device.torch_device) for each in read)
        worded = [self.codec.attends and self.codec.has_word(each) for each in batch]
        found = self.of_symbols(task.mark, worded) + self._of_sentences(batch, checked=checked)
        model: Predictor[Any] = self.predictor or self.scorer
        if self.candidates:
            model = shortlisted(model, self.candidates.allowed(sources, self._always(batch)))
        if self.codec.temperature is not None:
            model = Tempered(model, self.codec.temperature)
        lexical = [each.constraints for each in batch if each.constraints]
        if any(each.favoured.wanted for each in lexical):
            favoured = Phrases([each.favoured for each in lexical], self.device.torch_device)
            model = PhraseBonus(model, favoured, lexical[0].weight)
        if self.codec.surfaces.target and (protection := self.codec.protection(batch[0])):
            replaced = self.codec.unknown is not None and all(worded)
            model = FilteredSpellings(model, lambda word: not protection.find(word), replaced=replaced)
        rows = 0 if self.predictor else task.search.rows(task.n_best) * len(batch)  # graphs have threads of their own
        with linear.use_backend(self.backend), self.threads(rows):
            return task.search(
                model,
                sources,
                task.n_best,
                task.spare,
                constraint=All(found) if found else None,
                seeds=[each.seed for each in batch],
                deadline=task.deadline,
                trace=task.trace,
            )

    def of_symbols(self, mark: Sequence[Mark], worded: Sequence[bool]) -> list[Constraint]:
        """The configured constraints for these sentences, and those that forbid symbols of other languages, and `<unk>`
        where no source word can take its place: without attention, or without a text (`worded`).
        """
        found = self._named(len(worded))
        if self.codec.unknown and not self.codec.surfaces.target and not all(worded):
            found.append(NoUnknownIn(~torch.tensor(worded, device=self.device.torch_device)))
        symbols = [number for each in mark for number in self.codec.foreign[each]]
        if self.codec.reading.protection:  # which marks are said is for the sources to tell
            symbols = [*set(symbols).difference(self.target.vocabulary.ids(MARKS)), *placeholders.unsaid(self.target)]
        if symbols:
            found.append(ForbiddenSymbols(symbols, len(self.target.vocabulary), self.device.torch_device))
        return found

    def first_forbidden(self, prefixes: Sequence[Sequence[int]]) -> int | None:
        """The place of the first prefix, as ids, that the configured constraints do not allow."""
        named = self._named(len(prefixes))
        return first_forbidden(self._padded(prefixes), All(named)) if named and prefixes else None

    def _named(self, sentences: int) -> list[Constraint]:
        """The configured constraints."""
        context = ConstraintContext(sentences, self.target, self.device.torch_device)
        return [components.build(CONSTRAINTS, spec, context) for spec in self.constraints]

    def _of_sentences(self, batch: Sequence[Sentence], *, checked: bool) -> list[Constraint]:
        """The constraints that each sentence has for itself."""
        found, device = list[Constraint](), self.device.torch_device
        if self.codec.reading.protection:
            found.append(placeholders.each_mark([each.encoded for each in batch], self.target, device, apart=checked))
        lexical = [each.constraints for each in batch if each.constraints]
        if any(each.required.wanted for each in lexical):
            found.append(Phrases([each.required for each in lexical], device))
        if checked:
            accepts = self.codec.faithful
            found.append(Accepted(len(batch), lambda place, ids: accepts(batch[place], ids), device))
        if any(each.prefix for each in batch):
            found.append(Prefix(self._padded([each.prefix for each in batch])))
        if self.codec.edited is not None:
            lengths = torch.tensor([len(each.encoded[self.codec.edited]) for each in batch])
            found.append(FittingEdits(lengths.to(device), self.target.vocabulary.ids(OPERATIONS)))
        return found

    def _always(self, batch: Sequence[Sentence]) -> Tensor:
        """The symbols (B, N) that are candidates for each sentence because its translation may have to have them."""
        ids = self.target.vocabulary.ids
        return self._padded(
            [
                [
                    *each.prefix,
                    *(ids(list(placeholders.marks_of(each.encoded))) if self.codec.reading.protection else ()),
                    *(each.constraints.symbols if each.constraints else ()),
                ]
                for each in batch
            ]
        )

    def _padded(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return pad([list(row) for row in rows]).ids.to(self.device.torch_device)
