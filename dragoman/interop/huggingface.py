"""Folders of Hugging Face Transformers: MarianMT (OPUS-MT), as its conversion from Marian writes it.

Matrices are stored as (out, in). The symbol `<pad>`, which the conversion appended, is the start symbol of the decoder:
its embedding is Marian's zero vector. Ids are those of `vocab.json`; `source.spm` segments the source, and `target.spm`
the target.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from dragoman.data.vocabulary import BOS
from dragoman.errors import UserError
from dragoman.interop import vocabulary_files
from dragoman.interop.foreign_model import Array, ForeignModel, TensorMap
from dragoman.interop.foreign_text import RowOrder, build_side

Positions = Literal["marian", "huggingface"]
CONFIG: Final = "config.json"
WEIGHTS: Final = ("model.safetensors", "pytorch_model.bin")
TYPES: Final = ("marian",)
ACTIVATIONS: Final = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh"}
# What computes positions, and the epsilon of its layer norms
CONSTANTS: Final[Mapping[Positions, tuple[str, float]]] = {
    "marian": ("marian", 1e-6),
    "huggingface": ("sinusoidal_halves", 1e-5),
}
PADDING: Final = "<pad>"


def find_model(source: Path) -> Path | None:
    """The weights of a folder of this kind; None if it is another one."""
    if not (source / CONFIG).is_file():
        return None
    return next((source / name for name in WEIGHTS if (source / name).is_file()), None)


def read(path: Path, vocabularies: Sequence[Path], positions: Positions) -> ForeignModel:
    """Read the model of a folder, given its file of weights. `positions` are computed as Marian does, which trained the
    models, or as Hugging Face does. UserError names file, tensor or key, and what was expected.
    """
    folder = path.parent
    options = _Options(folder / CONFIG)
    options.check()
    separate = not options.flag("share_encoder_decoder_embeddings")
    files = list(vocabularies) or [folder / "vocab.json"]
    if separate and len(files) == 1 and (folder / "target_vocab.json").is_file():
        files.append(folder / "target_vocab.json")
    foreign = [vocabulary_files.read(file) for file in (files[0], files[-1])]
    sizes = (options.number("vocab_size"), options.number("decoder_vocab_size", "vocab_size"))
    pad = options.number("pad_token_id", least=0)
    (source, source_rows), (target, target_rows) = (
        build_side(vocabulary, size, folder / f"{name}.spm", left_out=(PADDING,))
        for vocabulary, size, name in zip(foreign, sizes, ("source", "target"), strict=True)
    )
    tensors = TensorMap(path, _read_tensors(path))
    mapped = _Model(options, tensors, positions)
    mapped.encoder()
    mapped.decoder()
    starts_from_zero = mapped.tables((source_rows, target_rows), sizes, pad)
    model = {**mapped.configuration(), "start_symbol": "none" if starts_from_zero else "bos"}
    used = (path, folder / CONFIG, *dict.fromkeys(files))
    search = _search(folder / "generation_config.json")
    return ForeignModel("Hugging Face MarianMT", used, model, search, source, target, tensors.finish())


def _read_tensors(path: Path) -> dict[str, Array]:
    try:
        if path.suffix == ".safetensors":
            tensors: Any = load_file(path)
        else:  # weights_only: an unpickler that knows tensors and nothing else
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError, TypeError, EOFError) as error:
        raise UserError(f"{path}: truncated, or not a file of weights ({str(error).splitlines()[0][:200]})") from error
    except Exception as error:  # what the unpickler refuses has a type of the module `pickle`
        raise UserError(f"{path}: holds more than weights ({type(error).__name__})") from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in tensors.values()):
        raise UserError(f"{path}: expected tensors by name")
    arrays = {}
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise UserError(f"{path}: tensor {name!r}: expected floating-point numbers, found {tensor.dtype}")
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path}: tensor {name!r}: expected finite numbers, found infinity or NaN")
        arrays[name] = tensor.double().numpy()
    return arrays


class _Options:
    """The keys of `config.json`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            values = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{path}: not readable as JSON ({error})") from error
        if not isinstance(values, dict):
            raise UserError(f"{path}: expected keys and values")
        self.values = values

    def refuse(self, key: str, expected: str) -> UserError:
        """The error for a value."""
        return UserError(f"{self.path}: {key}: expected {expected}, found {str(self.values.get(key))[:60]}")

    def check(self) -> None:
        """UserError for a model that is another one."""
        if self.values.get("model_type") not in TYPES:
            raise self.refuse("model_type", " or ".join(TYPES))
        if self.values.get("activation_function") not in ACTIVATIONS:
            raise self.refuse("activation_function", " or ".join(ACTIVATIONS))

    def number(self, *keys: str, least: int = 1) -> int:
        """A number, of the first of these keys that is there."""
        key = next((name for name in keys if self.values.get(name) is not None), keys[0])
        value = self.values.get(key)
        if type(value) is not int or not least <= value < 10_000_000:
            raise self.refuse(key, f"a number of at least {least}")
        return value

    def flag(self, key: str) -> bool:
        """True or false; what is not there is true, as in MarianConfig, except for `scale_embedding`."""
        value = self.values.get(key, key != "scale_embedding")
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value


