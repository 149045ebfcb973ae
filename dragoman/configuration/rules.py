"""Rules for options that are valid separately but not together."""

from collections.abc import Iterator, Sequence

from dragoman.configuration.components import Problem
from dragoman.configuration.config import UNTRANSLATED, Config
from dragoman.configuration.data import COLUMNS, DataConfig
from dragoman.configuration.messages import nearest

ONE_PAIR = ("source", "target", "train", "dev")
# Keys of text.source that text.target lacks, with what there is instead
AROUND_SOURCES = dict.fromkeys(("prefix", "suffix"), "; see model.target_prefix") | {"padded_length": ""}


def required(config: Config) -> Iterator[Problem]:
    """Problems with the keys of a single language pair: missing, or given beside a list of pairs."""
    for name in ONE_PAIR:
        path, present = ("data", name), bool(getattr(config.data, name))
        if config.data.pairs and present:
            yield Problem(path, "conflicts with data.pairs, which sets it for each pair")
        elif not config.data.pairs and not present:
            yield Problem(path, f"required: {DataConfig.model_fields[name].description}")


def required_of_run(config: Config) -> Iterator[Problem]:
    """The same of a run that has its weights: one that was imported has no data of its own."""
    optional = (("data", "train"), ("data", "dev"))
    return (problem for problem in required(config) if problem.path not in optional)


def contradictions(config: Config) -> Iterator[Problem]:
    """Contradictions between options, except those that depend on a model's parts."""
    data, text, training = config.data, config.text, config.training
    yield from _pairs(config) if data.pairs else _one_pair(config)
    yield from _mixture(data)
    if data.denoises:
        yield from _noise(data)
    if text.protect:
        yield from _protection(data)
    if data.concatenate_sources and (len(data.sides) == 1 or data.features or not text.shared_vocabulary):
        yield Problem(("data", "concatenate_sources"), "requires several text sources and text.shared_vocabulary: true")
    if training.source_dropout and len(data.sides) == 1:
        yield Problem(("training", "source_dropout"), "requires several sources, found one")
    yield from _features(config)
    if config.model.attention.sentences and len(data.sides) > 1 and (data.features or not text.shared_vocabulary):
        message = "requires text sources and text.shared_vocabulary: true where there are several sources"
        yield Problem(("model", "attention", "sentences"), message)
    yield from _around_texts(config)
    tie = config.model.embedding.tie
    if tie in ("languages", "all") and not text.shared_vocabulary:
        yield Problem(("model", "embedding", "tie"), f"'{tie}' requires text.shared_vocabulary: true")
    if tie == "languages" and data.source and set(data.inputs) <= set(data.features):
        yield Problem(("model", "embedding", "tie"), "'languages' requires a text source; data.features are numeric")
    if training.epochs is None and training.steps is None:
        yield Problem(("training", "steps"), "training would never end, since epochs and steps are both null")
    kinds = [metric.kind for metric in config.metrics]
    terms = config.model.attention.terms
    yield from _repeated(("metrics",), kinds, kinds)
    yield from _repeated(("model", "attention", "terms"), terms, [term.kind for term in terms])
    if training.metric not in (*kinds, *UNTRANSLATED):
        hint = nearest(training.metric, [*kinds, *UNTRANSLATED])
        message = f"'{training.metric}' is not listed in metrics; {hint}"
        yield Problem(("training", "metric"), message, depends_on=(("metrics",),))


def _repeated(path: tuple[str, ...], parts: Sequence[object], names: Sequence[str]) -> Iterator[Problem]:
    """What is in a list for a second time."""
    for number, (part, name) in enumerate(zip(parts, names, strict=True)):
        if part in parts[:number]:
            yield Problem((*path, number), f"'{name}' is listed twice")


def _one_pair(config: Config) -> Iterator[Problem]:
    data = config.data
    tables = all(name.endswith(COLUMNS) for name in (*data.train, data.dev))
    if data.target in data.source and not tables and not data.denoises:
        yield Problem(("data", "target"), f"'{data.target}' is also data.source, so both sides would be the same file")
    if not data.filter_target_vocabulary:
        yield Problem(("data", "filter_target_vocabulary"), "requires data.pairs")
    if data.alignments and len(data.inputs) > 1:
        yield Problem(("data", "alignments"), "word alignments require a single source, found several")
    if data.edits is not None:
        yield from _edits(config)
    if data.recalled:
        yield from _memory(data)
    if config.constraints and data.edits is not None:
        yield Problem(("constraints",), "cannot be combined with data.edits, which generates edit operations")
    if config.model.cursor and (data.edits is None or data.concatenate_sources):
        yield Problem(("model", "cursor"), "requires data.edits and data.concatenate_sources: false")
    for number, name in enumerate(data.source):
        if name in data.source[:number]:
            yield Problem(("data", "source", number), f"'{name}' is listed twice")


def _pairs(config: Config) -> Iterator[Problem]:
    """Problems of several language pairs. A mark in the source names the target language; the model learns its meaning
    only from pairs with training data.
    """
    data = config.data
    if not config.text.shared_vocabulary:
        yield Problem(("text", "shared_vocabulary"), "expected true: all languages of data.pairs share one vocabulary")
    for name in ("alignments", "edits", "features", "recalled"):
        if getattr(data, name):
            yield Problem(
                ("data", "translation_memory" if name == "recalled" else name), "cannot be combined with data.pairs"
            )
    if not data.trained:
        yield Problem(("data", "pairs"), "no pair has 'train', so there is nothing to train on")
        return
    targets = dict.fromkeys(pair.target for pair in data.trained)
    names = [pair.name for pair in data.language_pairs]
    for number, pair in enumerate(data.language_pairs):
        path = "data", "pairs", number
        if pair.name in names[:number]:
            yield Problem(path, f"{pair.name} is listed twice; 'train' may be a list")
        if pair.target not in targets:
            message = f"no pair with 'train' has the target '{pair.target}', so the model cannot learn to generate it"
            yield Problem((*path, "target"), message)


