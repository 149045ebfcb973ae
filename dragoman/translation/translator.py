"""Text to translations: all layers above (training, commands, services) translate with this."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import torch

from dragoman.configuration import arguments, components
from dragoman.configuration.components import Spec
from dragoman.corpus.pharaoh import Links
from dragoman.data.batch import Batch
from dragoman.data.language import Language
from dragoman.data.source import Source, the_text
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.decoding import Deadline
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.limits import FORCED
from dragoman.search.table import SEARCHES, has_beam, with_beam
from dragoman.search.tempered import NORMALIZER, Tempered
from dragoman.text.mark import Mark
from dragoman.text.protection import Protection
from dragoman.translation import source_inputs
from dragoman.translation.attention_matrix import SHORT
from dragoman.translation.attribution.context import Origin, Searched, Similar, explain
from dragoman.translation.explanation import Explanation
from dragoman.translation.generator import SequenceGenerator, Task
from dragoman.translation.processor import Codec, Pair, listed
from dragoman.translation.reranking.criteria import Candidates
from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
from dragoman.translation.reranking.reranker import Reranker
from dragoman.translation.sentence import Sentence
from dragoman.translation.simultaneous import SimultaneousTranslator
from dragoman.translation.source_inputs import Text
from dragoman.translation.transforms.casing import read_capitals, write_capitals
from dragoman.translation.transforms.terms import UNCONSTRAINED, LexicalConstraints, told
from dragoman.translation.translation import Scored, StreamedWord, Translation

SPARE = 3  # spare hypotheses kept for each entry of an n-best list, as several may spell one text

Choice: TypeAlias = Callable[[Sentence, list[Hypothesis]], Translation]


class Translator:
    """A model with its codec, a search and a device; a `model` given as a function is loaded when it is first needed.

    `generator` has what else there is to the search: constraints, candidates, another engine.
    """

    def __init__(
        self,
        model: Seq2Seq | Ensemble | Callable[[], Seq2Seq | Ensemble],
        codec: Codec,
        search: Spec,
        device: Device,
    ) -> None:
        self.codec = codec
        self.search = search
        self.device = device
        self.generator = SequenceGenerator(model, codec, device)
        self.similar: Similar | None = None  # finds training pairs, if they are known

    def __repr__(self) -> str:
        sources, targets = self.languages, self.targets
        told = " to ".join(SHORT.repr(", ".join(names)) for names in (sources, targets))
        return f"Translator({told}, search={self.search.kind!r}, device={str(self.device.torch_device)!r})"

    @property
    def target(self) -> Language:
        return self.codec.target

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.codec.reading.sources

    @property
    def languages(self) -> tuple[str, ...]:
        """The names of the sources."""
        return tuple(each.name for each in self.sources)

    @property
    def asked(self) -> tuple[Source, ...]:
        """The sources that a user gives; a translation memory fills the others, unless they are given too."""
        return self.codec.reading.asked

    @property
    def source(self) -> Language:
        """The only source. UserError if there are several, or it is numeric."""
        return the_text(self.sources)

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
        search: str | Mapping[str, Any] | Spec | None = None,
        prefix: Sequence[str] | None = None,
        timeout: float | Deadline | None = None,
        exact: bool = False,
        constraints: LexicalConstraints = UNCONSTRAINED,
        risk: MinimumBayesRisk | None = None,
        rerank: Reranker | None = None,
    ) -> list[Translation]:
        """Translate each text, in order; the translation of an empty or blank text is empty. The `n_best` translations
        are different texts; there are fewer if the search has not finished that many different ones.

        With several sources, a text is a tuple of one text per source; a blank one counts as missing. Those that a
        translation memory fills (`asked` has the others) may be left out. For a numeric
        source it is an array (regions, size) or (size,), or the name of a .npy file with one. `to` is the target
        language, if the run has several (`targets`).

        `prefix` gives the beginning of each translation ("" = any); the translation may continue its last word. A blank
        text stays empty, and one that stays as it is has no other beginning. After `timeout` seconds, UserError is
        raised instead of returning translations; a Deadline may also be cancelled from another thread.

        `exact`: a text that the translation memory has is translated as it is there, without a search (unless that does
        not begin with its prefix); its attention is that of forced decoding.

        A text in capitals, such as a heading, is read in the letter case that the model knows better, if it does, and
        translated in capitals; not with `prefix`, `exact` or several sources.

        `constraints`: terms of a glossary, and what is protected though the run knows no marks for it: no model reads
        such spans, and attention tells where they stand in the translation. A text without a letter or digit beside
        them stays as it is. `Translation.terms` and `spans` tell what came of it.

        `risk`: of many translations that the search gives, the one with the minimum Bayes risk is best; without
        `search` and `beam_size` they are samples.

        `rerank`: of many translations that the search gives, the one with the highest weighted sum of criteria is best;
        without `search` and `beam_size` the run's own beam is as wide as that needs.

        `search` replaces the run's own search: its kind ("greedy"), as the configuration has it ({"kind": "sample",
        "top_p": 0.9}), or a Spec. `beam_size` replaces the size of its beam (that of beam search, if it has none).
        UserError if it cannot give `n_best` translations, or if `to` is missing or none of the run's languages.
        """
        texts = listed(texts, "translate([text])")
        n_best = arguments.whole(n_best, "n_best", 1)
        arguments.checked(exact, "exact", bool)
        arguments.checked(constraints, "constraints", LexicalConstraints)
        arguments.checked(risk, "risk", MinimumBayesRisk, type(None))
        arguments.checked(rerank, "rerank", Reranker, type(None))
        if rerank and risk:
            raise ValueError("rerank and risk: each says what is best; leave out one")
        chooser = risk or rerank
        if chooser and search is None and beam_size is None:
            search = chooser.search(self.search)
        task = self._task(n_best, self._spec(search, beam_size), _deadline(timeout), self.codec.mark(to), chooser)
        if constraints.weight and not task.search.allows_rewards:
            raise UserError("exhaustive search: terms may be required, not favoured (--glossary-weight)")
        if exact and not self.codec.reading.recall:
            raise UserError("this run has no translation memory to find exact matches in (data.memory)")
        prefixes = [None] * len(texts) if prefix is None else listed(prefix, "translate([text], prefix=[text])")
        capitals = {} if exact or prefix else self._capitals(texts, constraints)
        texts = [capitals.get(number, text) for number, text in enumerate(texts)]
        sentences = self._sentences(texts, task.mark, prefixes, constraints)
        found = self._remembered(sentences, prefixes, to) if exact else {}
        read = [each for each in sentences if not each.stays]
        full = [each for each in read if any(len(symbols) > len(task.mark) for symbols in each.encoded)]
        choose = partial(self.codec.translation, n_best=task.n_best if rerank else n_best, risk=risk)
        searched = [each for each in full if each.number not in found]
        found |= self._translated(task, searched, choose)
        if rerank:
            found |= _reranked(searched, found, rerank, n_best)
        translations = [
            told(found[each.number], each.constraints)
            if each.number in found
            else self._completed(self.codec.nothing(each), each)
            for each in sentences
        ]
        written = to or self.target.name
        return [
            write_capitals(each, written) if number in capitals else each for number, each in enumerate(translations)
        ]

    def _capitals(self, texts: Sequence[Text], constraints: LexicalConstraints) -> dict[int, str]:
        """How texts in capitals are read, by their numbers; those of several sources, and of edits, as they are."""
        if len(self.sources) > 1 or self.edited is not None or not isinstance(self.sources[0], Language):
            return {}
        patterns = [each.patterns for each in (self.codec.reading.protection, constraints.protection) if each]
        protection = Protection([pattern for each in patterns for pattern in each]) if patterns else None
        source = self.sources[0]
        alone = (text[0] if isinstance(text, tuple | list) and len(text) == 1 else text for text in texts)
        every = ((number, text) for number, text in enumerate(alone) if isinstance(text, str))
        read = ((number, read_capitals(source, text, protection)) for number, text in every)
        return {number: text for number, text in read if text is not None}

    def _translated(self, task: Task, sentences: Sequence[Sentence], choose: Choice) -> dict[int, Translation]:
        """The translations of these sentences by their numbers. Those that lack terms are searched for again, until the
        search has seen to all that it could.
        """
        best = found = self._searched(task, sentences, choose)
        while sentences := [
            each._replace(constraints=more)
            for each in sentences
            if (more := each.constraints and each.constraints.searching(found[each.number]))
        ]:
            found = self._searched(task, sentences, choose)
            for each in sentences:
                best[each.number] = min(best[each.number], found[each.number], key=partial(worse, each))
        return best

    def _searched(self, task: Task, sentences: Sequence[Sentence], choose: Choice) -> dict[int, Translation]:
        hypotheses = self.generator.generate(task, sentences)
        return {each.number: self._completed(choose(each, hypotheses[each.number]), each, task) for each in sentences}

    def _completed(self, found: Translation, sentence: Sentence, task: Task | None = None) -> Translation:
        """The translation, and the next best ones, with what explains them, and with the spans that no model read."""
        pair = Pair(
            sentence.read, sentence.marked, source_inputs.cut(sentence.encoded, source_inputs.LONGEST), list(found.said)
        )
        searched, said = Searched(task, sentence) if task else None, found if sentence.detached else None
        origin = Origin(self.generator, pair, searched, self.similar, said)
        others = tuple(self._completed(each, sentence, task) for each in found.alternatives)
        return replace(self.codec.attached(sentence, found), alternatives=others, explainer=origin)

    def _spec(self, search: str | Mapping[str, Any] | Spec | None, beam_size: int | None) -> Spec:
        """The search with which to translate. ValueError for a beam size of a search that is named and has none."""
        if (
            beam_size is not None
            and search is not None
            and not has_beam(components.read(SEARCHES, search, ("search",)).kind)
        ):
            raise ValueError("beam_size: this search has no beam; leave out one of them")
        spec = self.search if search is None else components.read(SEARCHES, search, ("search",))
        return spec if beam_size is None else with_beam(spec, arguments.whole(beam_size, "beam_size", 1))

    def _task(
        self,
        n_best: int,
        spec: Spec,
        deadline: Deadline | None,
        mark: Sequence[Mark],
        chooser: MinimumBayesRisk | Reranker | None,
    ) -> Task:
        """What is asked of the search."""
        if self.generator.several and spec.options.get("coverage_penalty"):
            raise UserError("search.coverage_penalty looks at one model's attention, and several translate together")
        found_by = components.build(SEARCHES, spec)
        if chooser and found_by.width < 2:
            raise UserError("this search gives one translation, and there is nothing to choose from")
        count = chooser.count(found_by.width) if chooser else n_best
        if chooser and n_best > count:
            raise UserError(f"n-best {n_best}: {count} translations are compared, and there are no more to write")
        risk = isinstance(chooser, MinimumBayesRisk)
        if risk and count > found_by.width:
            fewer = f"gives {found_by.width} translations, fewer than {count} (--samples)"
            wider = "" if found_by.draws else "; a wider beam gives more"
            raise UserError(f"minimum Bayes risk: this search {fewer}{wider}")
        spare = 0 if risk else SPARE * (count - 1)
        return Task(found_by, count, spare, mark, deadline)

    def _sentences(
        self,
        texts: Sequence[Text],
        mark: Sequence[Mark],
        prefixes: Sequence[str | None],
        constraints: LexicalConstraints,
    ) -> list[Sentence]:
        """The texts as they are searched for. UserError if a prefix breaks the run's constraints."""
        if len(prefixes) != len(texts):
            raise ValueError(f"{len(prefixes)} prefixes and {len(texts)} texts: every text needs its prefix")
        found = [
            self.codec.sentence(number, self.codec.reading.given(text), mark, prefix, constraints)
            for number, (text, prefix) in enumerate(zip(texts, prefixes, strict=True))
        ]
        broken = self.generator.first_forbidden([each.prefix for each in found])
        if broken is not None:
            raise UserError(f"prefix: {SHORT.repr(prefixes[broken])} is not allowed by the run's constraints")
        return found

    def _remembered(
        self, sentences: Sequence[Sentence], prefixes: Sequence[str | None], to: str | None
    ) -> dict[int, Translation]:
        """The translations that the memory has of these very texts, by their numbers."""
        every = ((each.number, self.codec.reading.remembered(each.given)) for each in sentences)
        found = {number: text for number, text in every if text is not None and text.startswith(prefixes[number] or "")}
        scored = self.score([sentences[number].given for number in found], list(found.values()), to=to)
        told = dict[int, Translation]()
        for (number, text), each in zip(found.items(), scored, strict=True):
            whole, detached = replace(each.translation, text=text), sentences[number].detached
            told[number] = detached.remembered(whole) if detached else whole
        return told

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
        return SimultaneousTranslator(self.generator, self.search, wait).translate(words, to)

    def left_out(self, text: Text) -> int:
        """How many symbols of a text are not read because it has more than LONGEST."""
        reading, mark = self.codec.reading, [*self.marks.values()][:1]
        given = reading.given(text)
        encoded = reading.encoded(self.codec.marked(given).given, mark)
        return source_inputs.left_out(given, zip(reading.read, encoded, strict=True))

    def score(
        self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None, confidence: bool = False
    ) -> list[Scored]:
        """`log P(y | x)` of given pairs and the attention of forced decoding (CN 1, SL). Long pairs are scored
        whole, up to LONGEST_TEXT characters. `to` is the language of the targets, if the run has several.

        `confidence`: the translations of a calibrated run have theirs, which takes a second pass, step by step.
        """
        found: dict[int, Scored] = {}
        temperature = self.codec.temperature if confidence else None
        with torch.inference_mode():
            for pairs, batch in self.codec.batches(sources, targets, to):
                with self.generator.threads(len(pairs)):
                    scored = self.scorer.score(batch.to(self.device.torch_device))
                    if temperature is not None:
                        reported = Tempered(self.scorer, temperature).score(batch.to(self.device.torch_device)).figures
                        scored = scored._replace(figures={**scored.figures, NORMALIZER: reported[NORMALIZER]})
                for row, (number, pair) in enumerate(zip(batch.rows.tolist(), pairs, strict=True)):
                    origin = Origin(self.generator, pair, similar=self.similar)
                    found[number] = self.codec.scored(pair, scored, row)._replace(explainer=origin)
        return [found[number] for number in range(len(found))]

    def explain(
        self, translations: Iterable[Translation], contrasts: Sequence[str | None] = (), *, nearest: int = 0
    ) -> list[Explanation]:
        """Why each of these translations by this translator (or of given pairs: `score(...)[0].translation`), and why
        not another text, if there is one for it; as `Translation.explain`, of many at once.
        """
        return explain(translations, contrasts, nearest)

    def align(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> list[Links]:
        """Word alignments of given pairs, as links (source, target) from 0, by the attention of forced decoding."""
        return [scored.alignment for scored in self.score(sources, targets, to=to)]

    def pairs(self, sources: Sequence[Text], targets: Sequence[str], *, to: str | None = None) -> Iterator[Batch]:
        """The pairs in batches of similar length; `rows` are their numbers. Overlong sentences are truncated. `to` is
        the language of the targets, if the run has several.
        """
        every = self.codec.batches(sources, targets, to, source_inputs.LONGEST)
        return (batch.to(self.device.torch_device) for _, batch in every)


def _deadline(timeout: float | Deadline | None) -> Deadline | None:
    if timeout is None or isinstance(timeout, Deadline):
        return timeout
    return Deadline(arguments.number(timeout, "timeout"))


def _reranked(
    sentences: Sequence[Sentence], found: Mapping[int, Translation], rerank: Reranker, n_best: int
) -> dict[int, Translation]:
    """The best translations by the criteria, those with the fewest terms missing first."""
    every = [Candidates(rerank.first + each.number, each.given, found[each.number].n_best) for each in sentences]
    best = dict[int, Translation]()
    for each, ranked in zip(sentences, rerank.ranked(every), strict=True):
        first, *others = sorted(ranked, key=partial(_lacking, each))[:n_best]
        best[each.number] = replace(first, alternatives=tuple(others))
    return best


def worse(sentence: Sentence, found: Translation) -> tuple[bool, int]:
    """What makes a translation worse: that it had to end with something missing, or else terms that it lacks."""
    return found.log_prob < FORCED, _lacking(sentence, found)


def _lacking(sentence: Sentence, found: Translation) -> int:
    """How many required terms a translation does not have."""
    constraints = sentence.constraints
    return len(constraints.lacking(found)) if constraints and not constraints.weight else 0
