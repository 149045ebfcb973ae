"""The scores that `dragoman localize` shows, its calibration, and the terms that it favors."""

from collections.abc import Sequence
from pathlib import Path

import typer

from dragoman.cli.calibrate import fit_temperature
from dragoman.cli.localize_parents import Parent
from dragoman.cli.streams import aligned, tell
from dragoman.configuration.config import Config
from dragoman.configuration.messages import figure
from dragoman.corpus import catalogue_terms, glossary_file
from dragoman.corpus.examples import Example, read_examples, read_pairs
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.evaluation.baselines import ANY
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.evaluation.significance import FEWEST, compare
from dragoman.files.writing import write_atomically
from dragoman.run.run import Run
from dragoman.text.glossary import Glossary
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation
from dragoman.translation import loading
from dragoman.translation.transforms.terms import UNCONSTRAINED, LexicalConstraints
from dragoman.translation.translator import Translator

SHARE = 0.8  # of the longer messages with a term, which keep its translation
WEIGHT = 2.0  # of a term, in nats per token


def measure(config: Config, parent: Parent, terms: Path) -> bool:
    """Calibrate a run on its development messages, unless there are too few, and print its scores there beside those of
    the nearest neighbor and of its parent. Write the terms of its training messages to a file, unless there is one, and
    return whether chrF is higher with these favored by WEIGHT.
    """
    data, run = config.data, Run.load(config.run)
    examples = list(read_examples(data.dev, data.source, data.target))
    if len(examples) < FEWEST:
        tell(f"{config.run}: {len(examples)} development messages are too few for scores and confidence")
        return False
    inputs, references = [example.sources for example in examples], [example.target for example in examples]
    translator = loading.load(config.run)
    if not translator.processor.surfaces.target:  # words outside of the vocabulary have no probability of their own
        fit_temperature(translator, run.weights(), inputs, references).write(run.folder.calibration)
    memory = data.train[0] if parent.run.config.data.recalled else None
    before = loading.load(parent.run.folder.path, translation_memory=memory)
    glossary = write_terms(config, terms)

    def translated(model: Translator, constraints: LexicalConstraints = UNCONSTRAINED) -> list[str]:
        return [one.text for one in model.translate(inputs, constraints=constraints, details=False)]

    own = {config.run: translated(translator)}
    if glossary:
        favored = LexicalConstraints(glossary, weight=WEIGHT)
        own[f"{config.run}, {len(glossary):,} terms favored"] = translated(translator, favored)
    baselines = {"nearest neighbor": nearest(config, examples), str(parent.run.folder.path): translated(before)}
    typer.echo(score_table(baselines | own, references))
    tell(f"{len(examples)} development messages, by which the weights were selected as well")
    plain, *with_terms = (Chrf().corpus(texts, [references]).value for texts in own.values())
    return any(score > plain for score in with_terms)


def write_terms(config: Config, path: Path) -> Glossary:
    """Write the terms of a run's training messages, and return them. A file that is there may have been edited: it is
    read instead.
    """
    if path.is_file():
        return glossary_file.read(path)
    pairs = read_pairs(list(config.data.train), config.data.source[0], config.data.target)
    terms = Glossary(use.term for use in catalogue_terms.learn(pairs) if use.share >= SHARE)
    with write_atomically(path) as file:
        file.writelines(f"{line}\n" for line in glossary_file.lines(terms.terms))
    return terms


def nearest(config: Config, examples: Sequence[Example]) -> list[str]:
    """Return the translation of the most similar training source for each example."""
    data = config.data
    pairs = list(read_pairs(list(data.train), data.source[0], data.target))
    memory = NearestMemory(pairs, Normalizer(lowercase=False), punctuation, threshold=ANY)
    sources = (str(example.sources[0]) for example in examples)
    return [next((match.translation for match in memory.matches(source)), "") for source in sources]


def score_table(systems: dict[str, list[str]], references: list[str]) -> str:
    """Return BLEU and chrF of translations, with what chrF is above that of the first system and its 95 % interval, and
    the share that equals the reference.
    """
    chrf = Chrf()
    compared = compare(chrf, [chrf.counts(texts, [references]) for texts in systems.values()], 1)
    first, *_ = compared
    rows = [["", "BLEU", "chrF", f"above the {next(iter(systems))}, 95 %", "equal"]]
    for (name, texts), result in zip(systems.items(), compared, strict=True):
        low, high = result.difference
        above = (
            f"{result.score.value - first.score.value:+.1f} ({low:+.1f} to {high:+.1f})" if result is not first else ""
        )
        equal = sum(text == reference for text, reference in zip(texts, references, strict=True)) / len(references)
        bleu = Bleu().corpus(texts, [references]).value
        rows.append([name, figure(bleu), figure(result.score.value), above, f"{equal:.0%}"])
    return aligned(rows)
