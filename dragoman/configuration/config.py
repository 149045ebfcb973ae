"""The options of a run: one typed tree."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dragoman.configuration.components import Count, Positive, Rate, Size, Spec
from dragoman.configuration.sections import Section
from dragoman.threads import MOST_THREADS

Item = TypeVar("Item")

MEMORY = "memory"  # the source that a translation memory fills
MOST_RECALLED = 10  # such sources


class _Several:
    """Marks a list whose only item may be written without brackets."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        listed = handler(schema)
        return {"anyOf": [listed, listed["items"]]}

    @staticmethod
    def _listed(value: Any) -> Any:
        return (value,) if isinstance(value, str | Mapping | Spec) else value


Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]  # without NUL, which no file name may contain
Maybe = Annotated[str, Field(pattern=r"^[^\x00]*$")]  # the same, or empty
Several = _Several()


class DeviceConfig(Section):
    """The machine that the work is done with."""

    name: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto (a GPU if there is one), cpu, cuda")
    threads: Annotated[int, Field(ge=0, le=MOST_THREADS)] = Field(
        0, description="processor threads; 0 = OMP_NUM_THREADS, or one for each core"
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="of matrix products in training: auto (bfloat16 where it is faster), float32, bfloat16"
    )
    cuda_graphs: bool = Field(
        True,
        description="true = on a GPU, teacher_forcing launches the kernels of all passes over a batch at once",
    )


class LanguagePair(NamedTuple):
    """A translation direction and its corpora.

    A pair without `train` is zero-shot. A pair whose target is its source language copies texts, which helps zero-shot
    translation (Ha et al. 2016).
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
        (), description="prefix of the training files, or a .tsv, .csv or .jsonl with such columns"
    )
    dev: Maybe = Field("", description="the same for the pairs that training is judged by")
    pairs: tuple[PairConfig, ...] = Field(
        (), description="instead of these four, a list of {source, target, train, dev}, for one model of many languages"
    )
    temperature: Annotated[float, Field(ge=1)] = Field(
        1.0,
        description="T: a pair, or a corpus of `train`, with n examples is drawn in proportion to n^(1/T); 1 = by size",
    )
    weights: tuple[Positive, ...] = Field(
        (), description="instead, in which proportion the pairs or corpora are drawn, such as [1, 3]; none = by size"
    )
    features: Annotated[tuple[Text, ...], Several] = Field(
        (), description="sources that are numbers, such as images: PREFIX.NAME.npy, .npz or .safetensors"
    )
    join: bool = Field(False, description="true = several sources are read as one sequence, one behind the other")
    own_symbols: bool = Field(
        True,
        description="true = without symbols that in training only targets in other languages of `pairs` have",
    )
    edits: Text | None = Field(
        None, description="source that the target is written as edits of (post-editing); null = the target is a text"
    )
    memory: Spec = Field(
        Spec("none"), description="further source of that name: translations of the most similar training sources"
    )
    noise: Spec = Field(
        Spec("none"), description="what hides part of a text that is its own translation (denoising): target = source"
    )
    alignments: bool = Field(
        False,
        description="true = read the word links of the training pairs, PREFIX.SOURCE-TARGET.align (`dragoman align`)",
    )
    max_length: Count = Field(100, description="symbols in a sentence; longer pairs are left out of training")
    max_ratio: Annotated[float, Field(ge=1)] = Field(
        9.0, description="longer side over shorter side, in symbols; pairs above it are left out"
    )

    @property
    def language_pairs(self) -> tuple[LanguagePair, ...]:
        """The language pairs, whether given as `pairs` or by the four keys of a single one."""
        if not self.pairs:
            return (LanguagePair(self.source, self.target, self.train, self.dev),)
        return tuple(LanguagePair((pair.source,), pair.target, pair.train, pair.dev) for pair in self.pairs)

    @property
    def trained(self) -> tuple[LanguagePair, ...]:
        """The language pairs with training data."""
        return tuple(pair for pair in self.language_pairs if pair.train)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that `temperature` and `weights` are about: the pairs with training data, or the only pair's
        training corpora.
        """
        return tuple(pair.name for pair in self.trained) if self.pairs else self.train

    @property
    def copied(self) -> tuple[bool, ...]:
        """Whether the target of each of these parts is its source."""
        return tuple(
            pair.target in pair.sources for pair in self.trained for _ in (pair.train[:1] if self.pairs else pair.train)
        )

    @property
    def deciding(self) -> tuple[LanguagePair, ...]:
        """The language pairs whose validation decides: those trained on, without copies unless all are copies."""
        return tuple(pair for pair in self.trained if pair.target not in pair.sources) or self.trained

    @property
    def recalled(self) -> tuple[str, ...]:
        """The sources that the memory fills, the most similar first: memory, memory.2, ..."""
        count = 0 if self.memory.kind == "none" else self.memory.options.get("count", 1)
        numbers = range(1, 1 + min(count, MOST_RECALLED) if isinstance(count, int) else 2)
        return tuple(MEMORY if number == 1 else f"{MEMORY}.{number}" for number in numbers)

    @property
    def asked(self) -> str:
        """The source that the memory is asked with: the first that is a text."""
        return next((name for name in self.source if name not in self.features), "")

    @property
    def inputs(self) -> tuple[str, ...]:
        """All sources of a model: those in files, and those from the memory."""
        return (*self.source, *self.recalled)

    @property
    def sides(self) -> tuple[str, ...]:
        """The names of the sources in a run folder."""
        return tuple(f"source.{name}" for name in self.inputs) if len(self.inputs) > 1 else ("source",)

    @property
    def names(self) -> tuple[str, ...]:
        """The language of each side, the target last; with several pairs, all languages of the side."""
        if not self.pairs:
            return (*self.inputs, self.target)
        sides = zip(*((pair.source, pair.target) for pair in self.pairs), strict=True)
        return tuple(", ".join(dict.fromkeys(side)) for side in sides)

    def places(self, key: Literal["train", "dev"]) -> str:
        """The corpora of a key as text; with several pairs, each after the name of its pair."""
        found = {pair.name: pair.dev if key == "dev" else ", ".join(pair.train) for pair in self.language_pairs}
        named = self.pairs and [f"{name} {place}" for name, place in found.items() if place]
        return "; ".join(named or found.values())

    @property
    def several(self) -> bool:
        """Whether the model reads more than one sequence."""
        return len(self.inputs) > 1 and not self.join

    def sequences(self, of_sources: Sequence[Item]) -> tuple[Item, ...]:
        """The items of the sequences that the model reads: those of all sources, or with `join` only the first."""
        return tuple(of_sources) if self.several else tuple(of_sources[:1])

    @property
    def plain(self) -> bool:
        """Whether there is a single source, a text, and the target is not written as edits."""
        return len(self.inputs) == 1 and not self.features and self.edits is None

    @property
    def edited(self) -> int | None:
        """The index of the source that the target is written as edits of; None if it is not."""
        return None if self.edits is None else self.inputs.index(self.edits)

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
    unit: Spec = Field(Spec("bpe"), description="what a symbol is")


