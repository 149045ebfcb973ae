"""Text to translations: all layers above (training, commands, services) translate with this."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.corpus.features import Given
from dragoman.corpus.pharaoh import Links
from dragoman.data.batch import Batch, pad
from dragoman.data.language import Language
from dragoman.data.source import Source, only_text, the_text
from dragoman.data.vocabulary import UNK
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.model import linear
from dragoman.model.attention.terms.streaming import Shift
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
from dragoman.search.decoding import Deadline
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.phrases import Favoured, Phrases
from dragoman.search.search import Search
from dragoman.search.spans import Accepted
from dragoman.search.streaming import Adaptive, EmittedSymbol, StreamingPredictor, WaitK, stream
from dragoman.search.table import SEARCHES, with_beam
from dragoman.text.edits import OPERATIONS
from dragoman.text.mark import Mark, Symbol
from dragoman.text.pipeline import WordsOf
from dragoman.text.unit import MARKS
from dragoman.translation import inputs, spans
from dragoman.translation.codec import BATCH, ROWS, Checks, Codec, by_length, listed
from dragoman.translation.demands import Asked, Demands, told
from dragoman.translation.inputs import Encoded, Text
from dragoman.translation.spans import Marked
from dragoman.translation.streaming import ArrivingText, spoken
from dragoman.translation.translation import SHORT, Scored, StreamedWord, Translation

SPARE = 3  # spare hypotheses kept for each entry of an n-best list, as several may spell one text


NOTHING_ASKED = Asked()


class Translator:
    """A model with its codec, a search and a device.

    With a `predictor`, the search uses that instead of the model. A `model` given as a function is loaded when it is
    first needed.
    """

    def __init__(
        self,
        model: Seq2Seq | Ensemble | Callable[[], Seq2Seq | Ensemble],
        codec: Codec,
        search: Spec,
        device: Device,
    ) -> None:
        self._given = model
        self.codec = codec
        self.search = search
        self.device = device
        self.predictor: Predictor[Any] | None = None  # what the search uses, if not the model
        self.candidates: CandidateList | None = None  # the symbols that translations are restricted to
        self.constraints: tuple[Spec, ...] = ()  # those that the configuration names
        self.way: linear.LinearBackend | None = None  # how linear maps are computed when translating

    def __repr__(self) -> str:
        sources, targets = ([each.name for each in self.sources], self.targets)
        told = " to ".join(SHORT.repr(", ".join(names)) for names in (sources, targets))
        return f"Translator({told}, search={self.search.kind!r}, device={str(self.device.torch_device)!r})"

    @property
    def target(self) -> Language:
        return self.codec.target

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.codec.reading.sources

    @property
    def asked(self) -> tuple[Source, ...]:
        """The sources that a user gives; a translation memory fills the others, unless they are given too."""
        return self.codec.reading.asked

    @property
    def source(self) -> Language:
        """The only source. UserError if there are several, or it is numeric."""
        return the_text(self.sources)

    @cached_property
    def scorer(self) -> Seq2Seq | Ensemble:
        """The model or ensemble that scores given pairs, and translates unless another engine does."""
        return self._given if isinstance(self._given, Seq2Seq | Ensemble) else self._given()

    @property
    def model(self) -> Seq2Seq:
        """The model of a single run. UserError for an ensemble."""
        if isinstance(self.scorer, Ensemble):
            raise UserError("several runs that translate together have no one model, which this needs")
        return self.scorer

    @property
    def edited(self) -> int | None:
        """The number of the source that the model edits."""
        return self.codec.edited

    @property
    def edits(self) -> str | None:
        """The name of the source that the model edits."""
        return None if self.edited is None else self.sources[self.edited].name

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return self.codec.targets

    @property
    def marks(self) -> Mapping[str, Mark]:
        """The mark before a source for each target language, if there are several."""
        return self.codec.marks

    def translate(
        self,
        texts: Sequence[Text],
        *,
        to: str | None = None,
        n_best: int = 1,
        beam_size: int | None = None,
        search: Spec | None = None,
        prefix: Sequence[str] | None = None,
        timeout: float | None = None,
        exact: bool = False,
        asked: Asked = NOTHING_ASKED,
    ) -> list[Translation]:
        """Translate each text, in order; the translation of an empty or blank text is empty. The `n_best` translations
        are different texts; there are fewer if the search has not finished that many different ones.

        With several sources, a text is a tuple of one text per source; a blank one counts as missing. Those that a
        translation memory fills (`asked` has the others) may be left out. For a numeric
        source it is an array (regions, size) or (size,), or the name of a .npy file with one. `to` is the target
        language, if the run has several (`targets`).

        `prefix` gives the beginning of each translation ("" = any); the translation may continue its last word. A blank
        text stays empty. After `timeout` seconds, UserError is raised instead of returning translations.

        `exact`: a text that the translation memory has is translated as it is there, without a search (unless that does
        not begin with its prefix); its attention is that of forced decoding.

        `asked`: terms of a glossary, and what is protected though the run knows no marks for it; `Translation.terms`
        and `spans` tell what came of it.

        `search` replaces the run's own search, and `beam_size` the size of its beam (that of beam search, if it has
        none). UserError if it cannot give `n_best` translations, or if `to` is missing or none of the run's languages.
        """
        texts = listed(texts, "translate([text])")
        if n_best < 1:
            raise ValueError(f"n_best: expected at least 1, found {n_best}")
        spec = search or self.search
        if beam_size is not None:
            spec = with_beam(spec, beam_size)
        if isinstance(self.predictor or self._given, Ensemble) and spec.options.get("coverage_penalty"):
            raise UserError("search.coverage_penalty looks at one model's attention, and several translate together")
        if exact and not self.codec.reading.recall:
            raise UserError("this run has no translation memory to find exact matches in (data.memory)")
        searcher, deadline = components.build(SEARCHES, spec), None if timeout is None else Deadline(timeout)
        mark = self.codec.mark(to)
        given = [self.codec.reading.given(text) for text in texts]
        read = list(map(self.codec.marked, given))
        encoded = [self.codec.reading.encoded(each.given, mark) for each in read]
        prefix = None if prefix is None else listed(prefix, "translate([text], prefix=[text])")
        prefixes = self._prefixes(prefix, read, encoded, mark)
        demands = self.codec.demands(asked, read, encoded)
        found: dict[int, list[Hypothesis]] = {}
        kept = self._remembered(given, prefix, to) if exact else {}
        full = [number for number, symbols in enumerate(encoded) if any(len(each) > len(mark) for each in symbols)]
        full = [number for number in full if number not in kept]
        lengths, width = [min(inputs.length(each), inputs.LONGEST) for each in encoded], searcher.width

        def search_for(some: Sequence[int], checks: Checks | None = None) -> None:
            for numbers in by_length(some, lengths, BATCH // width, max(1, ROWS // width)):
                searched = self.hypotheses(
                    searcher,
                    [encoded[number] for number in numbers],
                    n_best,
                    mark,
                    SPARE * (n_best - 1),
                    prefixes=[prefixes[number] for number in numbers] if prefixes else None,
                    seeds=numbers,
                    deadline=deadline,
                    checks=checks and checks.of(numbers),
                    demands=[demands[number] for number in numbers] if demands else (),
                )
                found.update(zip(numbers, searched, strict=True))

        checks = self.codec.checks(read, encoded, demands)
        search_for(full)
        if self.codec.reading.protection or demands:  # what comes out is rarely anything else, and looking takes time
            search_for([n for n, (best, *_) in found.items() if not checks.faithful(n, best.symbols)], checks)
        for number, (best, *others) in found.items():
            every = [best, *(each for each in others if checks.faithful(number, each.symbols))]
            every = [demands[number].without_bonus(each) for each in every] if demands else every
            begun = len(prefixes[number]) if prefixes else 0
            sentence = given[number], read[number], encoded[number]
            kept[number] = self.codec.translation(*sentence, every, n_best, begun)
        kept |= {number: told(kept[number], each) for number, each in enumerate(demands) if number in kept}
        return [kept[number] if number in kept else self.codec.nothing(each) for number, each in enumerate(given)]

    def _remembered(
        self, given: Sequence[tuple[Given, ...]], prefix: Sequence[str] | None, to: str | None
    ) -> dict[int, Translation]:
        """The translations that the memory has of these very texts, by their numbers."""
        begins = prefix or [""] * len(given)
        every = ((number, self.codec.reading.remembered(each)) for number, each in enumerate(given))
        found = {number: text for number, text in every if text is not None and text.startswith(begins[number])}
        scored = self.score([given[number] for number in found], list(found.values()), to=to)
        return {
            number: replace(each.translation, text=text)
            for (number, text), each in zip(found.items(), scored, strict=True)
        }

    def simultaneous(
        self, words: Iterable[str], *, to: str | None = None, wait: int | None = None
    ) -> Iterator[StreamedWord]:
        """Translate a text while its words arrive, by greedy search. Each target word is yielded as soon as the next
        one begins, and no source word is read before it is needed.

        `wait` is the k of wait-k in source symbols, counting the one that names the language `to`. No further symbols
        are read, whatever the model; a model trained with the term `wait` and the same k has learnt to work with that.
        Without `wait`, the model decides when to read by its term `shift`. UserError if it has none, for an engine
        other than torch, for candidates, for a model that copies source words or reads or spells characters, and for
        hard attention of order 1.
        """
        if wait is not None and wait < 1:
            raise UserError(f"wait is {wait}: at least one source symbol is read before a word is written")
        if not only_text(self.sources) or self.edited is not None:
            raise UserError("a source that is still arriving has to be the only one, and translated")
        if self.predictor or self.way or self.candidates:
            raise UserError("a source that is still arriving is translated by engine torch, without candidates")
        if self.codec.reading.protection:
            raise UserError(
                "a text is not translated while the source arrives by a run with text.protect: spans are whole"
            )
        if self.codec.writing.extends:
            raise UserError("a text is not translated while the source arrives by an output that says words of it")
        if self.codec.surfaces.sources or self.codec.surfaces.target:
            raise UserError(
                "a text is not translated while the source arrives by a model that reads or spells characters"
            )
        if not self.model.emission.direct:
            raise UserError("a text is not translated while the source arrives by hard attention of order: 1")
        limit = components.build(SEARCHES, self.search).limit
        mark = self.codec.mark(to)
        text = ArrivingText(words, self.source, mark)
        rest = self.model, text, limit, self.device.torch_device
        model: StreamingPredictor
        if wait is not None:
            model = WaitK(*rest, wait)
        elif any(isinstance(part, Shift) for part in self.model.modules()):
            model = Adaptive(*rest)
        else:
            raise UserError("this model does not decide when to read (it has no term shift); use --wait K")
        decided = self._one_by_one(stream(model, All(self._constraints(mark, [self.codec.attends]))))
        return spoken(decided, self.target, text, partial(self._streamed, text.symbols))

    def _streamed(
        self, source: list[Symbol], unknown: list[int], words: WordsOf, attention: NDArray[np.float64]
    ) -> dict[int, str]:
        """What words of these numbers become while the source arrives."""
        if self.codec.unknown is None:
            return {}
        seen, _ = self.codec.reading.seen(("",), [source], words, (attention,))
        return {word: text for word, (text, _) in self.codec.unknown.replaced(unknown, seen).items()}

    def _one_by_one(self, decided: Iterator[EmittedSymbol]) -> Iterator[EmittedSymbol]:
        """The same symbols, each computed with the threads for one row."""
        while True:
            with self._threads(1):
                found = next(decided, None)
            if found is None:
                return
            yield found

    def _threads(self, rows: int) -> AbstractContextManager[None]:
        """The threads for steps with this many rows; for 0, those for next to no work."""
        return self.device.threads_for(rows and rows * self._weights)

    @cached_property
    def _weights(self) -> int:
        """About how many weights each row is multiplied by in a step."""
        models = self.scorer.models if isinstance(self.scorer, Ensemble) else (self.scorer,)
        modules = (each for each in models if isinstance(each, nn.Module))
        return sum(part.numel() for each in modules for part in each.parameters())

    def left_out(self, text: Text) -> int:
        """How many symbols of a text are not read because it has more than LONGEST."""
        given, mark = self.codec.reading.given(text), [*self.marks.values()][:1]
        return inputs.left_out(given, self.codec.reading.encoded(self.codec.marked(given).given, mark))

    def hypotheses(
        self,
        searcher: Search,
        encoded: Sequence[Sequence[Encoded]],
        n_best: int = 1,
        mark: Sequence[Mark] = (),
        spare: int = 0,
        *,
        prefixes: Sequence[list[int]] | None = None,
        seeds: Sequence[int] = (),
        deadline: Deadline | None = None,
        checks: Checks | None = None,
        demands: Sequence[Demands] = (),
    ) -> list[list[Hypothesis]]:
        """Search one batch of sentences, given as symbols of each source: `n_best` hypotheses each and up to `spare`
        more, best first. `mark` stands before the sources. `prefixes` are the ids that each translation begins with,
        `seeds` the seeds of each sentence's random numbers, if the search draws any. `checks` are what `Accepted`
        asks of beginnings, `demands` those of each sentence.
        """
        encoded = [inputs.cut(each, inputs.LONGEST) for each in encoded]
        read = self.codec.reading.batch(encoded, self.codec.writing.vocabularies(encoded))
        sources = tuple(each.to(self.device.torch_device) for each in read)
        prefix = pad(prefixes).ids.to(self.device.torch_device) if prefixes else None
        model: Predictor[Any] = self.predictor or self.scorer
        constraints = self._constraints(mark, [self.codec.attends and inputs.has_text(each) for each in encoded])
        always = [] if prefix is None else [prefix]
        if self.codec.reading.protection:
            device = self.device.torch_device
            each_mark = spans.each_mark(encoded, self.target, device, apart=checks is not None)
            constraints.append(each_mark)
            always.append(each_mark.progress(each_mark.start()).following)
        if any(each.required.wanted for each in demands):
            constraints.append(Phrases([each.required for each in demands], self.device.torch_device))
        if demands:
            always.append(pad([each.symbols for each in demands]).ids.to(self.device.torch_device))
        if checks:
            constraints.append(Accepted(len(encoded), *checks, self.device.torch_device))
        if self.candidates:
            model = shortlisted(model, self.candidates.allowed(sources, torch.cat(always, 1) if always else None))
        if any(each.favoured.wanted for each in demands):
            favoured = Phrases([each.favoured for each in demands], self.device.torch_device)
            model = Favoured(model, favoured, demands[0].weight)
        if prefix is not None:
            constraints.append(Prefix(prefix))
        if self.edited is not None:
            lengths = torch.tensor([len(each[self.edited]) for each in encoded])
            operations = self.target.vocabulary.ids(OPERATIONS)
            constraints.append(FittingEdits(lengths.to(self.device.torch_device), operations))
        rows = 0 if self.predictor else searcher.width * len(encoded)  # graphs have threads of their own
        with linear.use_backend(self.way), self._threads(rows):
            return searcher(
                model,
                sources,
                n_best,
                spare,
                constraint=All(constraints) if constraints else None,
                seeds=seeds,
                deadline=deadline,
            )

    def _prefixes(
        self,
        prefix: list[str] | None,
        given: Sequence[Marked],
        encoded: Sequence[list[Encoded]],
        mark: Sequence[Mark],
    ) -> list[list[int]]:
        """The ids that each translation begins with. UserError if the model cannot produce them."""
        if prefix is None:
            return []
        if len(prefix) != len(encoded):
            raise ValueError(f"{len(prefix)} prefixes and {len(encoded)} texts: every text needs its prefix")
        forbidden = {UNK, *(number for each in mark for number in self.codec.foreign[each])}
        protection, texts = self.codec.reading.protection, prefix
        if protection:
            texts = [each.prefix(text, protection) for each, text in zip(given, prefix, strict=True)]
        found = [self.codec.writing.prefix(each, text, forbidden) for each, text in zip(encoded, texts, strict=True)]
        named = self._named_constraints(len(found))
        broken = first_forbidden(pad(found).ids.to(self.device.torch_device), All(named)) if named and found else None
        if broken is not None:
            raise UserError(f"prefix: {SHORT.repr(prefix[broken])} is none that the run's constraints allow")
        return found

    def _constraints(self, mark: Sequence[Mark], worded: Sequence[bool]) -> list[Constraint]:
        """The configured constraints for these sentences, and those that forbid symbols of other languages, and `<unk>`
        where no source word can take its place: without attention, or without a text (`worded`).
        """
        found = self._named_constraints(len(worded))
        if self.codec.unknown and not all(worded):
            found.append(NoUnknownIn(~torch.tensor(worded, device=self.device.torch_device)))
        symbols = [number for each in mark for number in self.codec.foreign[each]]
        if self.codec.reading.protection:  # which marks are said is for the sources to tell
            symbols = [*set(symbols).difference(self.target.vocabulary.ids(MARKS)), *spans.unsaid(self.target)]
        if symbols:
            found.append(ForbiddenSymbols(symbols, len(self.target.vocabulary), self.device.torch_device))
        return found

    def _named_constraints(self, sentences: int) -> list[Constraint]:
        """The configured constraints."""
        context = ConstraintContext(sentences, self.target, self.device.torch_device)
        return [components.build(CONSTRAINTS, spec, context) for spec in self.constraints]

    def score(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> list[Scored]:
        """`log P(y | x)` of given pairs and the attention of forced decoding (CN 1, SL). Long pairs are scored
        whole, up to LONGEST_TEXT characters. `to` is the language of the targets, if the run has several.
        """
        found: dict[int, Scored] = {}
        with torch.inference_mode():
            for pairs, batch in self.codec.batches(sources, targets, to):
                with self._threads(len(pairs)):
                    scored = self.scorer.score(batch.to(self.device.torch_device))
                every = enumerate(zip(batch.rows, pairs, strict=True))
                found.update({int(number): self.codec.scored(pair, scored, row) for row, (number, pair) in every})
        return [found[number] for number in range(len(found))]

    def align(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> list[Links]:
        """Word alignments of given pairs, as links (source, target) from 0, by the attention of forced decoding."""
        return [scored.alignment for scored in self.score(sources, targets, to=to)]

    def pairs(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> Iterator[Batch]:
        """The pairs in batches of similar length; `rows` are their numbers. Overlong sentences are truncated. `to` is
        the language of the targets, if the run has several.
        """
        every = self.codec.batches(sources, targets, to, inputs.LONGEST)
        return (batch.to(self.device.torch_device) for _, batch in every)
