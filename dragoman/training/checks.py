"""Checks of a whole configuration: problems in the parts that training adds, and all options checked and completed."""

import fnmatch
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.configuration import arguments, components, config_file, sections
from dragoman.configuration.components import Problem
from dragoman.configuration.config import Config, TextConfig
from dragoman.configuration.data import COLUMNS, DataConfig
from dragoman.configuration.messages import nearest
from dragoman.corpus import tables
from dragoman.corpus.examples import missing_files
from dragoman.corpus.formats import ENDINGS
from dragoman.corpus.translation_memory import MEMORIES
from dragoman.data.denoising import NOISES
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.files.reading import existing
from dragoman.model import build
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.windows import WINDOWS
from dragoman.model.embedding import EMBEDDINGS
from dragoman.model.output.table import OUTPUTS
from dragoman.run.folder import RunFolder
from dragoman.search.constraints import CONSTRAINTS
from dragoman.search.table import SEARCHES
from dragoman.text.protection import KINDS
from dragoman.text.words import TOKENIZERS
from dragoman.training.loggers import LOGGERS
from dragoman.training.objectives.consistency import CONSISTENCIES
from dragoman.training.objectives.objective import check_learnable, check_normalized
from dragoman.training.objectives.penalties import PENALTIES
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.optimizer import OPTIMIZERS, SCHEDULES
from dragoman.translation.transforms.transform_order import TRANSFORMS

# The keys of the configuration that name one or several parts, besides those of the model.
TABLES: sections.Tables = {
    ("data", "translation_memory"): MEMORIES,
    ("data", "noise"): NOISES,
    ("text", "protect"): KINDS,
    ("text", "source", "tokenizer"): TOKENIZERS,
    ("text", "target", "tokenizer"): TOKENIZERS,
    ("training", "objective"): OBJECTIVES,
    ("training", "penalties"): PENALTIES,
    ("training", "consistency"): CONSISTENCIES,
    ("training", "optimizer"): OPTIMIZERS,
    ("training", "schedule"): SCHEDULES,
    ("training", "search"): SEARCHES,
    ("training", "loggers"): LOGGERS,
    ("search",): SEARCHES,
    ("constraints",): CONSTRAINTS,
    ("transforms",): TRANSFORMS,
    ("metrics",): METRICS,
}
# The same of all parts.
PARTS: sections.Tables = {**TABLES, **{("model", *path): table for path, table in build.TABLES.items()}}


def problems(config: Config) -> list[Problem]:
    """Find invalid kinds and options of parts; parts of the model that do not fit, if their options are valid; and if
    all options are valid, what does not fit in training.
    """
    # Options first: a part whose options are invalid cannot be made, and other messages about it would mislead.
    invalid = sections.part_problems(config, PARTS)
    misfits = [] if any(problem.path[0] == "model" for problem in invalid) else build.find_problems(config)
    return [*misfits, *(invalid or _training_problems(config))]


def _training_problems(config: Config) -> list[Problem]:
    faults: list[Problem] = []
    try:
        components.build(SCHEDULES, config.training.schedule, 1)  # with any length, which depends on the data
    except ValueError as error:
        faults.append(Problem(("training", "schedule"), str(error)))
    objective = OBJECTIVES[config.training.objective.kind]
    faults += [Problem(("training", "objective"), message) for message in objective.problems(config)]
    faults += _protection(config.text)
    faults += _names(config)
    faults += _sources(config)
    faults += _unknown(config)
    faults += _noise(config)
    faults += _features(config)
    faults += _pairs(config)
    faults += _shared(config.data)
    faults += _joint(config.text)
    faults += _penalties(config)
    faults += _consistency(config)
    faults += _coverage(config)
    faults += _pretrained(config)
    faults += _frozen(config)
    if any(config.training.init_interpolation) and not config.training.init_from:
        faults.append(Problem(("training", "init_interpolation"), "requires training.init_from"))
    return faults


