"""The configuration of a run as one typed tree."""

import textwrap
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from dragoman.configuration import sections, yaml_lines
from dragoman.configuration.components import Spec
from dragoman.configuration.data import DataConfig
from dragoman.configuration.sections import Section
from dragoman.configuration.values import Count, Positive, Rate, Several, Size, Text, Width
from dragoman.threads import MOST_THREADS


class DeviceConfig(Section):
    """Device, threads and precision of computation."""

    name: Literal["auto", "cpu", "cuda"] = Field("auto", description="device: auto (a GPU if available), cpu or cuda")
    threads: Annotated[int, Field(ge=0, le=MOST_THREADS)] = Field(
        0, description="number of CPU threads; 0 = OMP_NUM_THREADS, or one per core"
    )
    precision: Literal["auto", "float32", "tf32", "bfloat16"] = Field(
        "auto",
        description="precision of matrix products in training: auto (bfloat16 where faster), float32, tf32 (on a GPU), "
        "bfloat16",
    )
    cuda_graphs: bool = Field(
        True,
        description="record steps of training and search as CUDA graphs on a GPU",
    )


class LanguageConfig(Section):
    """Tokenization of one language."""

    lowercase: bool = Field(False, description="lowercase all text")
    pretokenizer: Literal["punctuation", "whitespace"] = Field(
        "punctuation", description="word boundaries: punctuation and whitespace, or whitespace only"
    )
    tokenizer: Spec = Field(Spec("bpe"), description="tokenizer that splits words into tokens")
    prefix: Annotated[tuple[Text, ...], Several] = Field(
        (), description="tokens before each source text, such as the code of its language or the name of a task"
    )
    suffix: Annotated[tuple[Text, ...], Several] = Field((), description="tokens after each source text")
    padded_length: Width | None = Field(
        None,
        description="pad each shorter source text to this number of tokens, which the model reads and attends to; "
        "null = padding is masked",
    )


class TextConfig(Section):
    """Text processing and vocabularies."""

    shared_vocabulary: bool = Field(True, description="share one vocabulary between all languages")
    vocabulary_from: Text | None = Field(
        None,
        description="run whose tokenizers and vocabularies are reused (text options must match); null = learn new ones",
    )
    protect: Annotated[tuple[Spec, ...], Several] = Field(
        (),
        description="spans replaced by placeholder tokens and copied unchanged (URLs, format specifiers, ...)",
    )
    source: LanguageConfig = Field(LanguageConfig(), description="tokenization of the source language or languages")
    target: LanguageConfig = Field(LanguageConfig(), description="tokenization of the target language")


class EmbeddingConfig(Section):
    """Token embeddings."""

    size: Size = Field(256, description="embedding dimension")
    dropout: Rate = Field(0.0, description="dropout probability of embeddings")
    tie: Literal["none", "output", "languages", "all"] = Field(
        "none",
        description="weight tying: output (target embedding = output layer), languages (source = target), all, none",
    )
    source: Spec = Field(Spec("lookup"), description="source embedding")
    target: Spec = Field(Spec("lookup"), description="target embedding")