def _mixture(data: DataConfig) -> Iterator[Problem]:
    """Problems of drawing from several parts with other shares than their own."""
    count, what = len(data.parts), "pairs with 'train'" if data.pairs else "corpora in data.train"
    if data.temperature != 1 and count < 2 and (count or not data.pairs):  # if there is none, that is reported
        yield Problem(("data", "temperature"), f"requires several {what}")
    if data.weights and data.temperature != 1:
        yield Problem(("data", "weights"), "cannot be combined with data.temperature")
    elif data.weights and count < 2:
        yield Problem(("data", "weights"), f"requires several {what}")
    elif data.weights and len(data.weights) != count:
        yield Problem(("data", "weights"), f"has {len(data.weights)} numbers for {count} {what}")


def _noise(data: DataConfig) -> Iterator[Problem]:
    """Noise needs texts that are their own translations, and nothing but these."""
    path = ("data", "noise")
    if data.pairs and not any(data.copied):
        yield Problem(path, "requires a pair with 'train' whose target is its source, found none in data.pairs")
    elif not data.pairs and data.source != (data.target,):
        yield Problem(path, "requires data.source and data.target to be the same")
    for name in ("alignments", "edits", "features"):
        if getattr(data, name) and not data.pairs:
            yield Problem(("data", name), "cannot be combined with data.noise")


def _protection(data: DataConfig) -> Iterator[Problem]:
    """Marks stand for spans in a text that is written, and hide words from links and noise."""
    path = ("text", "protect")
    if data.edits is not None:
        yield Problem(path, "cannot be combined with data.edits, which generates edit operations")
    if data.alignments:
        yield Problem(path, "cannot be combined with data.alignments: placeholders replace the words that are aligned")
    if data.denoises:
        yield Problem(path, "cannot be combined with data.noise, which hides parts of the source")
    if data.source and set(data.source) <= set(data.features):
        yield Problem(path, "requires a text source; data.features are numeric")


def _memory(data: DataConfig) -> Iterator[Problem]:
    """A memory is asked with a text, and its answers are a source of their own."""
    path = ("data", "translation_memory")
    if not data.queried_source:
        yield Problem(path, "requires a text source to query with; data.features are numeric")
    if data.queried_source == data.target:
        yield Problem(path, f"requires different names of source and target, found '{data.target}'")
    for number, name in enumerate(data.source):
        if name in data.recalled:
            yield Problem(
                ("data", "source", number), f"'{name}' is the name of the source filled by data.translation_memory"
            )


def _features(config: Config) -> Iterator[Problem]:
    """Problems of numeric sources. Arrays need text files beside them; they have no edits and no word links."""
    data, only = config.data, config.model.initial_state_only
    for number, name in enumerate(data.features):
        if name not in data.source:
            yield Problem(("data", "features", number), f"'{name}' is not in data.source: {', '.join(data.source)}")
        if name in (data.edits, *data.features[:number]):
            reason = "is a text (data.edits)" if name == data.edits else "is listed twice"
            yield Problem(("data", "features", number), f"'{name}' {reason}")
    if data.alignments and data.features:
        yield Problem(("data", "alignments"), "word alignments cannot be combined with data.features")
    for number, name in enumerate(only):
        if name not in data.features:
            yield Problem(("model", "initial_state_only", number), f"'{name}' is not in data.features")
    if only and set(data.inputs) <= set(only):
        yield Problem(
            ("model", "initial_state_only"),
            "no source is left to attend to (use model.attention.score: none)",
        )


def _around_texts(config: Config) -> Iterator[Problem]:
    """Problems of symbols before and after texts."""
    for name, advice in AROUND_SOURCES.items():
        if getattr(config.text.target, name):
            yield Problem(("text", "target", name), f"only for sources{advice}")
    if config.model.start_symbol == "prefix" and not config.model.target_prefix:
        yield Problem(("model", "start_symbol"), "'prefix' requires model.target_prefix")


def _edits(config: Config) -> Iterator[Problem]:
    """Problems of post-editing. Source and target must be segmented into symbols in the same way."""
    data, text, path = config.data, config.text, ("data", "edits")
    if data.edits not in data.inputs:
        yield Problem(path, f"'{data.edits}' is not in data.source: {', '.join(data.inputs)}")
    recalled = data.edits in data.recalled  # written as the target is
    if not recalled and (not text.shared_vocabulary or text.source != text.target):
        yield Problem(
            path,
            "requires text.shared_vocabulary: true and equal text.source and text.target",
        )
    side, written = ("target", text.target) if recalled else ("source", text.source)
    for name in ("dropout", "alpha"):  # options with which a unit segments a text anew in every epoch
        if written.tokenizer.options.get(name):
            yield Problem(path, f"requires a deterministic tokenization; leave out text.{side}.tokenizer.{name}")
    if data.alignments:
        yield Problem(("data", "alignments"), "word alignments cannot be combined with data.edits")
