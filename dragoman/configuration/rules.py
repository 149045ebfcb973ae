"""Rules for options that are valid separately but not together."""

from collections.abc import Iterator, Sequence

from dragoman.configuration.components import Problem
from dragoman.configuration.config import UNTRANSLATED, Config
from dragoman.configuration.data import COLUMNS, DataConfig
from dragoman.configuration.messages import nearest

ONE_PAIR = ("source", "target", "train", "dev")


def required(config: Config) -> Iterator[Problem]:
    """Problems with the keys of a single language pair: missing, or given beside a list of pairs."""
    for name in ONE_PAIR:
        path, present = ("data", name), bool(getattr(config.data, name))
        if config.data.pairs and present:
            yield Problem(path, "data.pairs says it for each pair; leave out one of them")
        elif not config.data.pairs and not present:
            yield Problem(path, f"required: {DataConfig.model_fields[name].description}")


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
        yield Problem(
            ("data", "concatenate_sources"), "is for several texts in one inventory (text.shared_vocabulary: true)"
        )
    if training.source_dropout and len(data.sides) == 1:
        yield Problem(("training", "source_dropout"), "hides some of several sources, and there is one")
    yield from _features(config)
    if config.model.attention.sentences and len(data.sides) > 1 and (data.features or not text.shared_vocabulary):
        message = (
            "is one symbol in all sources only where they are texts of one inventory (text.shared_vocabulary: true)"
        )
        yield Problem(("model", "attention", "sentences"), message)
    tie = config.model.embedding.tie
    if tie in ("languages", "all") and not text.shared_vocabulary:
        yield Problem(("model", "embedding", "tie"), f"'{tie}' needs one inventory (text.shared_vocabulary: true)")
    if tie == "languages" and data.source and set(data.inputs) <= set(data.features):
        yield Problem(("model", "embedding", "tie"), "'languages' is of sources that are texts (data.features are not)")
    if training.epochs is None and training.steps is None:
        yield Problem(("training", "steps"), "training would never end: epochs and steps are both null")
    kinds = [metric.kind for metric in config.metrics]
    terms = config.model.attention.terms
    yield from _repeated(("metrics",), kinds, kinds)
    yield from _repeated(("model", "attention", "terms"), terms, [term.kind for term in terms])
    if training.metric not in (*kinds, *UNTRANSLATED):
        hint = nearest(training.metric, [*kinds, *UNTRANSLATED])
        message = f"'{training.metric}' is not listed in metrics; {hint}"
        yield Problem(("training", "metric"), message, beside=(("metrics",),))


def _repeated(path: tuple[str, ...], parts: Sequence[object], names: Sequence[str]) -> Iterator[Problem]:
    """What is in a list for a second time."""
    for number, (part, name) in enumerate(zip(parts, names, strict=True)):
        if part in parts[:number]:
            yield Problem((*path, number), f"'{name}' is there already")


def _one_pair(config: Config) -> Iterator[Problem]:
    data = config.data
    tables = all(name.endswith(COLUMNS) for name in (*data.train, data.dev))
    if data.target in data.source and not tables and not data.denoises:
        yield Problem(("data", "target"), f"'{data.target}' is data.source too, so both are one file")
    if not data.filter_target_vocabulary:
        yield Problem(
            ("data", "filter_target_vocabulary"), "is for the languages of data.pairs, of which there are none"
        )
    if data.alignments and len(data.inputs) > 1:
        yield Problem(("data", "alignments"), "links are between a target and one source, and there are several")
    if data.edits is not None:
        yield from _edits(config)
    if data.recalled:
        yield from _memory(data)
    if config.constraints and data.edits is not None:
        yield Problem(("constraints",), "are of a text that is written, and this run writes edits of one (data.edits)")
    if config.model.cursor and (data.edits is None or data.concatenate_sources):
        yield Problem(
            ("model", "cursor"), "needs data.edits, and the edited source by itself (data.concatenate_sources: false)"
        )
    for number, name in enumerate(data.source):
        if name in data.source[:number]:
            yield Problem(("data", "source", number), f"'{name}' is there already")


def _pairs(config: Config) -> Iterator[Problem]:
    """Problems of several language pairs. A mark in the source names the target language; the model learns its meaning
    only from pairs with training data.
    """
    data = config.data
    if not config.text.shared_vocabulary:
        yield Problem(("text", "shared_vocabulary"), "a model of data.pairs has one inventory for all languages (true)")
    for name in ("alignments", "edits", "features", "recalled"):
        if getattr(data, name):
            yield Problem(("data", "translation_memory" if name == "recalled" else name), "not for data.pairs")
    if not data.trained:
        yield Problem(("data", "pairs"), "no pair has 'train', so there is nothing to train on")
        return
    targets = dict.fromkeys(pair.target for pair in data.trained)
    names = [pair.name for pair in data.language_pairs]
    for number, pair in enumerate(data.language_pairs):
        path = "data", "pairs", number
        if pair.name in names[:number]:
            yield Problem(path, f"{pair.name} is there already; 'train' may be a list")
        if pair.target not in targets:
            message = f"no pair with 'train' has the target '{pair.target}', so how would the model know to write it?"
            yield Problem((*path, "target"), message)


