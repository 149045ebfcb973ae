"""The configuration: one typed tree, read from YAML with every fault told at once by file, line and key."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from dragoman import sections, yaml
from dragoman.components import Count, Path, Positive, Problem, Rate, Size, Spec, dotted
from dragoman.errors import UserError
from dragoman.files import read_lines
from dragoman.sections import Section
from dragoman.wording import shown

Item = TypeVar("Item")


class ConfigError(UserError):
    """Every fault of a configuration, a line each."""


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str | Mapping | Spec) else value


Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]  # no name of a file has the character NUL
Maybe = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # the same, or nothing
Several = BeforeValidator(_listed)  # one may be written without the brackets of a list


class DeviceConfig(Section):
    """The machine that the work is done with."""

    name: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto (a GPU if there is one), cpu, cuda")
    threads: Annotated[int, Field(ge=0, le=1024)] = Field(0, description="processor threads; 0 = all")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="of matrix products in training: auto (bfloat16 where it is fast), float32, bfloat16"
    )


class LanguagePair(NamedTuple):
    """A direction to translate in, and its corpora.

    One without `train` is zero-shot; one to the language of its source copies texts, which helps zero-shot ones (Ha et
    al. 2016).
    """

    sources: tuple[str, ...]
    target: str
    train: tuple[str, ...]
    dev: str

    @property
    def name(self) -> str:
        return f"{'+'.join(self.sources)}-{self.target}"


class PairConfig(Section):
    """A direction that a model of several translates in."""

    words: ClassVar[str] = "with source, target, train and dev"

    source: Text = Field(description="language translated from")
    target: Text = Field(description="language translated to")
    train: Annotated[tuple[Text, ...], Several] = Field((), description="training files; none = zero-shot")
    dev: Text = Field(description="development files")


class DataConfig(Section):
    """The sentence pairs: of one direction, or of those in `pairs`."""

    source: Annotated[tuple[Text, ...], Several] = Field(
        (), description="language translated from = suffix of its files: PREFIX.en; or a list of several"
    )
    target: Maybe = Field("", description="language translated to = suffix of its files")
    train: Annotated[tuple[Text, ...], Several] = Field(
        (), description="prefix of the training files, or a .tsv of two columns, or a list of these"
    )
    dev: Maybe = Field("", description="the same for the pairs that training is judged by")
    pairs: tuple[PairConfig, ...] = Field(
        (), description="instead of these four, a list of {source, target, train, dev}, for one model of many languages"
    )
    temperature: Annotated[float, Field(ge=1)] = Field(
        1.0, description="T: a pair with n examples is drawn in proportion to n^(1/T); 1 = all as often as they come"
    )
    features: Annotated[tuple[Text, ...], Several] = Field(
        (), description="sources that are numbers, such as images: PREFIX.NAME.npy, .npz or .safetensors"
    )
    join: bool = Field(False, description="true = several sources are read as one sequence, one behind the other")
    edits: Text | None = Field(
        None, description="source that the target is written as edits of (post-editing); null = the target is a text"
    )
    alignments: bool = Field(
        False, description="true = read the word links of the training pairs, PREFIX.SOURCE-TARGET.align (Pharaoh)"
    )
    max_length: Count = Field(100, description="symbols in a sentence; longer pairs are left out of training")
    max_ratio: Annotated[float, Field(ge=1)] = Field(
        9.0, description="longer side over shorter side, in symbols; pairs above it are left out"
    )

    @property
    def language_pairs(self) -> tuple[LanguagePair, ...]:
        """The directions to translate in, whichever way they are given."""
        if not self.pairs:
            return (LanguagePair(self.source, self.target, self.train, self.dev),)
        return tuple(LanguagePair((pair.source,), pair.target, pair.train, pair.dev) for pair in self.pairs)

    @property
    def trained(self) -> tuple[LanguagePair, ...]:
        """Those that are trained on."""
        return tuple(pair for pair in self.language_pairs if pair.train)

    @property
    def deciding(self) -> tuple[LanguagePair, ...]:
        """Those whose validation decides: of what is trained on, all that is no copy."""
        return tuple(pair for pair in self.trained if pair.target not in pair.sources) or self.trained

    @property
    def sides(self) -> tuple[str, ...]:
        """What the sources are called in a run folder."""
        return tuple(f"source.{name}" for name in self.source) if len(self.source) > 1 else ("source",)

    @property
    def names(self) -> tuple[str, ...]:
        """The language of each side, the target last; of several pairs all that a side may have."""
        if not self.pairs:
            return (*self.source, self.target)
        sides = zip(*((pair.source, pair.target) for pair in self.pairs), strict=True)
        return tuple(", ".join(dict.fromkeys(side)) for side in sides)

    def places(self, key: Literal["train", "dev"]) -> str:
        """The corpora of a key in words; of several pairs, each behind its name."""
        found = {pair.name: pair.dev if key == "dev" else ", ".join(pair.train) for pair in self.language_pairs}
        named = self.pairs and [f"{name} {place}" for name, place in found.items() if place]
        return "; ".join(named or found.values())

    @property
    def several(self) -> bool:
        """Whether a model reads more than one sequence."""
        return len(self.source) > 1 and not self.join

    def read(self, sizes: Sequence[Item]) -> tuple[Item, ...]:
        """The sizes of what a model reads, of those of all sources."""
        return tuple(sizes) if self.several else tuple(sizes[:1])

    @property
    def texts(self) -> tuple[str, ...]:
        """The sources that are texts."""
        return tuple(name for name in self.source if name not in self.features)

    @property
    def edited(self) -> int | None:
        """The number of the source that the target is written as edits of."""
        return None if self.edits is None else self.source.index(self.edits)

    @property
    def languages(self) -> str:
        if not self.pairs:
            return f"{' and '.join(self.source)} to {self.target}"
        untrained = [pair.name for pair in self.language_pairs if not pair.train]
        found = ", ".join(pair.name for pair in self.trained)
        return f"{found}; zero-shot {', '.join(untrained)}" if untrained else found


class LanguageConfig(Section):
    """From text to symbols, for one language."""

    lowercase: bool = Field(False, description="true = translate in lower case")
    tokeniser: Literal["punctuation", "whitespace"] = Field(
        "punctuation", description="what separates words: punctuation too, or whitespace alone"
    )
    unit: Spec = Field(Spec("bpe"), description="what a symbol is: word, character, bpe or unigram")


class TextConfig(Section):
    """From text to symbols."""

    joint: bool = Field(True, description="one inventory of symbols for all languages")
    source: LanguageConfig = Field(LanguageConfig(), description="the language translated from, or each of several")
    target: LanguageConfig = Field(LanguageConfig(), description="the language translated to")


class EmbeddingConfig(Section):
    """Symbols as vectors."""

    size: Size = Field(256, description="numbers in the vector of a symbol")
    dropout: Rate = Field(0.0, description="share of them that training hides")
    tie: Literal["none", "output", "languages", "all"] = Field(
        "none",
        description="shared tables: output (target = output layer), languages (source = target), all, none",
    )


class AttentionConfig(Section):
    """Where the decoder looks."""

    score: Spec = Field(
        Spec("additive"), description="dot, scaled_dot, bilinear, additive, linear, convolutional, uniform or none"
    )
    terms: Annotated[tuple[Spec, ...], Several] = Field(
        (),
        description="what else has a say: "
        "coverage, neural_coverage, coverage_embedding, position, markov, fertility, recurrent, wait or shift",
    )
    normaliser: Spec = Field(
        Spec("softmax"), description="from energies to weights: softmax, sparsemax, entmax, linear_chain, hard"
    )
    window: Spec = Field(Spec("none"), description="the part of the source to look at: none, monotonic, predictive")
    sentences: Text | None = Field(
        None, description="what stands between the sentences of a document, to attend to these too; null = nothing does"
    )

    def beside_score(self) -> Iterator[str]:
        """The other keys that a user has set."""
        fields = type(self).model_fields
        return (name for name in fields if name != "score" and getattr(self, name) != fields[name].default)

    def chosen(self) -> Iterator[Spec]:
        """The score, and what else a user has chosen."""
        yield self.score
        yield from self.terms
        for name in ("normaliser", "window"):
            if getattr(self, name).kind != type(self).model_fields[name].default.kind:
                yield getattr(self, name)


class ModelConfig(Section):
    """The network."""

    start_symbol: Literal["bos", "eos"] = Field("bos", description="what the decoder reads first: bos or eos")
    embedding: EmbeddingConfig = Field(EmbeddingConfig(), description="symbols as vectors")
    encoder: Spec = Field(Spec("rnn"), description="reads the source sentence: rnn, self_attention or convolutional")
    features: Spec = Field(
        Spec("projection"),
        description="reads sources that are numbers (data.features): projection, rnn, self_attention or convolutional",
    )
    start_only: Annotated[tuple[Text, ...], Several] = Field(
        (), description="sources among data.features that only start the decoder (bridge) and are not attended to"
    )
    bridge: Spec = Field(Spec("final"), description="the decoder's first state: final, zero, mean, copy or none")
    attention: AttentionConfig = Field(AttentionConfig(), description="where the decoder looks")
    combination: Spec = Field(
        Spec("concatenation"), description="of several sources: concatenation, sum, flat or hierarchical"
    )
    decoder: Spec = Field(Spec("rnn"), description="writes the target sentence: rnn or self_attention")
    output: Spec = Field(Spec("full"), description="from features to probabilities of symbols: full")


class BatchConfig(Section):
    """The pairs of one training step."""

    size: Count = Field(80, description="how many of the unit below")
    unit: Literal["sentences", "tokens"] = Field("sentences", description="sentences or tokens (padding counts)")


class TrainingConfig(Section):
    """From a network to a translator."""

    epochs: Count | None = Field(30, description="passes over the training pairs; null = no limit")
    steps: Count | None = Field(None, description="training steps; null = no limit; the first limit counts")
    batch: BatchConfig = Field(BatchConfig(), description="the pairs of one training step")
    objective: Spec = Field(
        Spec("teacher_forcing"),
        description="what is minimised: teacher_forcing, marginal, reinforce, segment, agreement",
    )
    penalties: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="what else is minimised, of attention: supervised, coverage, fertility"
    )
    source_dropout: Rate = Field(
        0.0, description="share of the sources that training hides where there are several, never all of a sentence"
    )
    optimiser: Spec = Field(Spec("adam"), description="adam or adamw")
    schedule: Spec = Field(
        Spec("constant"), description="the learning rate: constant, inverse_square_root, cosine or plateau"
    )
    clip: Positive | None = Field(1.0, description="largest norm of the gradient; null = any")
    save_every: Count = Field(500, description="steps between saves of the training state")
    validate_every: Count | None = Field(None, description="steps between validations; null = after each epoch")
    search: Spec = Field(Spec("greedy"), description="how validation translates: greedy or beam")
    metric: Literal["bleu", "chrf", "ter", "exact_match", "token_error_rate", "loss", "perplexity", "accuracy"] = Field(
        "bleu",
        description="decides what is best: bleu, chrf, ter, exact_match, token_error_rate, loss, perplexity, accuracy",
    )
    patience: Count | None = Field(10, description="validations without improvement to stop after; null = never")
    average: Count = Field(5, description="how many of the best checkpoints the final model is the mean of")
    skip_limit: Count = Field(20, description="steps in a row with a non-finite loss to stop after")


class Config(Section):
    """Everything that a run depends on."""

    run: Text = Field("runs/model", description="folder that the run is written to")
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(1, description="of every random choice")
    device: DeviceConfig = Field(DeviceConfig(), description="the machine that the work is done with")
    data: DataConfig = Field(description="the sentence pairs")
    text: TextConfig = Field(TextConfig(), description="from text to symbols")
    model: ModelConfig = Field(ModelConfig(), description="the network")
    training: TrainingConfig = Field(TrainingConfig(), description="from a network to a translator")
    search: Spec = Field(Spec("beam"), description="how the best translation is looked for: greedy or beam")
    metrics: Annotated[tuple[Spec, ...], Several] = Field(
        (Spec("bleu"), Spec("chrf")),
        description="what translations are scored by: bleu, chrf, ter, exact_match, token_error_rate",
    )


UNTRANSLATED = ("loss", "perplexity", "accuracy")
TSV = (".tsv", ".tsv.gz")  # of two columns, the source and the target


ONE_PAIR = ("source", "target", "train", "dev")


def required(config: Config) -> Iterator[Problem]:
    """What is missing of a pair of languages, or too much where there is a list of them."""
    for name in ONE_PAIR:
        path, given = ("data", name), bool(getattr(config.data, name))
        if config.data.pairs and given:
            yield Problem(path, "data.pairs says it for each pair; leave out one of them")
        elif not config.data.pairs and not given:
            yield Problem(path, f"required: {DataConfig.model_fields[name].description}")


def contradictions(config: Config) -> Iterator[Problem]:
    """Values that are fine one by one and impossible together."""
    data, text, training = config.data, config.text, config.training
    yield from _pairs(config) if data.pairs else _one_pair(config)
    if data.join and (len(data.sides) == 1 or data.features or not text.joint):
        yield Problem(("data", "join"), "is for several texts in one inventory (text.joint: true)")
    if training.source_dropout and len(data.sides) == 1:
        yield Problem(("training", "source_dropout"), "hides some of several sources, and there is one")
    yield from _features(config)
    if config.model.attention.sentences and len(data.sides) > 1 and (data.features or not text.joint):
        message = "is one symbol in all sources only where they are texts of one inventory (text.joint: true)"
        yield Problem(("model", "attention", "sentences"), message)
    tie = config.model.embedding.tie
    if tie in ("languages", "all") and not text.joint:
        yield Problem(("model", "embedding", "tie"), f"'{tie}' needs one inventory (text.joint: true)")
    if training.epochs is None and training.steps is None:
        yield Problem(("training", "steps"), "training would never end: epochs and steps are both null")
    kinds = [metric.kind for metric in config.metrics]
    for number, kind in enumerate(kinds):
        if kind in kinds[:number]:
            yield Problem(("metrics", number), f"'{kind}' is there already")
    if training.metric not in (*kinds, *UNTRANSLATED):
        yield Problem(("training", "metric"), f"'{training.metric}' is not listed in metrics")


def _one_pair(config: Config) -> Iterator[Problem]:
    data = config.data
    if data.target in data.source and not all(name.endswith(TSV) for name in (*data.train, data.dev)):
        yield Problem(("data", "target"), f"'{data.target}' is data.source too, so both are one file")
    if data.temperature != 1:
        yield Problem(("data", "temperature"), "is for drawing from data.pairs, of which there are none")
    if data.alignments and len(data.source) > 1:
        yield Problem(("data", "alignments"), "links are between a target and one source, and there are several")
    if data.edits is not None:
        yield from _edits(config)
    for number, name in enumerate(data.source):
        if name in data.source[:number]:
            yield Problem(("data", "source", number), f"'{name}' is there already")


def _pairs(config: Config) -> Iterator[Problem]:
    """Directions are told apart by a symbol of the source, which only those that are trained on teach."""
    data = config.data
    if not config.text.joint:
        yield Problem(("text", "joint"), "a model of data.pairs has one inventory for all languages (true)")
    for name in ("alignments", "edits", "features"):
        if getattr(data, name):
            yield Problem(("data", name), "not for data.pairs")
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


def _features(config: Config) -> Iterator[Problem]:
    """Arrays stand beside the files of texts, and are neither edited nor linked word by word."""
    data, only = config.data, config.model.start_only
    for number, name in enumerate(data.features):
        if name not in data.source:
            yield Problem(("data", "features", number), f"'{name}' is none of data.source: {', '.join(data.source)}")
        if name in (data.edits, *data.features[:number]):
            told = "is a text (data.edits)" if name == data.edits else "is there already"
            yield Problem(("data", "features", number), f"'{name}' {told}")
    for key, names in (("train", data.train), ("dev", (data.dev,))):
        for name in names if data.features else ():
            if name.endswith(TSV):
                yield Problem(("data", key), f"data.features stand beside PREFIX files, and {name} is a table")
    if data.alignments and data.features:
        yield Problem(("data", "alignments"), "links are between words, and data.features are none")
    for number, name in enumerate(only):
        if name not in data.features:
            yield Problem(("model", "start_only", number), f"'{name}' is none of data.features")
    if only and set(data.source) <= set(only):
        yield Problem(("model", "start_only"), "nothing is left to attend to (which is model.attention.score: none)")


def _edits(config: Config) -> Iterator[Problem]:
    """Edits are of symbols, which must be the same whatever they are edited to."""
    data, text, path = config.data, config.text, ("data", "edits")
    if data.edits not in data.source:
        yield Problem(path, f"'{data.edits}' is none of data.source: {', '.join(data.source)}")
    if not text.joint or text.source != text.target:
        yield Problem(path, "cuts source and target alike: text.joint: true, text.source and text.target equal")
    if text.source.unit.options.get("dropout"):
        yield Problem(path, "are of the same symbols in every epoch; leave out text.source.unit.dropout")
    if data.alignments:
        yield Problem(("data", "alignments"), "links are between words, and data.edits makes the target no words")


Check = Callable[[Config], Iterable[Problem]]


def load(path: str | FilePath, overrides: Mapping[str, str] = {}, checks: Sequence[Check] = ()) -> Config:
    """The configuration in a YAML file (`-` is standard input).

    `overrides` sets dotted keys to values written as YAML; `checks` find what only the layers above can know.
    Raises ConfigError with all problems, or UserError when the file cannot be read.
    """
    document = yaml.read("\n".join(read_lines(path)), "<stdin>" if str(path) == "-" else str(path))
    if document.value is None and document.faults:
        raise ConfigError(_told(document, []))
    if not isinstance(document.value, dict | None):
        raise ConfigError(f"{document.name}:1: expected keys and values, found {shown(document.value)}")
    for key, text in sorted(overrides.items(), key=lambda item: item[0].count(".")):
        yaml.override(document, key, text)
    values = {"data": {}, **(document.value or {})}
    found, wrong = sections.problems(Config, values)
    unfit = {problem.path for problem in found} | {fault.path for fault in document.faults}
    config = sections.sound(Config, values, unfit) if unfit else Config.model_validate(values, strict=True)
    if config:
        every = [required, *checks] if wrong else [required, contradictions, *checks]
        found += [problem for problem in _problems(config, every) if not _within(problem.path, unfit)]
    if config is None or found or document.faults:
        raise ConfigError(_told(document, found))
    return config


def check(config: Config, checks: Sequence[Check]) -> None:
    """The same for a configuration that was made in Python: ConfigError with all its problems."""
    found = _problems(config, [required, contradictions, *checks])
    if found:
        raise ConfigError("\n".join(map(str, found)))


def _problems(config: Config, checks: Sequence[Check]) -> list[Problem]:
    return [problem for check in checks for problem in check(config)]


def _within(path: Path, others: set[Path]) -> bool:
    return any(path[:length] in others for length in range(len(path) + 1))


def _told(document: yaml.Document, problems: list[Problem]) -> str:
    """A line for each fault and problem, in the order of the file, overrides last."""
    found = list(document.faults)
    unread = {fault.path for fault in found}
    for path, message in problems:
        if path not in unread:
            known = document.nearest(path)
            # `score: dott` has a kind, yet no key of that name.
            key = path[:-1] if path[-1:] == ("kind",) and path != known else path
            found.append(yaml.Fault(document.places.get(known, document.place(1)), key, message))
    lines = []
    for place, path, message in sorted(found, key=lambda fault: fault.place):
        named = not path or place.text == f"--{dotted(path)}"
        lines.append(f"{place.text}: {message}" if named else f"{place.text}: {dotted(path)}: {message}")
    return "\n".join(lines)


def dump(config: Config) -> str:
    """The complete configuration as YAML; loading it gives an equal one."""
    return yaml.write(sections.tree(config))


def commented(config: Config) -> str:
    """The same with what each key means beside it."""
    return yaml.write(sections.tree(config), dict(sections.notes(Config)))