class _Model:
    """Maps the tensors and keys of one model."""

    def __init__(self, options: _Options, tensors: TensorMap, positions: Positions) -> None:
        self.options, self.tensors = options, tensors
        self.size = options.number("d_model")
        self.positions, self.epsilon = CONSTANTS[positions]
        self.shared, self.tied = options.flag("share_encoder_decoder_embeddings"), options.flag("tie_word_embeddings")

    def configuration(self) -> dict[str, Any]:
        """The section `model` of our configuration."""
        encoder, decoder = (
            {
                "kind": "self_attention",
                "size": self.size,
                "layers": self.options.number(f"{side}_layers"),
                "heads": self.options.number(f"{side}_attention_heads"),
                "hidden": self.options.number(f"{side}_ffn_dim"),
                "positions": self.positions,
                "bias": True,
                "activation": ACTIVATIONS[self.options.values["activation_function"]],
                "norm": "after",
                "norm_epsilon": self.epsilon,
                "scale": self.options.flag("scale_embedding"),
            }
            for side in ("encoder", "decoder")
        )
        tie = {(True, True): "all", (True, False): "languages", (False, True): "output"}
        return {
            "embedding": {"size": self.size, "tie": tie.get((self.shared, self.tied), "none")},
            "encoder": encoder,
            "bridge": "none",
            "attention": {"score": "scaled_dot"},
            "decoder": decoder,
        }

    def linear(self, ours: str, theirs: Sequence[str], rows: int, columns: int) -> None:
        """One of our linear layers from matrices (rows, columns) of theirs, below each other."""
        weights = [self.tensors.take(f"{name}.weight", (rows, columns)) for name in theirs]
        self.tensors.put(f"{ours}.weight", np.concatenate(weights))
        biases = [self.tensors.take(f"{name}.bias", (rows,)) for name in theirs]
        self.tensors.put(f"{ours}.bias", np.concatenate(biases))

    def norm(self, ours: str, theirs: str) -> None:
        for part in ("weight", "bias"):
            self.tensors.put(f"{ours}.{part}", self.tensors.take(f"{theirs}.{part}", (self.size,)))

    def layer(self, ours: str, theirs: str, hidden: int, norms: Sequence[str]) -> None:
        """What layers of encoders and decoders have in common."""
        parts = [f"{theirs}.self_attn.{part}_proj" for part in "qkv"]
        self.linear(f"{ours}.attention.project", parts, self.size, self.size)
        self.linear(f"{ours}.attention.out_proj", [f"{theirs}.self_attn.out_proj"], self.size, self.size)
        self.linear(f"{ours}.feed_forward.0", [f"{theirs}.fc1"], hidden, self.size)
        self.linear(f"{ours}.feed_forward.2", [f"{theirs}.fc2"], self.size, hidden)
        for number, norm in enumerate(norms):
            self.norm(f"{ours}.norms.{number}", f"{theirs}.{norm}")

    def encoder(self) -> None:
        hidden = self.options.number("encoder_ffn_dim")
        for number in range(self.options.number("encoder_layers")):
            ours, theirs = f"source_encoders.0.encoder.layers.{number}", f"model.encoder.layers.{number}"
            self.layer(ours, theirs, hidden, ("self_attn_layer_norm", "final_layer_norm"))

    def decoder(self) -> None:
        hidden = self.options.number("decoder_ffn_dim")
        for number in range(self.options.number("decoder_layers")):
            ours, theirs = f"decoder.layers.{number}", f"model.decoder.layers.{number}"
            self.layer(ours, theirs, hidden, ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"))
            for part, name in (("query", "q_proj"), ("keys", "k_proj"), ("values", "v_proj"), ("out_proj", "out_proj")):
                self.linear(f"{ours}.cross.{part}", [f"{theirs}.encoder_attn.{name}"], self.size, self.size)

    def tables(
        self,
        rows: tuple[RowOrder, RowOrder],
        sizes: tuple[int, int],
        pad: int,
    ) -> bool:
        """Put embeddings and the output layer; return whether the decoder starts from a zero vector."""
        names = (
            ("model.shared.weight",) * 2
            if self.shared
            else tuple(f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder"))
        )
        source, target = (self.tensors.take(name, (size, self.size)) for name, size in zip(names, sizes, strict=True))
        if pad >= sizes[1]:
            raise self.options.refuse("pad_token_id", f"a number below {sizes[1]}")
        start = target[pad]
        tables = [order(table) for order, table in zip(rows, (source, target), strict=True)]
        for table in tables if self.shared else tables[1:]:
            table[BOS] = start
        self.tensors.put("source_encoders.0.embedding.table", tables[0])
        self.tensors.put("inputs.embedding.table", tables[1])
        weight = tables[1]
        if not self.tied:
            weight = rows[1](self.tensors.take("lm_head.weight", (sizes[1], self.size)))
        self.tensors.put("output.weight", weight)
        bias = self.tensors.take("final_logits_bias", (1, sizes[1]))[0]
        self.tensors.put("output.bias", rows[1].bias(bias))
        return not start.any()


def _search(path: Path) -> dict[str, Any]:
    """Beam search with the settings of `generation_config.json`, if they are there."""
    values: Any = {}
    if path.is_file():
        try:
            values = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{path}: not readable as JSON ({error})") from error
    values = values if isinstance(values, dict) else {}
    size, alpha = values.get("num_beams"), values.get("length_penalty")
    size = size if type(size) is int and 1 <= size <= 1000 else 6
    alpha = float(alpha) if type(alpha) in (int, float) and 0 <= alpha <= 10 else 1.0
    return {"kind": "beam", "size": size, "alpha": alpha}