class TextConfig(Section):
    """From text to symbols."""

    joint: bool = Field(True, description="one inventory of symbols for all languages")
    symbols_of: Text | None = Field(
        None, description="run whose symbols are used, with the options it has here; null = they are learnt"
    )
    protect: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="what comes through verbatim, as a mark that the model sees in its place; none = nothing"
    )
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
    source: Spec = Field(Spec("table"), description="the vectors of source symbols")
    target: Spec = Field(Spec("table"), description="the vectors of target symbols")


class AttentionConfig(Section):
    """Where the decoder looks."""

    score: Spec = Field(Spec("additive"), description="how well a query and a key agree")
    terms: Annotated[tuple[Spec, ...], Several] = Field((), description="what else has a say")
    normaliser: Spec = Field(Spec("softmax"), description="from energies to weights")
    window: Spec = Field(Spec("none"), description="the part of the source to look at")
    sentences: Text | None = Field(
        None, description="what stands between the sentences of a document, to attend to these too; null = nothing does"
    )

    def beside_score(self) -> Iterator[str]:
        """Yield the keys other than `score` that differ from their defaults."""
        fields = type(self).model_fields
        return (name for name in fields if name != "score" and getattr(self, name) != fields[name].default)

    def chosen(self) -> Iterator[Spec]:
        """Yield the score, the terms, and the normaliser and the window if they are not of the default kind."""
        yield self.score
        yield from self.terms
        for name in ("normaliser", "window"):
            if getattr(self, name).kind != type(self).model_fields[name].default.kind:
                yield getattr(self, name)


