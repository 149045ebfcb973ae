"""Folders of T5 and mT5 of Hugging Face: their log P is that of the equations in plain numpy."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sentencepiece

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.interop.foreign_text import put_prefix
from dragoman.run.run import Run
from dragoman.translation.loading import load
from tests.interop.huggingface_models import Tensors, learn_pieces, write_folder
from tests.model import transformer

pytestmark = pytest.mark.spec("J13")
Vector = npt.NDArray[np.float64]
SOURCES, TARGETS = ["the cat sat", "on the mat looked 3", "cat \u732b & mat"], ["the mat", "sat on 4", "cat"]
SIZE, HEADS, HEAD_SIZE, HIDDEN, MORE = 8, 2, 3, 10, 3
LAYERS = {"encoder": 1, "decoder": 2}
CONFIG: dict[str, Any] = {
    "d_model": SIZE,
    "num_heads": HEADS,
    "d_kv": HEAD_SIZE,
    "d_ff": HIDDEN,
    "num_layers": LAYERS["encoder"],
    "num_decoder_layers": LAYERS["decoder"],
    "layer_norm_epsilon": 1e-6,
    "task_specific_params": {"translation_en_to_de": {"prefix": "the number: "}},
}
KINDS: dict[str, dict[str, Any]] = {
    "first": {"feed_forward_proj": "relu"},
    "second": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "tied": {"feed_forward_proj": "gated-gelu", "scale_decoder_outputs": False},
}


def tensors(config: dict[str, Any], count: int) -> Tensors:
    draw, arrays = np.random.default_rng(0), Tensors()

    def add(name: str, *shape: int, around: float = 0.0) -> None:
        arrays[f"{name}.weight"] = (around + 0.4 * draw.standard_normal(shape)).astype(np.float32)

    add("shared", count, SIZE)
    if not config.get("tie_word_embeddings", True):
        add("lm_head", count, SIZE)
    inner, gated = HEADS * HEAD_SIZE, config["feed_forward_proj"].startswith("gated")
    for side, layers in LAYERS.items():
        kinds = ["SelfAttention", *(["EncDecAttention"] if side == "decoder" else [])]
        for block in (f"{side}.block.{number}.layer" for number in range(layers)):
            for number, kind in enumerate(kinds):
                for part in "qkv":
                    add(f"{block}.{number}.{kind}.{part}", inner, SIZE)
                add(f"{block}.{number}.{kind}.o", SIZE, inner)
                add(f"{block}.{number}.layer_norm", SIZE, around=1.0)
            for part in ("wi_0", "wi_1") if gated else ("wi",):
                add(f"{block}.{len(kinds)}.DenseReluDense.{part}", HIDDEN, SIZE)
            add(f"{block}.{len(kinds)}.DenseReluDense.wo", SIZE, HIDDEN)
            add(f"{block}.{len(kinds)}.layer_norm", SIZE, around=1.0)
        add(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias", 32, HEADS)
        add(f"{side}.final_layer_norm", SIZE, around=1.0)
    return arrays


class Reference:
    """The equations of a model."""

    def __init__(self, config: dict[str, Any], arrays: Tensors) -> None:
        self.config = config
        self.arrays = {name.removesuffix(".weight"): array.astype(np.float64) for name, array in arrays.items()}

    def norm(self, name: str, x: Vector) -> Vector:
        scaled: Vector = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * self.arrays[name]
        return scaled

    def attention(self, name: str, queries: Vector, states: Vector, side: str) -> Vector:
        """Without a scale; with a number for each bucket of distances, but for attention to the source."""
        q, k, v = (
            x @ self.arrays[f"{name}.{part}"].T for part, x in zip("qkv", (queries, states, states), strict=True)
        )
        own = "SelfAttention" in name
        biases, mixed = self.arrays[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias"], np.zeros_like(q)
        for head in range(HEADS):
            cut = slice(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
            energies = q[:, cut] @ k[:, cut].T
            for t, j in np.ndindex(*energies.shape) if own else ():
                energies[t, j] += biases[transformer.bucket(j - t, side == "decoder"), head]
                if side == "decoder" and j > t:
                    energies[t, j] = -np.inf
            weights = np.exp(energies - energies.max(1, keepdims=True))
            mixed[:, cut] = weights / weights.sum(1, keepdims=True) @ v[:, cut]
        out: Vector = mixed @ self.arrays[f"{name}.o"].T
        return out

    def feed_forward(self, name: str, x: Vector) -> Vector:
        if f"{name}.wi" in self.arrays:
            inner = np.maximum(x @ self.arrays[f"{name}.wi"].T, 0)
        else:
            gate = np.vectorize(transformer.ACTIVATIONS["gelu_tanh"])(x @ self.arrays[f"{name}.wi_0"].T)
            inner = gate * (x @ self.arrays[f"{name}.wi_1"].T)
        out: Vector = inner @ self.arrays[f"{name}.wo"].T
        return out

    def run(self, side: str, ids: list[int], memory: Vector | None = None) -> Vector:
        x = self.arrays["shared"][ids]
        for block in (f"{side}.block.{number}.layer" for number in range(LAYERS[side])):
            y = self.norm(f"{block}.0.layer_norm", x)
            x = x + self.attention(f"{block}.0.SelfAttention", y, y, side)
            last = 1
            if memory is not None:
                last, y = 2, self.norm(f"{block}.1.layer_norm", x)
                x = x + self.attention(f"{block}.1.EncDecAttention", y, memory, side)
            x = x + self.feed_forward(f"{block}.{last}.DenseReluDense", self.norm(f"{block}.{last}.layer_norm", x))
        return self.norm(f"{side}.final_layer_norm", x)

    def log_probs(self, source: list[int], read: list[int]) -> Vector:
        states = self.run("decoder", read, self.run("encoder", source))
        if self.config.get("scale_decoder_outputs", self.config.get("tie_word_embeddings", True)):
            states = states / math.sqrt(SIZE)
        logits = states @ self.arrays.get("lm_head", self.arrays["shared"]).T
        normalized: Vector = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return normalized


def make(path: Path, kind: str = "first", **changed: Any) -> tuple[Reference, sentencepiece.SentencePieceProcessor]:
    """A folder with more rows than symbols."""
    segmenter = learn_pieces(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter)
    count = processor.vocab_size() + MORE
    config = {**CONFIG, **KINDS[kind], "vocab_size": count}
    arrays = tensors(config, count)
    write_folder(path, "t5", {"spiece.model": segmenter}, arrays, {**config, **changed})
    return Reference(config, arrays), processor


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_equations(kind: str, tmp_path: Path) -> None:
    """After the name of the task, of which the model may not know each piece."""
    reference, processor = make(tmp_path / "folder", kind)
    imported_run.write(table.read(tmp_path / "folder", languages=("en", "de")), tmp_path / "run", ("en", "de"), "")
    scored = load(tmp_path / "run").score(SOURCES, TARGETS)
    for source, target, score in zip(SOURCES, TARGETS, scored, strict=True):
        wanted = [*processor.encode(target), 1]
        read = [*processor.encode("the number:"), *processor.encode(source), 1]
        steps = reference.log_probs(read, [0, *wanted[:-1]])[np.arange(len(wanted)), wanted]
        assert [step.log_prob for step in score.steps] == pytest.approx(steps.tolist(), abs=2e-5)


def test_a_source_begins_with_the_name_of_a_task_that_the_model_has(tmp_path: Path) -> None:
    make(tmp_path / "folder")
    for languages, words in ((("en", "de"), 2), (("de", "en"), 0)):
        imported_run.write(table.read(tmp_path / "folder", languages=languages), tmp_path / languages[0], languages, "")
        prefix = Run.load(tmp_path / languages[0]).config.text.source.prefix
        assert sum(symbol.startswith("\u2581") for symbol in prefix) == words
        (source,) = load(tmp_path / languages[0]).translate(SOURCES[:1])[0].sources
        assert source.words == ["the", "cat", "sat"]


@pytest.mark.parametrize("text", ["the mat: ", "", "\u732b"])
def test_another_name_of_a_task_is_that_of_the_equations(text: str, tmp_path: Path) -> None:
    """In the place of the model's own; a piece that it does not have is unknown."""
    reference, processor = make(tmp_path / "folder")
    foreign = put_prefix(table.read(tmp_path / "folder", languages=("en", "de")), text)
    imported_run.write(foreign, tmp_path / "run", ("en", "de"), "")
    (score,) = load(tmp_path / "run").score(SOURCES[:1], TARGETS[:1])
    wanted = [*processor.encode(TARGETS[0]), 1]
    log_probs = reference.log_probs([*processor.encode(text), *processor.encode(SOURCES[0]), 1], [0, *wanted[:-1]])
    steps = log_probs[np.arange(len(wanted)), wanted]
    assert [step.log_prob for step in score.steps] == pytest.approx(steps.tolist(), abs=2e-5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"feed_forward_proj": "gated-relu"}, "feed_forward_proj: expected relu or gelu or gated-gelu or gated-silu"),
        ({"relative_attention_num_buckets": 16}, "relative_attention_num_buckets: expected 32, found 16"),
        ({"relative_attention_max_distance": 16}, "relative_attention_max_distance: expected a number above 16"),
        ({"layer_norm_epsilon": 1}, "layer_norm_epsilon: expected a small number, found 1"),
        ({"decoder_start_token_id": 5}, "decoder_start_token_id: expected the number of <pad> in spiece.model"),
        ({"d_kv": 4}, "SelfAttention.q.weight': expected shape (8, 8), found (6, 8)"),
        ({"num_layers": 2}, "tensor 'encoder.block.1.layer.0.SelfAttention.q.weight': expected shape"),
        ({"vocab_size": 9}, "expected at most 9 symbols"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    make(tmp_path / "folder", **changed)
    with pytest.raises(UserError) as raised:
        table.read(tmp_path / "folder", languages=("en", "de"))
    assert message in str(raised.value)


def test_types_that_differ_are_refused_by_name(tmp_path: Path) -> None:
    make(tmp_path / "folder")
    config = json.loads((tmp_path / "folder" / "config.json").read_text("utf-8"))
    for kind in ("pegasus", "led", "umt5", "bert"):
        (tmp_path / "folder" / "config.json").write_text(json.dumps({**config, "model_type": kind}), "utf-8")
        with pytest.raises(UserError, match=f"model_type: expected marian or .* or t5 or mt5, found {kind}"):
            table.read(tmp_path / "folder")
