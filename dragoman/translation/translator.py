"""Text to translations: all layers above (training, commands, services) translate with this."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import torch

from dragoman.configuration import arguments, components
from dragoman.configuration.components import Spec
from dragoman.corpus.pharaoh import Links
from dragoman.data.batch import Batch
from dragoman.data.language import Language, Source, require_text
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.decoding import Deadline
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.limits import was_forced
from dragoman.search.table import SEARCHES, has_beam, with_beam
from dragoman.search.tempered import LOG_PARTITION, TemperaturePredictor
from dragoman.text.mark import Mark
from dragoman.text.protection import Protection
from dragoman.translation import source_inputs
from dragoman.translation.attention_matrix import SHORT
from dragoman.translation.attribution.context import ExplanationContext, Searched, Similar, explain
from dragoman.translation.explanation.explanation import Explanation
from dragoman.translation.generator import SequenceGenerator, Task
from dragoman.translation.processor import Processor, listed
from dragoman.translation.reranking.criteria import Candidates
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.reranking.reranker import Reranker
from dragoman.translation.sentence import EncodedPair, Sentence, TextTransform
from dragoman.translation.simultaneous import SimultaneousTranslator
from dragoman.translation.source_inputs import Text
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.transforms.exact_match import ExactMatch
from dragoman.translation.transforms.tag_projection import TagProjection
from dragoman.translation.transforms.terms import UNCONSTRAINED, LexicalConstraints, Pieces, Terms
from dragoman.translation.transforms.transform_order import ORDER
from dragoman.translation.translation import Scored, StreamedWord, Translation

SPARE = 3  # spare hypotheses kept for each entry of an n-best list, as several may spell one text

Choice: TypeAlias = Callable[[Sentence, list[Hypothesis]], Translation]


class Translator:
    """A model with its processor, a search and a device; a `model` given as a function is loaded when first needed.

    `generator` has all settings of the search: constraints, a vocabulary shortlist, another engine.
    """

    def __init__(
        self,
        model: Seq2Seq | Ensemble | Callable[[], Seq2Seq | Ensemble],
        processor: Processor,
        search: Spec,
        device: Device,
    ) -> None:
        self.processor = processor
        self.search = search
        # Built once: at each call, its options would be checked again.
        self._own_search = search, components.build(SEARCHES, search)
        self.device = device
        self.generator = SequenceGenerator(model, processor, device)
        self.similar: Similar | None = None  # finds training pairs, if they are known

    def __repr__(self) -> str:
        sources, targets = self.languages, self.targets
        direction = " to ".join(SHORT.repr(", ".join(names)) for names in (sources, targets))
        return f"Translator({direction}, search={self.search.kind!r}, device={str(self.device.torch_device)!r})"

    @property
    def target(self) -> Language:
        return self.processor.target

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.processor.model_inputs.sources

    @property
    def languages(self) -> tuple[str, ...]:
        """The names of the sources."""
        return tuple(source.name for source in self.sources)

    @property
    def user_sources(self) -> tuple[Source, ...]:
        """The sources that a user gives; a translation memory fills the others, unless they are given too."""
        return self.processor.model_inputs.user_sources

    @property
    def source(self) -> Language:
        """The only source. UserError if there are several, or it is numeric."""
        return require_text(self.sources)

    @property
    def scorer(self) -> Seq2Seq | Ensemble:
        """The model or ensemble that scores given pairs, and translates unless another engine does."""
        return self.generator.scorer

    @property
    def model(self) -> Seq2Seq:
        """The model of a single run. UserError for an ensemble."""
        return self.generator.model

    @property
    def edited(self) -> int | None:
        """The number of the source that the model edits by copying, replacing and deleting its words (automatic
        post-editing); None for a model that writes its translations.
        """
        return self.processor.edited

    @property
    def edits(self) -> str | None:
        """The name of the source that the model edits."""
        return None if self.edited is None else self.sources[self.edited].name

    @property
    def is_calibrated(self) -> bool:
        """Whether translations have a confidence."""
        return self.processor.transform(ConfidenceCalibration) is not None

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return self.processor.targets

    @property
    def marks(self) -> Mapping[str, Mark]:
        """The mark before a source for each target language, if there are several."""
        return self.processor.marks

    def translate(
        self,
        texts: Sequence[Text],
        *,
        to: str | None = None,
        n_best: int = 1,
        beam_size: int | None = None,
        search: str | Mapping[str, Any] | Spec | None = None,
        prefix: Sequence[str] | None = None,
        timeout: float | Deadline | None = None,
        exact: bool = False,
        constraints: LexicalConstraints = UNCONSTRAINED,
        risk: MinimumBayesRisk | None = None,
        rerank: Reranker | None = None,
        transforms: Sequence[TextTransform] = (),
        details: bool = True,
    ) -> list[Translation]:
        """Translate each text, in order; the translation of an empty or blank text is empty. The `n_best` translations
        are different texts; there are fewer if the search has not finished that many different ones.

        With several sources, a text is a tuple of one text per source; a blank one counts as missing. Those that a
        translation memory fills (`user_sources` has the others) may be left out. For a numeric
        source it is an array (regions, size) or (size,), or the name of a .npy file with one. `to` is the target
        language, if the run has several (`targets`).

        `prefix` gives the beginning of each translation ("" = any); the translation may continue its last word. A blank
        text stays empty, and a text that is returned unchanged ignores its prefix. After `timeout` seconds, UserError
        is raised instead of returning translations; a Deadline may also be cancelled from another thread.

        `exact`: for a text that the translation memory has, its translation there is returned without a search (unless
        the stored translation does not begin with the prefix); the attention is that of forced decoding.

        A text in capitals, such as a heading, is read in lower case, if the model handles that better, and translated
        in capitals; not with `prefix`, `exact` or several sources.

        `constraints`: terms of a glossary, and further spans to protect, for which the run has no placeholder tokens:
        no model reads such spans, and attention determines their positions in the translation. A text without any other
        letter or digit is returned unchanged. `Translation.terms` and `spans` report the results.

        `risk`: of many translations from the search, the one with the minimum Bayes risk is best; without `search` and
        `beam_size` they are samples.

        `rerank`: of many translations from the search, the one with the highest weighted sum of criteria is best;
        without `search` and `beam_size`, the run's own beam is widened for that.

        `transforms`: text transforms of this call, in addition to those of the run.

        `details`: false if only texts and scores are needed. Words, their log P and attention are left out then, which
        is faster, above all with an engine that has a search of its own (`ctranslate2`).

        `search` replaces the run's own search: a kind ("greedy"), a mapping as in the configuration ({"kind": "sample",
        "top_p": 0.9}), or a Spec. `beam_size` replaces the size of its beam (that of beam search, if it has none).
        UserError if the search cannot return `n_best` translations, or if `to` is missing or not a language of the run.
        """
        texts = listed(texts, "translate([text])")
        n_best = arguments.whole(n_best, "n_best", 1)
        arguments.checked(exact, "exact", bool)
        arguments.checked(constraints, "constraints", LexicalConstraints)
        arguments.checked(risk, "risk", MinimumBayesRisk, type(None))
        arguments.checked(rerank, "rerank", Reranker, type(None))
        if rerank and risk:
            raise ValueError("rerank and risk: both select the best translation; pass one of them")
        selector = risk or rerank
        if selector and search is None and beam_size is None:
            search = selector.search(self.search)
        if exact and not self.processor.model_inputs.translation_memory:
            raise UserError("this run has no translation memory to find exact matches in (data.translation_memory)")
        task = self._task(n_best, self._spec(search, beam_size), _deadline(timeout), to, selector)
        task = task._replace(details=arguments.checked(details, "details", bool) or bool(selector))
        if constraints.weight and not task.search.allows_rewards:
            raise UserError("exhaustive search: terms must be required (no --glossary-weight)")
        prefixes = None if prefix is None else listed(prefix, "translate([text], prefix=[text])")
        sentences = self.prepare(
            texts, to=to, prefixes=prefixes, constraints=constraints, exact=exact, transforms=transforms
        )
        # Three kinds: known translations are scored, blank texts stay, and only the others are searched.
        translations = self._answers([sentence for sentence in sentences if sentence.answer is not None], to)
        unanswered = [sentence for sentence in sentences if sentence.answer is None and not sentence.is_blank]
        choose = partial(self._choose, task, n_best=task.n_best if rerank else n_best, risk=risk)
        translations |= self._translated(task, unanswered, choose)
        if rerank:
            translations |= _reranked(unanswered, translations, rerank, n_best)
        return [
            _apply_complete(translations.get(sentence.number) or self._blank(sentence), sentence)
            for sentence in sentences
        ]

    def prepare(
        self,
        texts: Sequence[Text],
        *,
        to: str | None = None,
        prefixes: Sequence[str | None] | None = None,
        constraints: LexicalConstraints = UNCONSTRAINED,
        exact: bool = False,
        transforms: Sequence[TextTransform] = (),
    ) -> list[Sentence]:
        """Return the texts as they are searched for. UserError if a prefix breaks the run's constraints."""
        prefixes = [None] * len(texts) if prefixes is None else prefixes
        if len(prefixes) != len(texts):
            raise ValueError(f"{len(prefixes)} prefixes and {len(texts)} texts: expected one prefix per text")
        transforms = self._transforms(constraints, transforms, exact=exact)
        protection = self._protection(constraints)
        sentences = [
            self.processor.sentence(
                number,
                self.processor.model_inputs.complete_inputs(text),
                to,
                transforms=transforms,
                beginning=prefix,
                protection=protection,
            )
            for number, (text, prefix) in enumerate(zip(texts, prefixes, strict=True))
        ]
        broken = self.generator.first_forbidden([sentence.prefix for sentence in sentences])
        if broken is not None:
            raise UserError(f"prefix: {SHORT.repr(prefixes[broken])} is not allowed by the run's constraints")
        return sentences

    def _protection(self, constraints: LexicalConstraints) -> Protection | None:
        """Find all spans that are protected in a call."""
        protections = [self.processor.model_inputs.protection, constraints.protection]
        patterns = [pattern for protection in protections if protection for pattern in protection.patterns]
        return Protection(patterns) if patterns else None

    def _transforms(
        self, constraints: LexicalConstraints, further: Sequence[TextTransform], *, exact: bool
    ) -> tuple[TextTransform, ...]:
        """Return the transforms of the run and those of a call, in their order."""
        processor = self.processor
        transforms = [*further, *processor.transforms]
        if exact:
            transforms.append(ExactMatch())
        if constraints.protection:
            transforms.append(
                TagProjection(constraints.protection, processor.model_inputs.protection, processor.edited)
            )
        if constraints.glossary.terms:
            transforms.append(Terms(constraints, self._pieces, attends=processor.attends))
        ranks = {kind: rank for rank, kind in enumerate(ORDER)}
        return tuple(sorted(transforms, key=lambda transform: ranks.get(type(transform), -1)))

    @cached_property
    def _pieces(self) -> Pieces:
        """The texts of symbols, which terms compare with their forms; collected over all calls."""
        return Pieces(self.target)

    def _translated(self, task: Task, sentences: Sequence[Sentence], choose: Choice) -> dict[int, Translation]:
        """Return the translations of these sentences by their numbers. Where a transform requests it, a sentence is
        searched again, and the better translation is kept.
        """
        best = translations = self._searched(task, sentences, choose)
        # A transform that retries changes the sentence, and must stop retrying by itself.
        while sentences := [
            retry for sentence in sentences if (retry := _retry(translations[sentence.number], sentence))
        ]:
            translations = self._searched(task, sentences, choose)
            for sentence in sentences:
                pair = best[sentence.number], translations[sentence.number]
                # The earlier one if both are equal.
                best[sentence.number] = min(pair, key=partial(shortcomings, sentence))
        return best

    def _searched(self, task: Task, sentences: Sequence[Sentence], choose: Choice) -> dict[int, Translation]:
        hypotheses = self.generator.generate(task, sentences)
        return {sentence.number: choose(sentence, hypotheses[sentence.number]) for sentence in sentences}

    def _choose(
        self,
        task: Task,
        sentence: Sentence,
        hypotheses: Sequence[Hypothesis],
        n_best: int,
        risk: MinimumBayesRisk | None = None,
    ) -> Translation:
        """Return the best of these hypotheses, with the next best that are acceptable as alternatives: `n_best`
        different texts in all. With `risk`, the minimum Bayes risk decides which are best.
        """
        candidates = self._distinct(task, sentence, hypotheses)
        translations: dict[str, Translation] = {}
        for translation in risk.ranked(list(candidates)) if risk else candidates:
            translations.setdefault(translation.text, translation)
            if len(translations) == n_best:
                break
        best, *alternatives = translations.values()
        return replace(best, alternatives=tuple(alternatives))

    def _distinct(self, task: Task, sentence: Sentence, hypotheses: Sequence[Hypothesis]) -> Iterator[Translation]:
        """Yield the first hypothesis, and those that are acceptable, as translations; samples may be the same."""
        translations: dict[tuple[tuple[int, ...], tuple[str | None, ...]], Translation] = {}
        for rank, hypothesis in enumerate(hypotheses):
            # The first is always taken: it was searched under the same condition, and may be the only one.
            if not rank or sentence.accepts(hypothesis.symbols):
                key = hypothesis.symbols, hypothesis.surfaces
                if key not in translations:
                    translations[key] = self._apply_finish(self.processor.draft(sentence, hypothesis), sentence, task)
                yield translations[key]

    def _apply_finish(self, draft: Translation, sentence: Sentence, task: Task | None = None) -> Translation:
        """Return a translation after `finish` of all transforms, with its context for explanations."""
        translation, explained = draft, None
        for transform in reversed(sentence.transforms):
            if transform in sentence.notes or (
                transform.applies_to_translation and transform.applies_to_translation(translation)
            ):
                if transform.inserts:
                    # The translation after it has words that the model did not write and that have no attention.
                    explained = translation
                translation = transform.finish(translation, sentence)
        pair = EncodedPair(sentence, sentence.truncated, list(draft.output_symbols))
        searched = Searched(task, sentence) if task else None
        return replace(
            translation, explainer=ExplanationContext(self.generator, pair, searched, self.similar, explained)
        )

    def _blank(self, sentence: Sentence) -> Translation:
        return self._apply_finish(self.processor.blank(sentence), sentence)

    def _spec(self, search: str | Mapping[str, Any] | Spec | None, beam_size: int | None) -> Spec:
        """Return the search to use. ValueError for a beam size with a search that was passed, too, and has no beam."""
        other = None if search is self.search else search
        spec = self.search if other is None else components.read(SEARCHES, other, ("search",))
        if beam_size is not None and other is not None and not has_beam(spec.kind):
            raise ValueError("beam_size: this search has no beam; pass one of them")
        return spec if beam_size is None else with_beam(spec, arguments.whole(beam_size, "beam_size", 1))

    def _task(
        self,
        n_best: int,
        spec: Spec,
        deadline: Deadline | None,
        to: str | None,
        selector: MinimumBayesRisk | Reranker | None,
    ) -> Task:
        """Return the task of the search."""
        if self.generator.several and spec.options.get("coverage_penalty"):
            raise UserError("search.coverage_penalty is not supported by ensembles")
        own_spec, own_search = self._own_search
        built_search = own_search if spec is own_spec else components.build(SEARCHES, spec)
        if selector and built_search.width < 2:
            raise UserError("this search returns a single translation")
        count = selector.count(built_search.width) if selector else n_best
        if selector and n_best > count:
            raise UserError(f"n-best {n_best}: {count} translations are compared; cannot return more")
        risk = isinstance(selector, MinimumBayesRisk)
        if risk and count > built_search.width:
            fewer = f"gives {built_search.width} translations, fewer than {count} (--samples)"
            wider = "" if built_search.draws else "; use a wider beam"
            raise UserError(f"minimum Bayes risk: this search {fewer}{wider}")
        # Equal samples are wanted: their number counts. All other translations must be different texts.
        spare = 0 if risk else SPARE * (count - 1)
        return Task(built_search, count, spare, self.processor.mark(to), deadline)

    def _answers(self, sentences: Sequence[Sentence], to: str | None) -> dict[int, Translation]:
        """Return the known translations of these sentences, scored, by their numbers."""
        if not sentences:
            return {}
        answers = [sentence.answer or "" for sentence in sentences]
        translations: dict[int, Translation] = {}
        for sentence, scored in zip(
            sentences, self.score([sentence.inputs for sentence in sentences], answers, to=to), strict=True
        ):
            translation = replace(scored.translation, text=sentence.answer or "")
            for transform in reversed(sentence.notes):
                translation = transform.finish_known(translation, sentence)
            translations[sentence.number] = translation
        return translations

    def simultaneous(
        self, words: Iterable[str], *, to: str | None = None, wait: int | None = None
    ) -> Iterator[StreamedWord]:
        """Translate a text while its words arrive, by greedy search. Each target word is yielded as soon as the next
        one begins, and no source word is read before it is needed.

        `wait` is the k of wait-k in source symbols, counting the one that names the language `to`. No further symbols
        are read, whatever the model; a model trained with the term `wait` and the same k has learned to work with that.
        Without `wait`, the model decides when to read by its term `shift`. UserError if it has none, for an engine
        other than torch, with a vocabulary shortlist, for a model that copies source words or reads or spells
        characters, and for hard attention of order 1.
        """
        return SimultaneousTranslator(self.generator, self.search, wait).translate(words, to)

    def left_out(self, text: Text) -> int:
        """Return how many symbols of a text are not read because it has more than LONGEST."""
        model_inputs = self.processor.model_inputs
        inputs = model_inputs.complete_inputs(text)
        transforms = [transform for transform in self.processor.transforms if transform.applies_to_given]
        sentence = self.processor.sentence(0, inputs, self.targets[0], transforms=transforms)
        return source_inputs.left_out(inputs, zip(model_inputs.encoded_sources, sentence.encoded, strict=True))

    def score(
        self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None, confidence: bool = False
    ) -> list[Scored]:
        """Return `log P(y | x)` of given pairs and the attention of forced decoding (CN 1, SL). Long pairs are scored
        whole, up to LONGEST_TEXT characters. `to` is the language of the targets, if the run has several.

        `confidence`: the translations of a calibrated run have theirs, which takes a second pass, step by step.
        """
        scored_pairs: dict[int, Scored] = {}
        calibration = self.processor.transform(ConfidenceCalibration) if confidence else None
        with torch.inference_mode():
            for pairs, batch in self.processor.batches(sources, targets, to):
                with self.generator.threads(len(pairs)):
                    moved = batch.to(self.device.torch_device)
                    scored = self.scorer.score(moved)
                    if calibration:
                        # What the probability of a symbol at this temperature is divided by.
                        reported = TemperaturePredictor(self.scorer, calibration.temperature).score(moved).statistics
                        scored = scored._replace(
                            statistics={**scored.statistics, LOG_PARTITION: reported[LOG_PARTITION]}
                        )
                for row, (number, pair) in enumerate(zip(batch.rows.tolist(), pairs, strict=True)):
                    origin = ExplanationContext(self.generator, pair, similar=self.similar)
                    scored_pairs[number] = self.processor.scored(pair, scored, row)._replace(explainer=origin)
        return [scored_pairs[number] for number in range(len(scored_pairs))]

    def explain(
        self, translations: Iterable[Translation], contrasts: Sequence[str | None] = (), *, nearest: int = 0
    ) -> list[Explanation]:
        """Explain why each of these translations by this translator (or of given pairs: `score(...)[0].translation`),
        and why not another text, if there is one for it; as `Translation.explain`, of many at once.
        """
        return explain(translations, contrasts, nearest)

    def align(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> list[Links]:
        """Return word alignments of given pairs, as links (source, target) from 0, by the attention of forced
        decoding.
        """
        return [scored.alignment for scored in self.score(sources, targets, to=to)]

    def pairs(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> Iterator[Batch]:
        """Yield the pairs in batches of similar length; `rows` are their numbers. Overlong sentences are truncated.
        `to` is the language of the targets, if the run has several.
        """
        batches = self.processor.batches(sources, targets, to, source_inputs.LONGEST)
        return (batch.to(self.device.torch_device) for _, batch in batches)


def _deadline(timeout: float | Deadline | None) -> Deadline | None:
    if timeout is None or isinstance(timeout, Deadline):
        return timeout
    return Deadline(arguments.number(timeout, "timeout"))


def _reranked(
    sentences: Sequence[Sentence], translations: Mapping[int, Translation], rerank: Reranker, n_best: int
) -> dict[int, Translation]:
    """Return the best translations by the criteria, those that miss the fewest terms first."""
    candidates = [
        # Criteria that are read from a file need the number in the file, of which this call may have a part.
        Candidates(rerank.first_number + sentence.number, sentence.inputs, translations[sentence.number].n_best)
        for sentence in sentences
    ]
    best = dict[int, Translation]()
    for sentence, ranked in zip(sentences, rerank.ranked(candidates), strict=True):
        # A stable sort: translations that miss equally much keep the order of the criteria.
        first, *alternatives = sorted(ranked, key=partial(_missing, sentence))[:n_best]
        best[sentence.number] = replace(first, alternatives=tuple(alternatives))
    return best


def shortcomings(sentence: Sentence, translation: Translation) -> tuple[bool, int]:
    """Return a key that sorts translations from better to worse: whether the end was forced against the model or a
    constraint, then the number of missed requirements.
    """
    return was_forced(translation.log_prob), _missing(sentence, translation)


def _missing(sentence: Sentence, translation: Translation) -> int:
    """Return how many requirements of its transforms a translation misses."""
    return sum(transform.missing(translation, sentence) for transform in sentence.notes)


def _retry(translation: Translation, sentence: Sentence) -> Sentence | None:
    """Return the sentence for another search, if a transform requests one."""
    retries = (transform.retry(translation, sentence) for transform in sentence.notes)
    return next((retry for retry in retries if retry), None)


def _apply_complete(translation: Translation, sentence: Sentence) -> Translation:
    """Return the translation and its alternatives after `complete` of all transforms."""
    if not sentence.notes:
        return translation
    completed = [replace(entry, alternatives=()) for entry in translation.n_best]
    for transform in reversed(sentence.notes):
        completed = [transform.complete(entry, sentence) for entry in completed]
    return replace(completed[0], alternatives=tuple(completed[1:]))