def _protection(text: TextConfig) -> Iterator[Problem]:
    """Check the regular expressions of protected spans, and that there can be symbols for them."""
    for side in ("source", "target"):
        kind = getattr(text, side).tokenizer.kind
        if text.protect and not TOKENIZERS[kind].learns:
            yield Problem(("text", side, "tokenizer"), f"'{kind}' has no symbols for protected spans (text.protect)")
    for number, spec in enumerate(text.protect):
        try:
            components.build(KINDS, spec)
        except UserError as error:
            yield Problem(("text", "protect", number, "regex"), str(error))


def _names(config: Config) -> Iterator[Problem]:
    """Check names of sources, which names of files in the run contain if there are several."""
    for number, name in enumerate(config.data.source):
        if "/" in name and len(config.data.inputs) > 1:
            message = f"'{name}' with a '/' cannot name files of the run (several sources, or data.translation_memory)"
            yield Problem(("data", "source", number), message)


def _sources(config: Config) -> Iterator[Problem]:
    """Check what an objective requires of the sources and of the attention."""
    data, kind, path = config.data, config.training.objective.kind, ("training", "objective")
    objective = OBJECTIVES[kind]
    if objective.both_directions and data.features:
        yield Problem(path, f"'{kind}' trains both directions and cannot be combined with data.features")
    elif objective.both_directions and data.edits:
        yield Problem(path, f"'{kind}' trains both directions and cannot be combined with data.edits")
    elif objective.both_directions and (reason := _of_words(config)):
        yield Problem(path, f"'{kind}' trains both directions, but {reason}")
    elif objective.both_directions and len(data.inputs) > 1:
        yield Problem(path, f"'{kind}' requires a single source, found several")
    elif config.model.cursor and not objective.any_attention:
        yield Problem(("model", "cursor"), f"cannot be combined with training.objective: {kind}")
    elif config.combines:
        what = "several sources" if data.several else "a sentinel"
        if not objective.any_attention:
            yield Problem(path, f"'{kind}' does not support {what}")
        if config.training.penalties:
            yield Problem(("training", "penalties"), f"require attention to a single source, found {what}")


def _of_words(config: Config) -> str:
    """Return what a model has to do with words outside its vocabularies; nothing if it asks for no surfaces."""
    model, surfaces = config.model, build.unknown_word_needs(config.model)
    if surfaces.extended:
        return f"'{model.output.kind}' copies source words"
    if surfaces.sources:
        return f"'{model.embedding.source.kind}' reads the characters of source words"
    return f"'{model.output.kind}' spells target words" if surfaces.target else ""


def _unknown(config: Config) -> Iterator[Problem]:
    """Check parts for words outside the vocabulary alone, which need a tokenizer that has such words."""
    data, model = config.data, config.model
    kinds = {"source": config.text.source.tokenizer.kind, "target": config.text.target.tokenizer.kind}
    complete = {side for side, kind in kinds.items() if TOKENIZERS[kind].complete}
    names = [name for name in data.inputs or data.sides if name not in data.features]
    read = {"target" if name in data.recalled else "source" for name in names}  # what a memory recalls is a target

    def describe(does: str, side: str) -> str:
        expected = " or ".join(kind for kind, tokenizer in TOKENIZERS.items() if not tokenizer.complete)
        setting = f"text.{side}.tokenizer: {kinds[side]}"
        return f"{does} words outside the vocabulary, but {setting} leaves none; expected {expected}"

    kind = model.embedding.source.kind
    if EMBEDDINGS[kind].has_table and EMBEDDINGS[kind].reads_characters and read and read <= complete:
        yield Problem(("model", "embedding", "source"), describe(f"'{kind}' reads the characters of", min(read)))
    if OUTPUTS[model.output.kind].spells and "target" in complete:
        yield Problem(("model", "output"), describe(f"'{model.output.kind}' spells", "target"))


def _noise(config: Config) -> Iterator[Problem]:
    """Check noise: it is in the source alone, and hides words of it; the target is the same lines."""
    data, kind, path = config.data, config.training.objective.kind, ("data", "noise")
    if not data.denoises:
        return
    if OBJECTIVES[kind].both_directions:
        yield Problem(path, f"applies to the source, but '{kind}' trains both directions")
    if reason := _of_words(config):
        yield Problem(path, f"hides words, but {reason}")
    for pair in data.language_pairs:
        for place in (*pair.train, pair.dev) if pair.target in pair.sources else ():
            if place.endswith(ENDINGS):
                yield Problem(path, f"requires a text file PREFIX.{pair.target}; {place} is a table")