class AttentionConfig(Section):
    """Attention of the decoder to the source."""

    score: Spec = Field(Spec("additive"), description="alignment score function")
    terms: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="additional attention features and priors, such as coverage"
    )
    normalizer: Spec = Field(Spec("softmax"), description="function that turns attention scores into weights")
    window: Spec = Field(Spec("none"), description="local attention window")
    sentences: Text | None = Field(
        None, description="sentence separator of documents, for attention over sentences as well as tokens; null = none"
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
    """Model architecture."""

    start_symbol: Literal["bos", "eos", "none", "prefix"] = Field(
        "bos",
        description="first input token of the decoder: bos, eos, none (a zero vector) or prefix (the first token of "
        "target_prefix)",
    )
    target_prefix: Annotated[tuple[Text, ...], Several] = Field(
        (),
        description="tokens that the decoder reads after the first one, before it predicts any, such as a language "
        "code of a multilingual model",
    )
    source_end: bool = Field(True, description="read the end token of a source")
    embedding: EmbeddingConfig = Field(EmbeddingConfig(), description="token embeddings")
    encoder: Spec = Field(Spec("rnn"), description="encoder of the source sentence")
    features: Spec = Field(Spec("projection"), description="encoder of numeric sources (data.features)")
    initial_state_only: Annotated[tuple[Text, ...], Several] = Field(
        (), description="sources of data.features that only initialize the decoder (bridge) and are not attended to"
    )
    bridge: Spec = Field(Spec("final"), description="initialization of the decoder state from the encoder")
    attention: AttentionConfig = Field(AttentionConfig(), description="attention of the decoder to the source")
    combination: Spec = Field(Spec("concatenation"), description="how attention over several sources is combined")
    decoder: Spec = Field(Spec("rnn"), description="decoder of the target sentence")
    output: Spec = Field(Spec("softmax"), description="output layer: the distribution over target tokens")
    cursor: bool = Field(
        False, description="with data.edits, also feed the decoder the encoder state of the next token to edit"
    )


class BatchConfig(Section):
    """Batches of sentence pairs."""

    size: Count = Field(80, description="batch size, in units of `type`")
    type: Literal["sentences", "tokens"] = Field(
        "sentences", description="unit of the batch size: sentences or tokens (including padding)"
    )
    accumulate: Count = Field(1, description="gradient accumulation: batches per training step")


class AverageConfig(Section):
    """Checkpoint averaging."""

    count: Count = Field(5, description="number of checkpoints to average; 1 = no averaging")
    of: Literal["best", "last"] = Field(
        "best", description="which checkpoints: those with the best validation scores, or the last"
    )


class TrainingConfig(Section):
    """Training."""

    init_from: Text | None = Field(
        None, description="run or weight file to initialize from (fine-tuning); null = random initialization"
    )
    init_interpolation: Annotated[tuple[Rate, ...], Several] = Field(
        (),
        description="weights of the initial parameters in the final ones (interpolation); the best is used unless its "
        "metric is worse by more than 2 %, or no better with a higher loss",
    )
    freeze: Annotated[tuple[Text, ...], Several] = Field(
        (), description="name patterns of frozen parameters, such as source_encoders.* or *.embedding.table"
    )
    require_gate: bool = Field(
        False, description="`serve` rejects the run unless `dragoman gate` found it no worse than another run"
    )
    epochs: Count | None = Field(30, description="maximum number of epochs; null = no limit")
    steps: Count | None = Field(
        None, description="maximum number of training steps; null = no limit (training ends at the first limit reached)"
    )
    batch: BatchConfig = Field(BatchConfig(), description="batches of sentence pairs")
    objective: Spec = Field(Spec("teacher_forcing"), description="training objective")
    penalties: Annotated[tuple[Spec, ...], Several] = Field((), description="auxiliary losses on the attention weights")
    consistency: Spec = Field(Spec("none"), description="consistency regularization")
    source_dropout: Rate = Field(
        0.0, description="probability of dropping each of several sources in training (never all sources of a pair)"
    )
    optimizer: Spec = Field(Spec("adam"), description="optimizer")
    schedule: Spec = Field(Spec("constant"), description="learning rate schedule")
    clip_norm: Positive | None = Field(1.0, description="maximum gradient norm; null = no clipping")
    save_every: Count = Field(500, description="steps between saved training states, from which training resumes")
    validate_every: Count | None = Field(None, description="steps between validations; null = once per epoch")
    search: Spec = Field(Spec("greedy"), description="decoding in validation")
    metric: Text = Field(
        "bleu", description="validation metric for model selection: one of `metrics`, or loss, perplexity, accuracy"
    )
    patience: Count | None = Field(
        10, description="early stopping after this many validations without improvement; null = never"
    )
    moving_average: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="decay of an exponential moving average of the weights, such as 0.999, which is validated and "
        "saved instead of them; null = none",
    )
    average_checkpoints: AverageConfig = Field(AverageConfig(), description="checkpoint averaging for the final model")
    max_nonfinite_steps: Count = Field(
        20, description="consecutive steps with a non-finite loss after which training stops"
    )
    loggers: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="experiment trackers that receive losses and scores, beside metrics.jsonl"
    )


class Config(Section):
    """Configuration of a run."""

    run: Text = Field("runs/model", description="folder of the run: checkpoints, vocabularies and logs")
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(1, description="random seed")
    code: Annotated[tuple[Text, ...], Several] = Field(
        (), description="Python files with further parts, executed before the parts are read"
    )
    device: DeviceConfig = Field(DeviceConfig(), description="device, threads and precision")
    data: DataConfig = Field(description="training and development data")
    text: TextConfig = Field(TextConfig(), description="text processing and vocabularies")
    model: ModelConfig = Field(ModelConfig(), description="model architecture")
    training: TrainingConfig = Field(TrainingConfig(), description="training")
    search: Spec = Field(Spec("beam"), description="decoding")
    constraints: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="decoding constraints (not applied during validation)"
    )
    transforms: Annotated[tuple[Spec, ...], Several] = Field(
        (), description="text transforms of plug-ins, the outermost first (not applied during validation)"
    )
    replace_unk: bool = Field(
        True, description="replace `<unk>` by the aligned source word, or by its translation if a dictionary is given"
    )
    metrics: Annotated[tuple[Spec, ...], Several] = Field(
        (Spec("bleu"), Spec("chrf")),
        description="evaluation metrics",
    )

    def __repr__(self) -> str:
        """Return the keys that differ from their defaults, as YAML."""
        return "Config\n" + textwrap.indent(yaml_lines.write(sections.changed_values(self)), "  ").rstrip()

    __str__ = __repr__

    @property
    def combines(self) -> bool:
        """Whether the model combines attention: to several sources, or to a source and a sentinel."""
        return self.data.several or bool(self.model.combination.options.get("sentinel"))


# Validation metrics computed without decoding, and whether higher is better.
UNTRANSLATED = {"loss": False, "perplexity": False, "accuracy": True}
