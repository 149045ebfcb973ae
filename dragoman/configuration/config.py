"""The options of a run: one typed tree."""

import textwrap
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from dragoman.configuration import sections, yaml
from dragoman.configuration.components import Spec
from dragoman.configuration.data import DataConfig
from dragoman.configuration.sections import Section
from dragoman.configuration.values import Count, Positive, Rate, Several, Size, Text
from dragoman.threads import MOST_THREADS


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


class LanguageConfig(Section):
    """From text to symbols, for one language."""

    lowercase: bool = Field(False, description="true = translate in lower case")
    pretokenizer: Literal["punctuation", "whitespace"] = Field(
        "punctuation", description="what separates words: punctuation too, or whitespace alone"
    )
    tokenizer: Spec = Field(Spec("bpe"), description="how words are split into symbols")


class TextConfig(Section):
    """From text to symbols."""

    shared_vocabulary: bool = Field(True, description="one inventory of symbols for all languages")
    vocabulary_from: Text | None = Field(
        None, description="run whose symbols are used, with the options it has here; null = they are learned"
    )
    protect: Annotated[tuple[Spec, ...], Several] = Field(
        (),
        description="spans replaced by placeholder tokens and copied unchanged (URLs, format specifiers, ...)",
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
    source: Spec = Field(Spec("lookup"), description="the vectors of source symbols")
    target: Spec = Field(Spec("lookup"), description="the vectors of target symbols")


class AttentionConfig(Section):
    """Where the decoder looks."""

    score: Spec = Field(Spec("additive"), description="alignment score function")
    terms: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="additional attention features and priors, such as coverage"
    )
    normalizer: Spec = Field(Spec("softmax"), description="from energies to weights")
    window: Spec = Field(Spec("none"), description="local attention window")
    sentences: Text | None = Field(
        None, description="what stands between the sentences of a document, to attend to these too; null = nothing does"
    )

    @property
    def attends(self) -> bool:
        """Whether there is attention."""
        return not self.score.is_absent

    def beside_score(self) -> Iterator[str]:
        """Yield the keys other than `score` that differ from their defaults."""
        fields = type(self).model_fields
        return (name for name in fields if name != "score" and getattr(self, name) != fields[name].default)

    def chosen(self) -> Iterator[Spec]:
        """Yield the score, the terms, and the normalizer and the window if they are not of the default kind."""
        yield self.score
        yield from self.terms
        for name in ("normalizer", "window"):
            if getattr(self, name).kind != type(self).model_fields[name].default.kind:
                yield getattr(self, name)


class ModelConfig(Section):
    """The network."""

    start_symbol: Literal["bos", "eos"] = Field("bos", description="what the decoder reads first: bos or eos")
    embedding: EmbeddingConfig = Field(EmbeddingConfig(), description="symbols as vectors")
    encoder: Spec = Field(Spec("rnn"), description="reads the source sentence")
    features: Spec = Field(Spec("projection"), description="reads sources that are numbers (data.features)")
    initial_state_only: Annotated[tuple[Text, ...], Several] = Field(
        (), description="sources among data.features that only start the decoder (bridge) and are not attended to"
    )
    bridge: Spec = Field(Spec("final"), description="the decoder's first state")
    attention: AttentionConfig = Field(AttentionConfig(), description="where the decoder looks")
    combination: Spec = Field(Spec("concatenation"), description="what becomes of attention to several sources")
    decoder: Spec = Field(Spec("rnn"), description="writes the target sentence")
    output: Spec = Field(Spec("softmax"), description="from features to probabilities of symbols")
    cursor: bool = Field(
        False, description="of data.edits: true = the decoder reads the state of the symbol that is edited next, too"
    )


class BatchConfig(Section):
    """The pairs of one training step."""

    size: Count = Field(80, description="number of sentences or tokens")
    type: Literal["sentences", "tokens"] = Field("sentences", description="sentences or tokens (padding counts)")
    accumulate: Count = Field(1, description="how many such batches make one step, for more pairs than memory holds")


class AverageConfig(Section):
    """The checkpoints that are averaged."""

    count: Count = Field(5, description="number of checkpoints")
    of: Literal["best", "last"] = Field("best", description="checkpoints of the best validations, or of the last ones")


class TrainingConfig(Section):
    """From a network to a translator."""

    init_from: Text | None = Field(
        None, description="run, or file of weights in one, that training begins with; null = random weights"
    )
    init_interpolation: Rate = Field(
        0.0,
        description="share of the weights that training began with in the final ones, unless metric and loss worsen",
    )
    freeze: Annotated[tuple[Text, ...], Several] = Field(
        (), description="parameters that are not trained, by name: readers.*, *.embedding.table"
    )
    require_gate: bool = Field(
        False, description="true = `serve` wants it compared with another run first, by `gate`, and not found worse"
    )
    epochs: Count | None = Field(30, description="passes over the training pairs; null = no limit")
    steps: Count | None = Field(None, description="training steps; null = no limit; the first limit counts")
    batch: BatchConfig = Field(BatchConfig(), description="the pairs of one training step")
    objective: Spec = Field(Spec("teacher_forcing"), description="training objective")
    penalties: Annotated[tuple[Spec, ...], Several] = Field((), description="losses on the attention")
    consistency: Spec = Field(
        Spec("none"), description="consistency regularization between several passes over a batch"
    )
    source_dropout: Rate = Field(
        0.0, description="share of the sources that training hides where there are several, never all of a sentence"
    )
    optimizer: Spec = Field(Spec("adam"), description="optimizer")
    schedule: Spec = Field(Spec("constant"), description="the learning rate from step to step")
    clip_norm: Positive | None = Field(1.0, description="largest norm of the gradient; null = any")
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
    average_checkpoints: AverageConfig = Field(
        AverageConfig(), description="the checkpoints that the final model is the mean of"
    )
    max_nonfinite_steps: Count = Field(20, description="steps in a row with a non-finite loss to stop after")


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
        (), description="decoding constraints (not applied during validation)"
    )
    replace_unk: bool = Field(
        True, description="true = source words, or their translations in a dictionary, take the place of `<unk>`"
    )
    metrics: Annotated[tuple[Spec, ...], Several] = Field(
        (Spec("bleu"), Spec("chrf")),
        description="what translations are scored by",
    )

    def __repr__(self) -> str:
        """The keys that are not as by default, as YAML."""
        return "Config\n" + textwrap.indent(yaml.write(sections.changed_values(self)), "  ").rstrip()

    __str__ = __repr__

    @property
    def combines(self) -> bool:
        """Whether the model combines attention: to several sources, or to a source and a sentinel."""
        return self.data.several or bool(self.model.combination.options.get("sentinel"))


# What validation measures without translating, and whether higher is better.
UNTRANSLATED = {"loss": False, "perplexity": False, "accuracy": True}