def _features(config: Config) -> Iterator[Problem]:
    """Check that arrays can have a name like that of the texts that they stand beside."""
    data = config.data
    for key, names in (("train", data.train), ("dev", (data.dev,))):
        for name in names if data.features else ():
            if name.endswith(ENDINGS):
                yield Problem(("data", key), f"data.features require PREFIX files; {name} is a table")


def _pairs(config: Config) -> Iterator[Problem]:
    """Check options that require a single language pair, or words."""
    training = config.training
    kind = training.objective.kind
    if config.data.pairs and OBJECTIVES[kind].both_directions:
        yield Problem(
            ("training", "objective"), f"'{kind}' requires a single pair; use data.pairs to train both directions"
        )
    if config.data.pairs and training.penalties:
        message = "cannot be combined with data.pairs, whose sources begin with a language tag"
        yield Problem(("training", "penalties"), message)


def _shared(data: DataConfig) -> Iterator[Problem]:
    """Check that tables of several pairs say which column is of which language."""
    first: dict[str, str] = {}
    for number, pair in enumerate(data.language_pairs if data.pairs else ()):
        names = (*pair.sources, pair.target)
        for place in (*pair.train, pair.dev):
            first_pair, path = first.setdefault(place, pair.name), ("data", "pairs", number)
            if first_pair == pair.name or not place.endswith(COLUMNS) or not existing(place).is_file():
                continue
            try:
                named = tables.header(place, names)
            except UserError as error:
                yield Problem(path, str(error))
            else:
                if named is None:
                    yield Problem(path, f"{place} is also used by {first_pair}; its first line must name the columns")


def _penalties(config: Config) -> Iterator[Problem]:
    """Check penalties: they need an objective that takes them, attention and, if they are supervised, links."""
    training, attention, path = config.training, config.model.attention, ("training", "penalties")
    if training.penalties and not OBJECTIVES[training.objective.kind].penalized:
        yield Problem(path, f"not supported by training.objective: {training.objective.kind}")
    if training.penalties:
        yield from (Problem(path, message) for message in check_learnable(config))
    kinds = [spec.kind for spec in training.penalties]
    for number, kind in enumerate(kinds):
        if kind in kinds[:number]:
            yield Problem((*path, number), f"'{kind}' is listed twice")
    supervised = [(*path, number) for number, kind in enumerate(kinds) if PENALTIES[kind].supervised]
    everywhere = (
        NORMALIZERS[attention.normalizer.kind].everywhere
        and WINDOWS[attention.window.kind].everywhere
        and not any(TERMS[term.kind].hides for term in attention.terms)
    )
    for place in supervised:
        if not config.data.alignments:
            yield Problem(place, "'supervised' requires data.alignments: true")
        yield from (Problem(place, message) for message in check_normalized(config, "supervised"))
        if not everywhere:
            yield Problem(
                place,
                "'supervised' cannot be combined with a sparse normalizer, window or masking term (weights of 0)",
            )
    if config.data.alignments and not supervised:
        yield Problem(("data", "alignments"), "requires training.penalties: supervised")


def _consistency(config: Config) -> Iterator[Problem]:
    """Check that passes are compared by an objective that makes them."""
    training, path = config.training, ("training", "consistency")
    objective, consistency = OBJECTIVES[training.objective.kind], CONSISTENCIES[training.consistency.kind]
    if consistency.compares and not objective.consistent:
        yield Problem(path, f"not supported by training.objective: {training.objective.kind}")
    yield from (Problem(path, message) for message in consistency.problems(config, objective.draws))


def _coverage(config: Config) -> Iterator[Problem]:
    """Check that there is attention to words, for a coverage penalty in search."""
    reason = ""
    if not config.model.attention.attends:
        reason = "the model has no attention (model.attention.score: none)"
    elif config.data.source and set(config.data.inputs) <= set(config.data.features):
        reason = "requires a text source; data.features are numeric"
    for path in (("search",), ("training", "search")) if reason else ():
        if sections.at(config, path).options.get("coverage_penalty"):
            yield Problem((*path, "coverage_penalty"), reason)


