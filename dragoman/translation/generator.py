"""The search of a translator: sentences to hypotheses, in batches, under all constraints that hold for them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.data.batch import SourceBatch, pad_tokens
from dragoman.data.language import Language
from dragoman.data.vocabulary import UNK
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.model import linear
from dragoman.model.predictor import Predictor
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.constraints import (
    CONSTRAINTS,
    CombinedConstraints,
    Constraint,
    ConstraintContext,
    EditConstraint,
    ForbiddenSymbols,
    Prefix,
    first_forbidden,
)
from dragoman.search.decoding import Deadline, Trace
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.search import Search
from dragoman.search.search_engine import SearchEngine, SearchRequest
from dragoman.search.shortlist import Shortlist, restrict_model
from dragoman.search.spans import PrefixFilter
from dragoman.text.edits import OPERATIONS
from dragoman.text.mark import Mark
from dragoman.translation import source_inputs
from dragoman.translation.processor import BATCH, ROWS, Processor, by_length
from dragoman.translation.sentence import Sentence, TextTransform


class Task(NamedTuple):
    """What is asked of the search for all sentences alike: `n_best` hypotheses each, and up to `spare` more. `mark`
    stands before the sources. Without `details`, log P of symbols and attention are not needed.
    """

    search: Search
    n_best: int = 1
    spare: int = 0
    mark: Sequence[Mark] = ()
    deadline: Deadline | None = None
    trace: Trace | None = None  # looks at the search of each batch
    details: bool = True


class SequenceGenerator:
    """A model or an ensemble on a device, the processor that prepares its input, and what its hypotheses keep to.

    With a `predictor`, the search uses that instead of the model. A `model` given as a function is loaded when it is
    first needed. With an `engine`, that searches, too. `constraints` are those that the configuration names;
    `shortlist` restricts the symbols of translations; `backend` computes linear maps.
    """

    def __init__(
        self, model: Seq2Seq | Ensemble | Callable[[], Seq2Seq | Ensemble], processor: Processor, device: Device
    ) -> None:
        self._original = model
        self.processor = processor
        self.device = device
        self.predictor: Predictor[Any] | None = None
        self.engine: SearchEngine | None = None
        self.shortlist: Shortlist | None = None
        self.constraints: tuple[Spec, ...] = ()
        self.backend: linear.LinearBackend | None = None

    @property
    def target(self) -> Language:
        return self.processor.target

    @property
    def several(self) -> bool:
        """Whether several models predict together."""
        return isinstance(self.predictor or self._original, Ensemble)

    @cached_property
    def scorer(self) -> Seq2Seq | Ensemble:
        """The model or ensemble that scores given pairs, and predicts unless another engine does."""
        if isinstance(self._original, Seq2Seq | Ensemble):
            return self._original
        with torch.inference_mode(False):  # what is loaded in inference mode has no gradients, ever
            return self._original()

    @property
    def model(self) -> Seq2Seq:
        """The model of a single run. UserError for an ensemble."""
        if isinstance(self.scorer, Ensemble):
            raise UserError("not supported by ensembles: expected a single run")
        return self.scorer

    def threads(self, rows: int) -> AbstractContextManager[None]:
        """Return the threads for steps with this many rows; for 0, those for next to no work."""
        return self.device.threads_for(rows and rows * self._weights)

    @cached_property
    def _weights(self) -> int:
        """About how many weights each row is multiplied by in a step."""
        models = self.scorer.models if isinstance(self.scorer, Ensemble) else (self.scorer,)
        modules = (module for module in models if isinstance(module, nn.Module))
        return sum(part.numel() for module in modules for part in module.parameters())

    def generate(self, task: Task, sentences: Sequence[Sentence]) -> dict[int, list[Hypothesis]]:
        """Return the hypotheses of each sentence by its number, best first."""
        hypotheses = self._in_batches(task, sentences)
        # The best is rarely unacceptable, and looking at each beginning takes time.
        again = [sentence for sentence in sentences if not sentence.accepts(hypotheses[sentence.number][0].symbols)]
        return hypotheses | self._in_batches(task, again, strict=True) if again else hypotheses

    def _in_batches(
        self, task: Task, sentences: Sequence[Sentence], *, strict: bool = False
    ) -> dict[int, list[Hypothesis]]:
        """Return the hypotheses of each sentence, from batches of similar length."""
        hypotheses_by_number: dict[int, list[Hypothesis]] = {}
        lengths = [min(source_inputs.length(sentence.encoded), source_inputs.LONGEST) for sentence in sentences]
        width = task.search.rows(task.n_best)  # rows of a sentence, each with a state and probabilities
        for places in by_length(range(len(sentences)), lengths, BATCH // width, max(1, ROWS // width)):
            batch = [sentences[place] for place in places]
            searched = zip(batch, self.hypotheses(task, batch, strict=strict), strict=True)
            hypotheses_by_number.update((sentence.number, hypotheses) for sentence, hypotheses in searched)
        return hypotheses_by_number

    def hypotheses(self, task: Task, batch: Sequence[Sentence], *, strict: bool = False) -> list[list[Hypothesis]]:
        """Search one batch of sentences. `strict`: every beginning of a translation is acceptable."""
        device = self.device.torch_device
        encoded = [sentence.truncated for sentence in batch]
        inputs = self.processor.model_inputs.batch(encoded, self.processor.model_outputs.vocabularies(encoded))
        sources = tuple(source.to(device) for source in inputs)
        if self.engine and not strict:
            return self._by_engine(self.engine, task, batch, sources)
        # Only transforms that have something to do in this batch: a plain batch has no constraint, and the fast search.
        noted = {transform for sentence in batch for transform in sentence.notes}
        active = [transform for transform in batch[0].transforms if transform in noted]
        constraints = self.constraints_of(task.mark, len(batch))
        model: Predictor[Any] = self.predictor or self.scorer
        # The shortlist is inside: what transforms wrap around it sees the symbols that it has left.
        if self.shortlist:
            model = restrict_model(model, self.shortlist.allowed(sources, self._required(batch)))
        for transform in active:
            constraints += transform.constraints(batch, device, strict=strict)
            if task.details or not transform.measures:
                model = transform.wrap(model, batch, device)
        constraints += self._of_sentences(batch, strict=strict)
        rows = 0 if self.predictor else task.search.rows(task.n_best) * len(batch)  # graphs have threads of their own
        with linear.use_backend(self.backend), self.threads(rows):
            hypotheses = task.search(
                model,
                sources,
                task.n_best,
                task.spare,
                # None, not an empty one: without constraints a search may look at the most probable symbols alone.
                constraint=CombinedConstraints(constraints) if constraints else None,
                seeds=[sentence.seed for sentence in batch],
                deadline=task.deadline,
                trace=task.trace,
            )
        if self._needs_details(task, batch) or _has_unknown(hypotheses):
            return hypotheses
        return [[hypothesis.without_details for hypothesis in own] for own in hypotheses]

    @staticmethod
    def _needs_details(task: Task, batch: Sequence[Sentence]) -> bool:
        """Return whether log P of symbols and attention are needed; attention by words is not computed otherwise."""
        return task.details or any(
            transform.needs_details(sentence) for sentence in batch for transform in sentence.notes
        )

    def _by_engine(
        self, engine: SearchEngine, task: Task, batch: Sequence[Sentence], sources: tuple[SourceBatch, ...]
    ) -> list[list[Hypothesis]]:
        """Search one batch by an engine. UserError for anything that needs our own search."""
        if task.trace:
            raise UserError(f"engine {engine.name} reports no search tree")
        if self.shortlist:
            raise UserError(f"engine {engine.name} does not support a shortlist")
        device = self.device.torch_device
        constraints = self.constraints_of(task.mark, len(batch))
        details = self._needs_details(task, batch)
        for transform in {transform: None for sentence in batch for transform in sentence.notes}:
            constraints += transform.constraints(batch, device, strict=False)
            is_needed = task.details or not transform.measures
            if is_needed and type(transform).wrap is not TextTransform.wrap:
                raise UserError(f"engine {engine.name} does not support {type(transform).__name__}")
        prefixes = [sentence.prefix for sentence in batch]
        request = SearchRequest(
            task.search, sources, prefixes, task.n_best, task.spare, constraints, task.deadline, details
        )
        hypotheses = engine.find(request)
        if not details and _has_unknown(hypotheses):
            hypotheses = engine.find(request._replace(details=True))  # what replaces `<unk>` looks at it, too
        return hypotheses

    def constraints_of(self, mark: Sequence[Mark], sentences: int) -> list[Constraint]:
        """Return the configured constraints for so many sentences, and the one that forbids symbols of other
        languages.
        """
        constraints = self._configured(sentences)
        symbols = [number for part in mark for number in self.processor.foreign[part]]
        if symbols:
            constraints.append(ForbiddenSymbols(symbols, len(self.target.vocabulary), self.device.torch_device))
        return constraints

    def first_forbidden(self, prefixes: Sequence[Sequence[int]]) -> int | None:
        """Return the place of the first prefix, as ids, that the configured constraints do not allow."""
        named = self._configured(len(prefixes))
        return first_forbidden(self._padded(prefixes), CombinedConstraints(named)) if named and any(prefixes) else None

    def _configured(self, sentences: int) -> list[Constraint]:
        """Return the configured constraints."""
        context = ConstraintContext(sentences, self.target, self.device.torch_device)
        return [components.build(CONSTRAINTS, spec, context) for spec in self.constraints]

    def _of_sentences(self, batch: Sequence[Sentence], *, strict: bool) -> list[Constraint]:
        """Return the constraints that each sentence has for itself."""
        constraints: list[Constraint] = []
        device = self.device.torch_device
        # Asked of each beginning that a beam could keep, hence only of sentences that need it.
        if strict:
            constraints.append(PrefixFilter(len(batch), lambda number, ids: batch[number].accepts(ids), device))
        if any(sentence.prefix for sentence in batch):
            constraints.append(Prefix(self._padded([sentence.prefix for sentence in batch])))
        if self.processor.edited is not None:
            # Of what is read: nothing after it can be kept or deleted.
            lengths = torch.tensor([len(sentence.truncated[self.processor.edited]) for sentence in batch])
            constraints.append(EditConstraint(lengths.to(device), self.target.vocabulary.ids(OPERATIONS)))
        return constraints

    def _required(self, batch: Sequence[Sentence]) -> Tensor:
        """Return the symbols (B, N) that the translation of each sentence may need, whatever the shortlist has."""
        return self._padded(
            [
                [*sentence.prefix, *(id_ for transform in sentence.notes for id_ in transform.symbols(sentence))]
                for sentence in batch
            ]
        )

    def _padded(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return pad_tokens([list(row) for row in rows]).ids.to(self.device.torch_device)


def _has_unknown(hypotheses: Sequence[Sequence[Hypothesis]]) -> bool:
    """Return whether a hypothesis has `<unk>`, which is replaced by attention."""
    return any(UNK in hypothesis.symbols for own in hypotheses for hypothesis in own)
