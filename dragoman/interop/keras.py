"""Attentional models of Keras (Bahdanau et al. 2015, with keys and values of a dense layer): a bidirectional GRU, a GRU
that starts from 0, and `softmax(D [s_t; c_t] + d)`, as in netra-transliterate.

`h_j = P [f_j; b_j] + p` are keys and values. Here the values are `[f_j; b_j]`, and as weights of attention have the sum
1, `D_c c_t = D_c P c'_t + D_c p`. A GRU of Keras has its gates in the order z, r, h.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop import keras_file
from dragoman.interop.foreign_model import Array, ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.foreign_options import ForeignOptions
from dragoman.interop.foreign_text import RowOrder, build_side
from dragoman.interop.keras_file import CharacterTokenizer
from dragoman.interop.torch_layers import ENCODER, SCORE, TorchLayers
from dragoman.interop.vocabulary_files import ForeignVocabulary
from dragoman.text.tokenizer import SPACE, escape

SUFFIX: Final = ".keras"
START, END = "\t", "\n"  # as in Keras' own example of a model of characters
SEARCH: Final = {"kind": "beam", "size": 3, "normalization": "none"}
# The class of each layer, and the layers that it reads; the output is the first.
LAYERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "output": ("Dense", ("readout",)),
    "readout": ("Concatenate", ("decoder", "attention")),
    "attention": ("AdditiveAttention", ("decoder", "keys")),
    "keys": ("TimeDistributed", ("encoder",)),
    "encoder": ("Bidirectional", ("source",)),
    "decoder": ("GRU", ("target",)),
    "source": ("Embedding", ("source symbols",)),
    "target": ("Embedding", ("target symbols",)),
    "source symbols": ("InputLayer", ()),
    "target symbols": ("InputLayer", ()),
}
GRU: Final[dict[str, Any]] = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "reset_after": True,
    "return_sequences": True,
}
# Options that change the equations, with the only value that is supported.
EXPECTED: Final[dict[str, dict[str, Any]]] = {
    "output": {"activation": "softmax", "use_bias": True},
    "readout": {"axis": -1},
    "attention": {"use_scale": True},
    "encoder": {"merge_mode": "concat"},
    "encoder.layer": {**GRU, "go_backwards": False},
    "encoder.backward_layer": {**GRU, "go_backwards": True},
    "keys.layer": {"activation": "linear", "use_bias": True},
    "decoder": {**GRU, "go_backwards": False},
    "source": {"mask_zero": False},
    "target": {"mask_zero": False},
}


def find_model(source: Path) -> Path | None:
    """A file of this kind, or the only one of a folder; None if it is another one."""
    paths = sorted(source.glob(f"*{SUFFIX}")) if source.is_dir() else [source]
    return paths[0] if len(paths) == 1 and paths[0].suffix == SUFFIX else None


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a model, with the pickled tokenizers beside it. UserError names file, layer, key or tensor."""
    assets_file = _find_assets(path, reader_options.vocabularies)
    assets = keras_file.read_assets(assets_file)
    config, arrays = keras_file.read_archive(path)
    layers = KerasLayers(config, TensorMap(path, arrays))
    counts = [layers.options[side].number("input_dim") for side in ("source", "target")]
    foreign = (_vocabulary(assets_file, assets.source), _vocabulary(assets_file, assets.target, written=True))
    (source, source_rows), (target, target_rows) = (
        build_side(vocabulary, count, path, tokenizer="character", lowercase=tokenizer.lowercase, padded_length=length)
        for vocabulary, count, tokenizer, length in zip(
            foreign, counts, assets[:2], (assets.padded_length, None), strict=True
        )
    )
    layers.parameters((source_rows, target_rows), (counts[0], counts[1]))
    model = layers.configuration()
    return ForeignModel("Keras", (path, assets_file), model, SEARCH, source, target, layers.tensors.finish())


def _find_assets(path: Path, vocabularies: Sequence[Path]) -> Path:
    files = list(vocabularies) or sorted(path.parent.glob("*.pkl"))
    if len(files) != 1:
        raise UserError(f"{path.parent}: expected one file with tokenizers (.pkl), found {len(files)}; --vocabulary")
    return files[0]


def _vocabulary(path: Path, tokenizer: CharacterTokenizer, *, written: bool = False) -> ForeignVocabulary:
    """The symbols as ours spell them; those that are `written` begin with START and end with END."""
    places = {symbol: number for number, symbol in enumerate(tokenizer.symbols)}
    begin, end = (places.get(symbol) if written else None for symbol in (START, END))
    if written and (begin is None or end is None):
        raise UserError(f"{path}: expected the symbols {START!r} and {END!r} of the target")
    symbols = tuple(escape(symbol).replace(" ", SPACE) for symbol in tokenizer.symbols)
    return ForeignVocabulary(path, symbols, end, tokenizer.unknown, padding=0, begin=begin)