class ModelConfig(Section):
    """The network."""

    start_symbol: Literal["bos", "eos"] = Field("bos", description="what the decoder reads first: bos or eos")
    embedding: EmbeddingConfig = Field(EmbeddingConfig(), description="symbols as vectors")
    encoder: Spec = Field(Spec("rnn"), description="reads the source sentence")
    features: Spec = Field(Spec("projection"), description="reads sources that are numbers (data.features)")
    start_only: Annotated[tuple[Text, ...], Several] = Field(
        (), description="sources among data.features that only start the decoder (bridge) and are not attended to"
    )
    bridge: Spec = Field(Spec("final"), description="the decoder's first state")
    attention: AttentionConfig = Field(AttentionConfig(), description="where the decoder looks")
    combination: Spec = Field(Spec("concatenation"), description="what becomes of attention to several sources")
    decoder: Spec = Field(Spec("rnn"), description="writes the target sentence")
    output: Spec = Field(Spec("full"), description="from features to probabilities of symbols")
    cursor: bool = Field(
        False, description="of data.edits: true = the decoder reads the state of the symbol that is edited next, too"
    )


class BatchConfig(Section):
    """The pairs of one training step."""

    size: Count = Field(80, description="how many of the unit below")
    unit: Literal["sentences", "symbols"] = Field("sentences", description="sentences or symbols (padding counts)")
    accumulate: Count = Field(1, description="how many such batches make one step, for more pairs than memory holds")


class TrainingConfig(Section):
    """From a network to a translator."""

    start: Text | None = Field(
        None, description="run, or file of weights in one, that training begins with; null = random weights"
    )
    start_share: Rate = Field(
        0.0,
        description="share of the weights that training began with in the final ones, unless metric and loss worsen",
    )
    freeze: Annotated[tuple[Text, ...], Several] = Field(
        (), description="parameters that are not trained, by name: readers.*, *.embedding.table"
    )
    gate: bool = Field(
        False, description="true = `serve` wants it compared with another run first, by `gate`, and not found worse"
    )
    epochs: Count | None = Field(30, description="passes over the training pairs; null = no limit")
    steps: Count | None = Field(None, description="training steps; null = no limit; the first limit counts")
    batch: BatchConfig = Field(BatchConfig(), description="the pairs of one training step")
    objective: Spec = Field(Spec("teacher_forcing"), description="what is minimised")
    penalties: Annotated[tuple[Spec, ...], Several] = Field((), description="what else is minimised, of attention")
    consistency: Spec = Field(Spec("none"), description="what else is minimised, between several passes over a batch")
    source_dropout: Rate = Field(
        0.0, description="share of the sources that training hides where there are several, never all of a sentence"
    )
    optimiser: Spec = Field(Spec("adam"), description="what is done with gradients")
    schedule: Spec = Field(Spec("constant"), description="the learning rate from step to step")
    clip: Positive | None = Field(1.0, description="largest norm of the gradient; null = any")
    save_every: Count = Field(500, description="steps between saves of the training state")
    validate_every: Count | None = Field(None, description="steps between validations; null = after each epoch")
    search: Spec = Field(Spec("greedy"), description="how validation translates")
    metric: Text = Field("bleu", description="decides what is best: one of `metrics`, or loss, perplexity, accuracy")
    patience: Count | None = Field(10, description="validations without improvement to stop after; null = never")
    moving_average: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="decay of an exponential moving average of the weights, such as 0.999, which is validated and kept "
        "in their place; null = none",
    )
    average: Count = Field(5, description="how many of the best checkpoints the final model is the mean of")
    average_of: Literal["best", "last"] = Field(
        "best", description="which checkpoints these are: those of the best validations, or of the last ones"
    )
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
    search: Spec = Field(Spec("beam"), description="how the best translation is looked for")
    constraints: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="what translations keep to, but for those of validation"
    )
    replace_unk: bool = Field(
        True, description="true = source words, or their translations in a dictionary, take the place of `<unk>`"
    )
    metrics: Annotated[tuple[Spec, ...], Several] = Field(
        (Spec("bleu"), Spec("chrf")),
        description="what translations are scored by",
    )

    @property
    def combines(self) -> bool:
        """Whether the model combines attention: to several sources, or to a source and a sentinel."""
        return self.data.several or bool(self.model.combination.options.get("sentinel"))


# What validation measures without translating, and whether higher is better.
UNTRANSLATED = {"loss": False, "perplexity": False, "accuracy": True}
CSV = (".csv", ".csv.gz")
COLUMNS = (".tsv", ".tsv.gz", *CSV)  # columns named by a header, or without one each source, then the target
