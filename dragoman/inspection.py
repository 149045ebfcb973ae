"""What is known of a run: facts, scores, curves and sentences with their attention, from its files."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import ModelConfig
from dragoman.corpus.features import FeatureSource
from dragoman.corpus.pharaoh import Gold
from dragoman.data.language import Language
from dragoman.data.vocabulary import SymbolTable
from dragoman.errors import UserError
from dragoman.evaluation import alignment, baselines
from dragoman.evaluation.alignment import AlignmentScore
from dragoman.evaluation.metrics.metric import Score, predicted
from dragoman.evaluation.metrics.table import METRICS
from dragoman.files import read_lines
from dragoman.model import build
from dragoman.model.inputs import SourceInput, model_inputs
from dragoman.model.weights import read_note
from dragoman.run.folder import told
from dragoman.run.run import Run
from dragoman.search.table import SEARCHES
from dragoman.translation import result
from dragoman.translation.inputs import Text
from dragoman.translation.maps import SourceMaps
from dragoman.translation.result import Result
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from dragoman.visualisation.sentences import Example

ALTERNATIVES = 5  # translations of a sentence in a report
EXPLAINED = 2_000  # translations at most: a report shows no more
NEAREST = 3  # training pairs beside an explanation

Row = dict[str, Any]
Counts: TypeAlias = NDArray[np.float64]  # of each sentence


class Sentences(NamedTuple):
    """Translated sentences: the translations, and what a report shows of each."""

    texts: list[str]
    examples: list[Example]

    @property
    def references(self) -> list[str]:
        """The references that are known; an empty line counts as one."""
        return [example.reference for example in self.examples if example.reference is not None]

    @property
    def known(self) -> "Sentences":
        """The sentences whose reference is known."""
        return self._those(example.reference is not None for example in self.examples)

    def of(self, pair: str) -> "Sentences":
        """Return the sentences of one language pair."""
        return self._those(example.pair == pair for example in self.examples)

    def _those(self, chosen: Iterable[bool]) -> "Sentences":
        numbers = [number for number, wanted in enumerate(chosen) if wanted]
        return Sentences([self.texts[n] for n in numbers], [self.examples[n] for n in numbers])


def scores(run: Run, sentences: Sentences, more: Iterable[Score] = ()) -> list[Score]:
    """Return the scores by the run's metrics of sentences whose reference is known, and `more`; the signatures name the
    references.
    """
    known, measured = sentences.known, list[Score]()
    for pair in dict.fromkeys(example.pair for example in known.examples):
        some = known.of(pair)
        for spec in run.config.metrics:
            score = components.build(METRICS, spec).corpus(some.texts, [some.references])
            measured.append(score.of(pair).against(some.references))
    return [*measured, *more]


def development(run: Run) -> tuple[Sentences, list[Score]]:
    """Return the development sentences as translated by the finished model, what they score without a model, and how
    well the model predicts their references.
    """
    try:
        found = list(result.read(run.folder.validation)) if run.folder.validation.is_file() else []
    except UserError as error:
        way = "remove the file, and train writes it again; or name --sentences"
        raise UserError(f"{error}; a report needs a validation by this version: {way}") from None
    sentences = Sentences([each.translation.text for each in found], list(map(example, found)))
    final = next((row for row in reversed(metric_rows(run)) if "final/perplexity" in row), None)
    if final is None:
        return sentences, []
    known = baselines.from_json(run.folder.proof.get("baselines"))
    likely = prediction(run.target, final["final/perplexity"], final["final/accuracy"])
    return sentences, [*(known.scores if known else ()), *(each.against(sentences.references) for each in likely)]


def prediction(language: Language, perplexity: float, accuracy: float) -> list[Score]:
    """Return the scores for the prediction of references in the symbols of a language."""
    vocabulary = language.vocabulary
    symbols = vocabulary.symbols(range(len(vocabulary)))
    return predicted(perplexity, accuracy, str(language.text.spec["unit"]["kind"]), symbols)


def translated(
    translator: Translator,
    pairs: Sequence[tuple[Text, str | None]],
    gold: Sequence[Gold] = (),
    *,
    to: str | None = None,
    explain: bool = False,
) -> tuple[Sentences, Counts | None]:
    """Translate sentences with a model, into the language `to` if it has several; with gold alignments of the
    references, also return what `alignment.agreements` counts for each; and `explain` each translation, and why it is
    not the reference, with the most similar training pairs, if their files are there.

    Gold links are shown if the translation equals the reference. A reference is None if it is not known; with gold
    links, all are known.
    """
    sources, known = [source for source, _ in pairs], [reference for _, reference in pairs if reference is not None]
    counts = _agreements(translator, sources, known, gold, to=to) if gold else None
    width = components.build(SEARCHES, translator.search).width
    found = translator.translate(sources, to=to, n_best=min(ALTERNATIVES, width))
    if explain:
        found = _explained(translator, found, [reference for _, reference in pairs])
    links = [each.possible for each in gold] if gold else [None] * len(pairs)
    examples = [
        example(Result(translation, reference), each if translation.text == reference else None)
        for translation, (_, reference), each in zip(found, pairs, links, strict=True)
    ]
    return Sentences([each.text for each in found], examples), counts


def _explained(
    translator: Translator, found: Sequence[Translation], references: Sequence[str | None]
) -> list[Translation]:
    """The same translations, the first EXPLAINED each with its explanation unless it is empty."""
    first, rest = found[:EXPLAINED], found[EXPLAINED:]
    said = [each for each in first if each.text]
    instead = [
        reference if reference and reference != each.text else None
        for each, reference in zip(first, references, strict=False)
        if each.text
    ]
    try:
        explanations = iter(translator.explain(said, instead, nearest=NEAREST))
    except UserError:  # a run may have been moved away from its training data
        explanations = iter(translator.explain(said, instead))
    return [*(replace(each, explanation=next(explanations)) if each.text else each for each in first), *rest]


def agreement(
    translator: Translator,
    sources: Sequence[Text],
    references: Sequence[str],
    gold: Sequence[Gold],
    *,
    to: str | None = None,
) -> AlignmentScore:
    """Score the agreement of attention in forced decoding with gold links. Raises UserError if a link is outside its
    sentence.
    """
    return AlignmentScore.of(_agreements(translator, sources, references, gold, to=to).sum(axis=0).tolist())


def _agreements(
    translator: Translator,
    sources: Sequence[Text],
    references: Sequence[str],
    gold: Sequence[Gold],
    *,
    to: str | None = None,
) -> Counts:
    """What `alignment.agreements` counts for each sentence."""
    scored = translator.score(sources, references, to=to)
    for each, links in zip(scored, gold, strict=True):
        links.check(len(each.source_words), len(each.words))
    return alignment.agreements([each.alignment for each in scored], gold)


def example(found: Result, gold: Iterable[tuple[int, int]] | None = None) -> Example:
    """Return a translation as a report shows it. Gold links are those of the words of its only source."""
    translation = found.translation
    seen, confidence = translation.attention_matrix, translation.confidence
    first = int(0 in seen.shares)  # the column of the first word
    worded = [not source.regions for source in translation.sources]
    why = translation.explanation
    return Example(
        seen.columns,
        translation.words,
        found.reference,
        seen.attention,
        translation.score,
        None if gold is None else sorted((source + first, target) for source, target in gold),
        [(each.text, each.score) for each in (translation.n_best if translation.alternatives else ())],
        seen.shares,
        found.pair or "",
        texts=[(source.label.strip("[]"), source.text) for source in translation.sources],
        target_text=translation.text,
        maps=_maps(list(compress(why.sources, worded))) if why else {},
        confidence=confidence.words.tolist() if confidence else None,
        contrast=why.differences() if why else (),
        nearest=why.nearest if why else (),
        beam=why.beam if why else (),
    )


def _maps(sources: Sequence[SourceMaps]) -> dict[str, NDArray[np.float64]]:
    """The maps of an explanation (target words, source words), by name."""
    if not sources:
        return {}
    gradient, erasure = [each.gradient for each in sources], [each.erasure for each in sources]
    return {"gradient": np.concatenate(gradient, 1), "erasure": np.concatenate(erasure, 1)}


def facts(run: Run) -> list[tuple[str, str]]:
    """Return the facts about a run, as labels and texts."""
    config = run.config
    sides = (*run.sources, run.target)
    sizes = [len(each.vocabulary) for each in sides if isinstance(each, Language)]
    regions = [f"{each.name}: {each.size:,} numbers" for each in run.sources if isinstance(each, FeatureSource)]
    parts = parameters(config.model, model_inputs(config, run.sources), run.target.symbols)
    every = {1: "", 2: ", one inventory for both"}.get(len(sizes), ", one inventory for all")
    shared = every if config.text.joint else ""
    units = " and ".join(dict.fromkeys((config.text.source.unit.kind, config.text.target.unit.kind)))
    return [
        ("languages", config.data.languages),
        ("training data", config.data.places("train")),
        ("development data", config.data.places("dev")),
        ("symbols", f"{' and '.join(f'{size:,}' for size in sizes)} ({units}{shared})"),
        *([("regions", "; ".join([*regions, _told(config.model.features)]))] if regions else []),
        ("encoder", _told(config.model.encoder)),
        ("bridge", _told(config.model.bridge)),
        ("attention", "; ".join(map(_told, config.model.attention.chosen()))),
        *([("combination", _told(config.model.combination))] if config.combines else []),
        ("decoder", _told(config.model.decoder)),
        ("output", _told(config.model.output)),
        ("parameters", f"{sum(parts.values()):,}"),
        *((f"  {part}", f"{count:,}") for part, count in parts.items()),
        *([("begun with", run.folder.ancestor)] if run.folder.ancestor else []),
        *_progress(metric_rows(run)),
        *_weights(run),
    ]


def _told(spec: Spec) -> str:
    """Describe a part with the options that are on: neither null nor false nor 0."""
    on = (name if value is True else f"{name} {value}" for name, value in spec.options.items() if value)
    return ", ".join([spec.kind, *(each.replace("_", " ") for each in on)])


def _progress(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the progress, speed and memory of training."""
    if not rows:
        return [("training", "has not begun")]
    last = rows[-1]
    state = "ended" if any(key.startswith("final/") for key in last) else "under way"
    facts = [("training", f"{state}: {last['step']:,} steps, {last['time'] / 60:.1f} minutes")]
    speeds = [row["train/symbols_per_second"] for row in rows if "train/symbols_per_second" in row]
    if speeds:
        facts.append(("speed", f"{float(np.median(speeds)):,.0f} target symbols a second"))
    if last.get("final/memory_gb"):
        facts.append(("memory of the process", f"{last['final/memory_gb']:.2f} GB at most"))
    return facts