class KerasLayers:
    """Maps the layers of one model, by the places that they have in it."""

    def __init__(self, config: ForeignOptions, tensors: TensorMap) -> None:
        self.tensors = tensors
        self.options: dict[str, ForeignOptions] = {}  # by the names of LAYERS
        self._groups: dict[str, str] = {}  # where the tensors of a layer are
        self._arrange(config)
        for name, options in EXPECTED.items():
            layer, _, part = name.partition(".")
            section = self.options[layer]
            (section.section(part).section("config") if part else section).expect(options)
        encoder, backward, keys = (
            self.options[layer].section(part).section("config").number("units")
            for layer, part in (("encoder", "layer"), ("encoder", "backward_layer"), ("keys", "layer"))
        )
        self.states, self.size = encoder, self.options["decoder"].number("units")
        self.embedding, target = (self.options[side].number("output_dim") for side in ("source", "target"))
        for actual, wanted, where in (
            (backward, encoder, "units of the backward layer"),
            (keys, self.size, "units of the keys"),
            (target, self.embedding, "output_dim of the target"),
        ):
            if actual != wanted:
                raise UserError(f"{tensors.path}: {where}: expected {wanted}, found {actual}")

    def _arrange(self, config: ForeignOptions) -> None:
        """Follow the layers from the output to the inputs. UserError for a model of other layers."""
        model = config.section("config")
        layers = _layers(model)
        groups = _name_groups(layers)
        places = {"output": next(_read_layers(model.values.get("output_layers")), "")}
        for place, (kind, inputs) in LAYERS.items():
            name = places[place]
            layer = layers.get(name, ForeignOptions(config.path, {}))
            read = [*_read_layers(layer.values.get("inbound_nodes"))]
            if layer.values.get("class_name") != kind or len(read) != len(inputs):
                wanted = f"{kind} that reads {len(inputs)} layers"
                raise UserError(f"{config.path}: layer {name[:60]!r}: expected {wanted}, as the {place} of the model")
            for other, history in zip(inputs, read, strict=True):
                if places.setdefault(other, history) != history:
                    raise UserError(f"{config.path}: layer {name[:60]!r}: expected it to read {places[other][:60]!r}")
            self.options[place], self._groups[place] = layer.section("config"), groups[name]
        used = len({*places.values()})
        if not used == len(layers) == len(LAYERS):
            raise UserError(
                f"{config.path}: expected {len(LAYERS)} layers, found {len(layers)}, of which {used} are used"
            )

    def configuration(self) -> dict[str, Any]:
        """The section `model` of our configuration."""
        return {
            "source_end": False,
            "embedding": {"size": self.embedding, "tie": "none"},
            "encoder": {"kind": "rnn", "cell": "gru", "size": self.states, "layers": 1, "direction": "bidirectional"},
            "bridge": "zero",
            "attention": {"score": {"kind": "additive", "size": self.size}},
            "decoder": {
                "kind": "rnn",
                "cell": "gru",
                "size": self.size,
                "layers": 1,
                "attend": "after",
                "input_feeding": "none",
                "readout": "concat",
            },
        }

    def _take(self, layer: str, name: str, *shape: int) -> Array:
        return self.tensors.take(f"{self._groups[layer]}/{name}", shape).astype(np.float64)

    def _gru(self, ours: str, layer: str, part: str, size: int) -> None:
        kernel, recurrent, biases = (
            self._take(layer, f"{part}cell/vars/{number}", rows, 3 * size)
            for number, rows in enumerate((self.embedding, size, 2))
        )
        for name, tensor in (
            ("weight_input", kernel),
            ("weight_hidden", recurrent),
            ("bias_input", biases[0]),
            ("bias_hidden", biases[1]),
        ):
            update, reset, new = np.split(tensor, 3, -1)
            self.tensors.put(f"{ours}.{name}", np.concatenate([reset, update, new], -1).T)

    def parameters(self, rows: tuple[RowOrder, RowOrder], counts: tuple[int, int]) -> None:
        """Put all parameters; `counts` are the numbers of symbols."""
        size, states = self.size, 2 * self.states
        for number, part in enumerate(("forward_layer", "backward_layer")):
            self._gru(f"{ENCODER}.layers.0.{number}", "encoder", f"{part}/", self.states)
        self._gru("decoder.cells.0", "decoder", "", size)
        keys, bias = self._take("keys", "layer/vars/0", states, size), self._take("keys", "layer/vars/1", size)
        self.tensors.put(f"{SCORE}.query.weight", np.eye(size))
        self.tensors.put(f"{SCORE}.state.weight", keys.T)
        self.tensors.put(f"{SCORE}.state.bias", bias)
        self.tensors.put(f"{SCORE}.vector", self._take("attention", "vars/0", size))
        output = self._take("output", "vars/0", 2 * size, counts[1])
        of_state, of_context = output[:size], output[size:]
        weight = np.concatenate([of_state, keys @ of_context]).T
        tables = [
            self._take(side, "vars/0", count, self.embedding)
            for side, count in zip(("source", "target"), counts, strict=True)
        ]
        output_bias = self._take("output", "vars/1", counts[1]) + bias @ of_context
        TorchLayers(self.tensors).tables(rows, (tables[0], tables[1]), (weight, output_bias))


def _layers(model: ForeignOptions) -> dict[str, ForeignOptions]:
    """The layers of a configuration by name."""
    listed = model.values.get("layers")
    layers = {}
    for number, layer in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(layer, dict) or not isinstance(layer.get("name"), str):
            raise UserError(f"{model.path}: {model.prefix}layers: expected layers with names")
        layers[layer["name"]] = ForeignOptions(model.path, layer, f"{model.prefix}layers.{number}.")
    return layers


def _name_groups(layers: Mapping[str, ForeignOptions]) -> dict[str, str]:
    """Where the tensors of layers are: by class, numbered in the order of the configuration."""
    counts, groups = Counter[str](), {}
    for name, layer in layers.items():
        kind = re.sub("(?<=[a-z])(?=[A-Z])", "_", layer.text("class_name", "")).lower()
        groups[name] = f"{keras_file.TENSORS}{kind}" + (f"_{counts[kind]}" if counts[kind] else "")
        counts[kind] += 1
    return groups


def _read_layers(node: Any) -> Iterator[str]:
    """The names of layers that a layer reads, or that are outputs of a model: `[name, 0, 0]` anywhere inside."""
    waiting = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            if len(value) == 3 and isinstance(value[0], str) and value[1:] == [0, 0]:
                yield value[0]
            else:
                waiting.extend(reversed(value))
