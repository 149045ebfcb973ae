"""Hugging Face's descendants of fairseq in plain numpy, one sentence at a time, sharing nothing with the code: random
tensors, the folders that hold them, and log P of a translation.
"""

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sentencepiece
import torch
from safetensors.torch import save_file

Vector = npt.NDArray[np.float64]
Tensors = dict[str, npt.NDArray[np.float32]]
Config = dict[str, Any]

SIZE, LAYERS, LONGEST = 8, 2, 40
LINES = [f"the cat number {number} sat on the mat & looked" for number in range(40)]
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]
CONFIG: Config = {
    "d_model": SIZE,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 6,
    "decoder_ffn_dim": 10,
    "max_position_embeddings": LONGEST,
    "tie_word_embeddings": True,
}
# Of each type: keys, whether norms come first, whether embeddings are normalized
TYPES: dict[str, tuple[Config, bool, bool]] = {
    "m2m_100": ({"activation_function": "relu", "scale_embedding": True}, True, False),
    "mbart": ({"activation_function": "gelu", "scale_embedding": True, "normalize_before": True}, True, True),
    "bart": ({"activation_function": "gelu", "scale_embedding": False}, False, True),
}


def learn_pieces(lines: Sequence[str] = LINES, **options: Any) -> bytes:
    """A sentencepiece model with the specials that fairseq's users have: <unk>, <s>, </s>."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=file,
        vocab_size=40,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return file.getvalue()


def pieces_of(segmenter: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=segmenter)
    pieces: list[str] = processor.id_to_piece(list(range(3, processor.vocab_size())))
    return pieces


def tensors(kind: str, config: Config, count: int, seed: int = 0) -> Tensors:
    """Random tensors with the names and shapes of a model of this type."""
    draw, arrays = np.random.default_rng(seed), Tensors()
    _, before, normalized = TYPES[kind]

    def add(name: str, *shape: int, around: float = 0.0) -> None:
        arrays[name] = (around + 0.4 * draw.standard_normal(shape)).astype(np.float32)

    def linear(name: str, rows: int, columns: int) -> None:
        add(f"{name}.weight", rows, columns)
        add(f"{name}.bias", rows)

    def norm(name: str) -> None:
        add(f"{name}.weight", SIZE, around=1.0)
        add(f"{name}.bias", SIZE)

    add("model.shared.weight", count, SIZE)
    if kind != "m2m_100":
        add("final_logits_bias", 1, count)
    for side in ("encoder", "decoder"):
        for number in range(config[f"{side}_layers"]):
            layer = f"model.{side}.layers.{number}"
            for attention in ("self_attn", *(["encoder_attn"] if side == "decoder" else [])):
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    linear(f"{layer}.{attention}.{part}", SIZE, SIZE)
                norm(f"{layer}.{attention}_layer_norm")
            linear(f"{layer}.fc1", config[f"{side}_ffn_dim"], SIZE)
            linear(f"{layer}.fc2", SIZE, config[f"{side}_ffn_dim"])
            norm(f"{layer}.final_layer_norm")
        if before:
            norm(f"model.{side}.layer_norm")
        if normalized:
            norm(f"model.{side}.layernorm_embedding")
            add(f"model.{side}.embed_positions.weight", LONGEST + 2, SIZE)
    return arrays


class Reference:
    """The equations of a model."""

    def __init__(self, kind: str, config: Config, arrays: Tensors) -> None:
        self.kind, self.config = kind, config
        self.arrays = {name: array.astype(np.float64) for name, array in arrays.items()}
        _, self.before, self.normalized = TYPES[kind]

    def linear(self, name: str, x: Vector) -> Vector:
        product: Vector = x @ self.arrays[f"{name}.weight"].T + self.arrays[f"{name}.bias"]
        return product

    def norm(self, name: str, x: Vector) -> Vector:
        centered = x - x.mean(-1, keepdims=True)
        normalized = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
        scaled: Vector = normalized * self.arrays[f"{name}.weight"] + self.arrays[f"{name}.bias"]
        return scaled

    def activation(self, x: Vector) -> Vector:
        if self.config["activation_function"] == "relu":
            return np.maximum(x, 0)
        erf: Vector = np.vectorize(math.erf)(x / math.sqrt(2))
        return 0.5 * x * (1 + erf)

    def attention(self, name: str, heads: int, queries: Vector, states: Vector, *, causal: bool) -> Vector:
        q, k, v = (
            self.linear(f"{name}.{part}_proj", x) for part, x in zip("qkv", (queries, states, states), strict=True)
        )
        mixed, width = np.zeros_like(q), SIZE // heads
        for head in range(heads):
            own = slice(head * width, (head + 1) * width)
            energies = q[:, own] @ k[:, own].T / math.sqrt(width)
            if causal:
                energies[np.triu_indices(len(q), 1)] = -np.inf
            weights = np.exp(energies - energies.max(1, keepdims=True))
            mixed[:, own] = weights / weights.sum(1, keepdims=True) @ v[:, own]
        return self.linear(f"{name}.out_proj", mixed)

    def embed(self, side: str, ids: Sequence[int]) -> Vector:
        scale = math.sqrt(SIZE) if self.config["scale_embedding"] else 1.0
        x = scale * self.arrays["model.shared.weight"][list(ids)]
        places = np.arange(len(ids)) + 2
        if self.kind == "m2m_100":
            angles = places[:, None] * 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2 - 1))
            return x + np.concatenate([np.sin(angles), np.cos(angles)], 1)
        x = x + self.arrays[f"model.{side}.embed_positions.weight"][places]
        return self.norm(f"model.{side}.layernorm_embedding", x)

    def run(self, side: str, ids: Sequence[int], memory: Vector | None = None) -> Vector:
        x, heads = self.embed(side, ids), self.config[f"{side}_attention_heads"]
        for number in range(self.config[f"{side}_layers"]):
            layer = f"model.{side}.layers.{number}"
            for name in ("self_attn", "encoder_attn", "fc"):
                if name == "encoder_attn" and memory is None:
                    continue
                norm = f"{layer}.final_layer_norm" if name == "fc" else f"{layer}.{name}_layer_norm"
                y = self.norm(norm, x) if self.before else x
                if name == "fc":
                    y = self.linear(f"{layer}.fc2", self.activation(self.linear(f"{layer}.fc1", y)))
                else:
                    states = y if name == "self_attn" or memory is None else memory
                    causal = side == "decoder" and name == "self_attn"
                    y = self.attention(f"{layer}.{name}", heads, y, states, causal=causal)
                x = x + y if self.before else self.norm(norm, x + y)
        return self.norm(f"model.{side}.layer_norm", x) if self.before else x

    def log_probs(self, source: Sequence[int], read: Sequence[int]) -> Vector:
        """log P of each symbol after each of those that the decoder has read."""
        logits = self.run("decoder", read, self.run("encoder", source)) @ self.arrays["model.shared.weight"].T
        logits = logits + self.arrays.get("final_logits_bias", 0.0)
        high = logits.max(1, keepdims=True)
        normalized: Vector = logits - high - np.log(np.exp(logits - high).sum(1, keepdims=True))
        return normalized

    def greedy(self, source: Sequence[int], start: Sequence[int], never: Sequence[int], steps: int) -> list[int]:
        """The most probable symbols after these, up to `</s>`."""
        read = list(start)
        while len(read) < len(start) + steps:
            log_probs = self.log_probs(source, read)[-1]
            log_probs[list(never)] = -np.inf
            read.append(int(log_probs.argmax()))
            if read[-1] == 2:
                break
        return read[len(start) :]


def write_folder(path: Path, kind: str, files: dict[str, Any], arrays: Tensors, config: Config) -> None:
    """A folder with these JSON or binary files beside the model."""
    path.mkdir(exist_ok=True)
    for name, contents in {"config.json": {"model_type": kind, **config}, **files}.items():
        data = contents if isinstance(contents, bytes) else json.dumps(contents).encode()
        (path / name).write_bytes(data)
    save_file({name: torch.from_numpy(array) for name, array in arrays.items()}, path / "model.safetensors")