def _mixture(data: DataConfig) -> Iterator[Problem]:
    """Problems of drawing from several parts with other shares than their own."""
    count, what = len(data.parts), "pairs with 'train'" if data.pairs else "corpora in data.train"
    if data.temperature != 1 and count < 2 and (count or not data.pairs):  # if there is none, that is reported
        yield Problem(("data", "temperature"), f"is for drawing from several {what}")
    if data.weights and data.temperature != 1:
        yield Problem(("data", "weights"), "says what data.temperature says, too; leave out one of them")
    elif data.weights and count < 2:
        yield Problem(("data", "weights"), f"is for drawing from several {what}")
    elif data.weights and len(data.weights) != count:
        yield Problem(("data", "weights"), f"has {len(data.weights)} numbers for {count} {what}")


def _noise(data: DataConfig) -> Iterator[Problem]:
    """Noise needs texts that are their own translations, and nothing but these."""
    path = ("data", "noise")
    if data.pairs and not any(data.copied):
        yield Problem(path, "is for pairs whose target is their source, and data.pairs has none with 'train'")
    elif not data.pairs and data.source != (data.target,):
        yield Problem(path, "is for a text that is its own translation: data.source has to be data.target")
    for name in ("alignments", "edits", "features"):
        if getattr(data, name) and not data.pairs:
            yield Problem(("data", name), "not for data.noise, which hides part of a text")


def _protection(data: DataConfig) -> Iterator[Problem]:
    """Marks stand for spans in a text that is written, and hide words from links and noise."""
    path = ("text", "protect")
    if data.edits is not None:
        yield Problem(path, "is of a text that is written, and this run writes edits of one (data.edits)")
    if data.alignments:
        yield Problem(path, "puts marks in the place of words, and data.alignments are links between words")
    if data.denoises:
        yield Problem(path, "needs all of the source, and data.noise hides parts of it")
    if data.source and set(data.source) <= set(data.features):
        yield Problem(path, "is of sources that are texts (data.features are not)")


def _memory(data: DataConfig) -> Iterator[Problem]:
    """A memory is asked with a text, and its answers are a source of their own."""
    path = ("data", "translation_memory")
    if not data.queried_source:
        yield Problem(path, "is asked with a text, and there is none (data.features)")
    if data.queried_source == data.target:
        yield Problem(path, f"has pairs of two languages by their names, and both are '{data.target}'")
    for number, name in enumerate(data.source):
        if name in data.recalled:
            yield Problem(("data", "source", number), f"'{name}' is the source that data.translation_memory makes")


def _features(config: Config) -> Iterator[Problem]:
    """Problems of numeric sources. Arrays need text files beside them; they have no edits and no word links."""
    data, only = config.data, config.model.initial_state_only
    for number, name in enumerate(data.features):
        if name not in data.source:
            yield Problem(("data", "features", number), f"'{name}' is none of data.source: {', '.join(data.source)}")
        if name in (data.edits, *data.features[:number]):
            reason = "is a text (data.edits)" if name == data.edits else "is there already"
            yield Problem(("data", "features", number), f"'{name}' {reason}")
    if data.alignments and data.features:
        yield Problem(("data", "alignments"), "links are between words, and data.features are none")
    for number, name in enumerate(only):
        if name not in data.features:
            yield Problem(("model", "initial_state_only", number), f"'{name}' is none of data.features")
    if only and set(data.inputs) <= set(only):
        yield Problem(
            ("model", "initial_state_only"), "nothing is left to attend to (which is model.attention.score: none)"
        )


def _edits(config: Config) -> Iterator[Problem]:
    """Problems of post-editing. Source and target must be segmented into symbols in the same way."""
    data, text, path = config.data, config.text, ("data", "edits")
    if data.edits not in data.inputs:
        yield Problem(path, f"'{data.edits}' is none of data.source: {', '.join(data.inputs)}")
    recalled = data.edits in data.recalled  # written as the target is
    if not recalled and (not text.shared_vocabulary or text.source != text.target):
        yield Problem(
            path, "cuts source and target alike: text.shared_vocabulary: true, text.source and text.target equal"
        )
    side, written = ("target", text.target) if recalled else ("source", text.source)
    for name in ("dropout", "alpha"):  # options with which a unit segments a text anew in every epoch
        if written.tokenizer.options.get(name):
            yield Problem(path, f"are of the same symbols in every epoch; leave out text.{side}.tokenizer.{name}")
    if data.alignments:
        yield Problem(("data", "alignments"), "links are between words, and data.edits makes the target no words")
