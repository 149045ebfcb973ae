"""A model of Keras in plain numpy, and the files that hold it, made without Keras."""

import io
import json
import pickle
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.interop.marian_models import log_softmax, sigmoid

Vector = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]
EMBEDDING, STATES, SIZE, PADDED = 3, 4, 5, 9
LETTERS, WRITTEN = "abcde", "xyz \t\n"  # of the source and the target
GRU: dict[str, Any] = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "use_bias": True,
    "reset_after": True,
    "return_sequences": True,
    "go_backwards": False,
}


class Tokenizer:
    """As that of Keras: `<unk>` is number 1, and no symbol is number 0."""

    def __init__(self, symbols: str, **changed: Any) -> None:
        self.word_counts = OrderedDict.fromkeys(symbols, 1)
        self.word_docs: defaultdict[str, int] = defaultdict(int)
        self.num_words, self.char_level, self.lower, self.oov_token = None, True, True, "<unk>"
        self.word_index = {symbol: number for number, symbol in enumerate(["<unk>", *symbols], start=1)}
        vars(self).update(changed)

    def numbers(self, text: str) -> list[int]:
        return [self.word_index.get(letter, 1) for letter in text]


SOURCE, TARGET = Tokenizer(LETTERS), Tokenizer(WRITTEN)
COUNTS = (len(LETTERS) + 2, len(WRITTEN) + 2)


def tensors() -> Arrays:
    draw = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"embedding/vars/0": (COUNTS[0], EMBEDDING)}
    shapes |= {"embedding_1/vars/0": (COUNTS[1], EMBEDDING), "additive_attention/vars/0": (SIZE,)}
    for name, size in (
        ("bidirectional/forward_layer", STATES),
        ("bidirectional/backward_layer", STATES),
        ("gru", SIZE),
    ):
        rows = (EMBEDDING, size, 2)
        shapes |= {f"{name}/cell/vars/{number}": (count, 3 * size) for number, count in enumerate(rows)}
    shapes |= {"time_distributed/layer/vars/0": (2 * STATES, SIZE), "time_distributed/layer/vars/1": (SIZE,)}
    shapes |= {"dense/vars/0": (2 * SIZE, COUNTS[1]), "dense/vars/1": (COUNTS[1],)}
    return {f"layers/{name}": draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def step(symbol: Vector, hidden: Vector, kernel: Vector, recurrent: Vector, biases: Vector) -> Vector:
    """A GRU with `reset_after`: gates in the order z, r, h."""
    size = len(hidden)
    read, recurred = symbol @ kernel + biases[0], hidden @ recurrent + biases[1]
    update, reset = np.split(sigmoid(read[: 2 * size] + recurred[: 2 * size]), 2)
    new = np.tanh(read[2 * size :] + reset * recurred[2 * size :])
    after: Vector = update * hidden + (1 - update) * new
    return after


def log_probs(arrays: Arrays, source: str, target: str) -> list[float]:
    """Of the letters of a target, with an end. A source is padded, and padding is read and attended to."""
    w = {name.removeprefix("layers/"): array.astype(np.float64) for name, array in arrays.items()}
    cells = {
        name: [w[f"{name}/cell/vars/{number}"] for number in range(3)]
        for name in ("bidirectional/forward_layer", "bidirectional/backward_layer", "gru")
    }
    read = SOURCE.numbers(source.lower())
    embedded = w["embedding/vars/0"][read + [0] * (PADDED - len(read))]
    directions = []
    for name, inputs in (("bidirectional/forward_layer", embedded), ("bidirectional/backward_layer", embedded[::-1])):
        hidden, states = np.zeros(STATES), []
        for symbol in inputs:
            hidden = step(symbol, hidden, *cells[name])
            states.append(hidden)
        directions.append(np.array(states if name.endswith("forward_layer") else states[::-1]))
    keys = np.concatenate(directions, 1) @ w["time_distributed/layer/vars/0"] + w["time_distributed/layer/vars/1"]
    hidden, previous, logs = np.zeros(SIZE), TARGET.word_index["\t"], []
    for number in [*TARGET.numbers(target), TARGET.word_index["\n"]]:
        hidden = step(w["embedding_1/vars/0"][previous], hidden, *cells["gru"])
        weights = np.exp(log_softmax((w["additive_attention/vars/0"] * np.tanh(hidden + keys)).sum(1)))
        logits = np.concatenate([hidden, weights @ keys]) @ w["dense/vars/0"] + w["dense/vars/1"]
        logs.append(log_softmax(logits)[number].item())
        previous = number
    return logs


def layers() -> dict[str, dict[str, Any]]:
    """The layers of the configuration by name, in the order of Keras."""

    def layer(kind: str, config: dict[str, Any], *inputs: str) -> dict[str, Any]:
        history = [{"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}} for name in inputs]
        return {"class_name": kind, "config": config, "inbound_nodes": [{"args": history, "kwargs": {}}] * bool(inputs)}

    def inner(kind: str, **config: Any) -> dict[str, Any]:
        return {"class_name": kind, "config": config}

    encoder = {"layer": inner("GRU", **GRU, units=STATES)}
    encoder["backward_layer"] = inner("GRU", **{**GRU, "go_backwards": True}, units=STATES)
    embeddings = [{"input_dim": count, "output_dim": EMBEDDING, "mask_zero": False} for count in COUNTS]
    dense = inner("Dense", activation="linear", use_bias=True, units=SIZE)
    return {
        "input_layer": layer("InputLayer", {}),
        "input_layer_1": layer("InputLayer", {}),
        "embedding_8": layer("Embedding", embeddings[0], "input_layer"),
        "embedding_9": layer("Embedding", embeddings[1], "input_layer_1"),
        "both": layer("Bidirectional", {"merge_mode": "concat", **encoder}, "embedding_8"),
        "gru_7": layer("GRU", {**GRU, "units": SIZE}, "embedding_9"),
        "timed": layer("TimeDistributed", {"layer": dense}, "both"),
        "attention": layer("AdditiveAttention", {"use_scale": True, "dropout": 0.1}, "gru_7", "timed"),
        "concatenate": layer("Concatenate", {"axis": -1}, "gru_7", "attention"),
        "dense_13": layer("Dense", {"activation": "softmax", "use_bias": True, "units": COUNTS[1]}, "concatenate"),
    }


def hdf5(arrays: Arrays, **options: Any) -> bytes:
    h5py, file = import_module("h5py"), io.BytesIO()
    with h5py.File(file, "w") as weights:
        weights.create_dataset("optimizer/vars/0", data=np.int64(7))
        for name, array in arrays.items():
            weights.create_dataset(name, data=array, **options)
    return file.getvalue()


def write(
    folder: Path,
    arrays: Arrays,
    changed: Mapping[str, dict[str, Any]] | None = None,
    weights: bytes | None = None,
    assets: Any = None,
) -> Path:
    """A folder as netra-transliterate has it: an archive, and a pickle of tokenizers and lengths."""
    folder.mkdir(exist_ok=True)
    entries = [{**layer, "name": name} for name, layer in (layers() | dict(changed or {})).items()]
    config = {"class_name": "Functional", "config": {"layers": entries, "output_layers": [["dense_13", 0, 0]]}}
    with zipfile.ZipFile(folder / "model.keras", "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.10.0"}')
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", hdf5(arrays) if weights is None else weights)
    if assets is None:
        assets = {"source_tokenizer": SOURCE, "target_tokenizer": TARGET, "max_source": PADDED, "max_target": 8}
    (folder / "assets.pkl").write_bytes(pickle.dumps(assets))
    return folder