def _pretrained(config: Config) -> Iterator[Problem]:
    """Check that pretrained vectors are of one language, and that nothing else fills their table."""
    training = config.training
    for side in ("source", "target"):
        path = ("model", "embedding", side, "pretrained")
        if not getattr(config.model.embedding, side).options.get("pretrained"):
            continue
        if training.init_from:
            yield Problem(path, "cannot be combined with training.init_from, which sets the embeddings")
        if OBJECTIVES[training.objective.kind].both_directions:
            kind = training.objective.kind
            yield Problem(path, f"cannot be combined with '{kind}', which trains both directions")


def _frozen(config: Config) -> Iterator[Problem]:
    """Check that each pattern of frozen parameters fits one, and that all together leave one to train."""
    path, patterns = ("training", "freeze"), config.training.freeze
    # Without patterns, which is usual, the model is not assembled once more.
    names = build.parameter_names(config) if patterns else []
    fitting = [set(fnmatch.filter(names, pattern)) for pattern in patterns]
    for number, (pattern, fits) in enumerate(zip(patterns, fitting, strict=True)):
        if names and not fits:
            yield Problem((*path, number), f"'{pattern}' matches no parameter; {nearest(pattern, names)}")
    if names and set().union(*fitting) == set(names):
        yield Problem(path, "freezes all parameters")


def _joint(text: TextConfig) -> Iterator[Problem]:
    """Check a joint inventory: both languages need the same tokenizer; letter case and dropout may differ."""
    if text.shared_vocabulary:
        source, target = text.source, text.target
        ways = []
        for tokenizer in (source.tokenizer, target.tokenizer):
            whole = components.complete(TOKENIZERS, tokenizer)
            # Options by which a tokenizer chooses among segmentations in training are not part of the inventory.
            ways.append(
                {name: value for name, value in whole.options.items() if name != TOKENIZERS[tokenizer.kind].choosing}
            )
        if source.tokenizer.kind != target.tokenizer.kind or ways[0] != ways[1]:
            message = f"{target.tokenizer} differs from text.source.tokenizer: {source.tokenizer}"
            message += "; text.shared_vocabulary: true requires equal ones"
            yield Problem(
                ("text", "target", "tokenizer"),
                message,
                depends_on=(("text", "shared_vocabulary"), ("text", "source", "tokenizer")),
            )
        elif TOKENIZERS[source.tokenizer.kind].whole_words and source.pretokenizer != target.pretokenizer:
            message = f"'{target.pretokenizer}' differs from text.source.pretokenizer: '{source.pretokenizer}'"
            message += "; text.shared_vocabulary: true requires equal ones"
            yield Problem(
                ("text", "target", "pretokenizer"),
                message,
                depends_on=(("text", "shared_vocabulary"), ("text", "source", "pretokenizer")),
            )


def load_config(path: str | Path, overrides: Mapping[str, Any] | None = None, *, files: bool = False) -> Config:
    """Load a configuration and check every option, and with `files` that the corpora of a new run are there. UserError
    with a line for each problem, or if the configuration is that of a run which this version cannot read.

    `overrides` sets dotted keys: `{"training.epochs": 5, "model.attention.score": {"kind": "dot"}}`. A text is YAML, as
    on the command line; other values are plain ones of Python, paths or Specs. TypeError if one is something else.
    """
    options = {} if overrides is None else arguments.checked(overrides, "overrides", Mapping)
    for key in options:
        arguments.checked(key, "a key of overrides", str)
    RunFolder.check_config(arguments.path(path, "path"))
    return config_file.load(path, options, checks=(problems, missing_files) if files else (problems,))


def schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration, for editors: every key with its description, default and kinds of
    parts.
    """
    json_schema: dict[str, Any] = json.loads(config_file.schema(PARTS))
    return json_schema


def complete(config: Config) -> Config:
    """Return the same configuration with every option of every part spelled out."""
    config = sections.completed(config, TABLES)
    return sections.replaced(config, ("model",), build.complete_config(config.model))