def _weights(run: Run) -> list[tuple[str, str]]:
    """Describe which validations the weights to use come from."""
    path = run.folder.weights()
    return [("weights", told(read_note(path)))] if path.is_file() else []


def parameters(model: ModelConfig, sources: tuple[SourceInput | int, ...], target: SymbolTable | int) -> dict[str, int]:
    """Return the number of parameters of each part of a model; a shared table counts for the part that comes first."""
    with torch.device("meta"):  # sizes without allocating memory
        built = build.build(model, sources, target)
    counts: Counter[str] = Counter()
    for name, parameter in built.named_parameters():
        part, *below = name.split(".")
        if part == "readers":  # number and part of a reader
            part = {"embedding": "source embedding"}.get(below[1], below[1])
        elif part == "inputs":
            part = {"embedding": "target embedding", "map": "cursor"}[below[0]]
        counts[part.replace("_", " ")] += parameter.numel()
    return dict(counts)


def metric_rows(run: Run) -> list[Row]:
    """Return the rows of metrics.jsonl, if any; a process that was killed may have left the last one incomplete."""
    path, rows = run.folder.metrics, list[Row]()
    lines = list(read_lines(path)) if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
            if number == len(lines):
                break
        if not isinstance(row, dict) or not {"step", "time"} <= row.keys():
            raise UserError(f"{path}:{number}: expected a JSON object with step and time")
        rows.append(row)
    return rows
