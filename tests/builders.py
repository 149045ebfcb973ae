"""Tiny models, batches and configurations for tests; everything is seeded and in float64."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from dragoman.configuration import sections
from dragoman.configuration.components import Problem, Spec
from dragoman.configuration.config import Config, ModelConfig
from dragoman.contracts.contract import noise as noise
from dragoman.contracts.contract import shaken as shaken
from dragoman.data.batch import Batch, SourceBatch, TokenBatch, pad_tokens
from dragoman.data.language import Language
from dragoman.data.vocabulary import EOS, Vocabulary
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.state import Tree, map_tensors
from dragoman.text.pipeline import TextPipeline
from dragoman.training.objectives.objective import ObjectiveContext

SYMBOLS = 9  # the four specials and five words: 4, 5, 6, 7, 8
SIZE = 4


def settings(
    *,
    score: Any = "additive",
    normalizer: Any = "softmax",
    terms: Any = (),
    attention: Mapping[str, Any] | None = None,
    combination: Any = "concatenation",
    bridge: Any = "final",
    encoder: Mapping[str, Any] | None = None,
    decoder: Mapping[str, Any] | None = None,
    embedding: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    start_symbol: str = "bos",
    target_prefix: Sequence[str] = (),
) -> ModelConfig:
    """The section `model` with sizes of 4; an encoder that reads both ways has states of 4 too."""
    reads = dict(encoder or {})
    both = reads.get("direction", "bidirectional") == "bidirectional"
    return ModelConfig.model_validate(
        {
            "start_symbol": start_symbol,
            "target_prefix": target_prefix,
            "embedding": {"size": SIZE, **(embedding or {})},
            "encoder": {"kind": "rnn", "size": SIZE // 2 if both else SIZE, **reads},
            "bridge": bridge,
            "attention": {"score": score, "terms": terms, "normalizer": normalizer, **(attention or {})},
            "combination": combination,
            "decoder": {"kind": "rnn", "size": SIZE, **(decoder or {})},
            "output": {"kind": "softmax", **(output or {})},
        }
    )


def whole(model: ModelConfig) -> Config:
    """A complete configuration around that section."""
    data = {"source": "en", "target": "de", "train": "corpus/train", "dev": "corpus/dev"}
    return Config.model_validate({"data": data, "model": model})


def model_problems(config: Config) -> list[Problem]:
    """Invalid options of the model's parts, or else parts that do not fit together."""
    return sections.part_problems(config.model, build.TABLES, ("model",)) or build.find_problems(config)


def build_model(
    *,
    symbols: int = SYMBOLS,
    sources: int = 1,
    mark: int | None = None,
    seed: int = 0,
    spread: float = 0.5,
    **options: Any,
) -> Seq2Seq:
    """A model for evaluation in float64, every parameter moved away from its initial value (zeros hide faults)."""
    torch.manual_seed(seed)
    model = build.build(settings(**options), (symbols,) * sources, symbols, mark)
    return shaken(model, seed, spread).eval()


def context(model: Seq2Seq | None = None, **fields: Any) -> ObjectiveContext:
    """The context of an objective that trains this model, between two languages of five words."""
    pipeline = TextPipeline(lowercase=False, pretokenizer="whitespace", tokenizer=Spec("word"))
    language = Language("de", pipeline, Vocabulary("abcde"), (1,) * SYMBOLS)
    with torch.random.fork_rng():
        model = model or build_model()
    objective_context = ObjectiveContext(model, lambda: build_model(seed=1), (language,), language, {}, {})
    return objective_context._replace(**fields)


def sentences(*rows: list[int], width: int = 0) -> TokenBatch:
    """Rows of words as a Sequence: the end symbol is added, then padding, up to `width` if that is wider."""
    padded = pad_tokens([[*row, EOS] for row in rows])
    extra = width - padded.ids.size(1)
    if extra <= 0:
        return padded
    ids = nn.functional.pad(padded.ids, (0, extra), value=1)
    return TokenBatch(ids, nn.functional.pad(padded.mask, (0, extra)))


def part(sentences: SourceBatch, rows: Any) -> TokenBatch:
    """Some of the ids of sentences, with their mask."""
    ids, mask = sentences[:2]
    return TokenBatch(ids[rows], mask[rows])


def pairs(sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """A batch of these pairs."""
    return Batch((sentences(*sources),), sentences(*targets), np.arange(len(sources)))


def copied(batch: Batch) -> Batch:
    """The same pairs for a model that copies, where both languages have the same vocabulary."""
    texts = (source for source in batch.sources if isinstance(source, TokenBatch))
    return batch._replace(sources=tuple(text._replace(extended=text.ids) for text in texts))


BATCH = pairs([[4, 5, 6], [7], [8, 4]], [[5, 4], [6, 7, 8, 4], [8]])


def tile(state: Tree, times: int) -> Tree:
    """Every row of a state `times` times in a row: (B, ...) to (B * times, ...)."""
    return map_tensors(lambda tensor: torch.repeat_interleave(tensor, times, dim=0), state)
