"""Recurrent models of OpenNMT-py (Klein et al. 2017), versions 1 to 3: a file with weights, options and vocabularies.

Sources have no end symbol. The attention is `general`, `dot` or `mlp`; with `mlp`, the attentional vector has a bias
and no tanh.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop import checkpoint_pickle
from dragoman.interop.checkpoint_pickle import Holder
from dragoman.interop.foreign_model import ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.foreign_text import RowOrder, build_side
from dragoman.interop.luong_models import SEARCH, LuongModel, Names
from dragoman.interop.subword_files import CodesFolder
from dragoman.interop.torch_layers import SCORE
from dragoman.interop.vocabulary_files import ForeignVocabulary, check_symbols

ENCODERS: Final = ("rnn", "brnn")
START, END, UNKNOWN, PADDING = "<s>", "</s>", "<unk>", "<blank>"
NAMES: Final = {  # by whether the decoder reads its own output
    feeds: Names(
        "encoder.embeddings.make_embedding.emb_luts.0",
        "decoder.embeddings.make_embedding.emb_luts.0",
        "encoder.rnn.{}",
        "decoder.rnn.layers.LAYER.{}" if feeds else "decoder.rnn.{}_lLAYER",
        "decoder.attn.linear_out",
    )
    for feeds in (True, False)
}


def find_model(source: Path) -> Path | None:
    """A file of this kind, or the only one of a folder; None if it is another one."""
    paths = sorted(source.glob("*.pt")) if source.is_dir() else [source]
    is_model = len(paths) == 1 and paths[0].suffix == ".pt" and paths[0].is_file()
    return paths[0] if is_model and checkpoint_pickle.is_checkpoint(paths[0]) else None


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a model. UserError names file, tensor or option."""
    checkpoint = checkpoint_pickle.read(path)
    if not isinstance(checkpoint, Mapping) or not {"model", "generator", "vocab", "opt"} <= checkpoint.keys():
        raise UserError(f"{path}: expected a checkpoint of OpenNMT-py, with model, generator, vocab and opt")
    if reader_options.vocabularies:
        raise UserError("--vocabulary: a model of OpenNMT-py has its vocabularies in its file")
    _check_options(path, checkpoint["opt"])
    state = checkpoint_pickle.arrays(path, checkpoint["model"])
    generator = checkpoint_pickle.arrays(path, checkpoint["generator"])
    state |= {f"generator.{name.removeprefix('0.')}": tensor for name, tensor in generator.items()}
    tensors = TensorMap(path, state)
    foreign = [_vocabulary(path, checkpoint["vocab"], side) for side in ("src", "tgt")]
    (source, source_rows), (target, target_rows) = (
        build_side(
            vocabulary,
            len(vocabulary.symbols),
            path.parent / f"{side}.model",
            segmentation=CodesFolder(path.parent, (side, language)),
        )
        for vocabulary, side, language in zip(foreign, ("src", "tgt"), reader_options.languages, strict=True)
    )
    mapped = LuongModel(tensors, NAMES["decoder.rnn.layers.0.weight_hh" in state])
    sizes = (len(foreign[0].symbols), len(foreign[1].symbols))
    model = _parameters(mapped, (source_rows, target_rows), sizes)
    return ForeignModel("OpenNMT-py", (path,), model, SEARCH, source, target, tensors.finish())


def _check_options(path: Path, options: Any) -> None:
    values = options.attributes if isinstance(options, Holder) else options
    if not isinstance(values, Mapping):
        raise UserError(f"{path}: opt: expected options")
    for name in ("copy_attn", "coverage_attn", "context_gate"):
        if value := values.get(name):
            raise UserError(f"{path}: opt.{name}: expected none, found {str(value).lower()[:60]}")
    expected = {
        "encoder_type": ENCODERS,
        "decoder_type": ("rnn",),
        "global_attention_function": ("softmax",),
        "model_type": ("text",),
    }
    for name, choices in expected.items():
        if (value := values.get(name, choices[0])) not in choices:
            raise UserError(f"{path}: opt.{name}: expected {' or '.join(choices)}, found {str(value)[:60]}")


def _vocabulary(path: Path, vocabularies: Any, side: str) -> ForeignVocabulary:
    """The symbols of a side: those of version 3 are a list; before, they are in fields of torchtext."""
    entry = dict(vocabularies).get(side) if isinstance(vocabularies, list | Mapping) else None
    if isinstance(entry, Holder) and "fields" in entry.attributes:
        entry = entry.attributes["fields"][0][1]
    for name in ("vocab", "itos"):
        entry = entry.attributes.get(name, entry) if isinstance(entry, Holder) else entry
    if not isinstance(entry, list) or not all(isinstance(symbol, str) for symbol in entry):
        raise UserError(f"{path}: vocab: expected the symbols of {side}")
    places = check_symbols(path, entry)
    if UNKNOWN not in places or (side == "tgt" and END not in places):
        raise UserError(f"{path}: vocab: expected the symbols {UNKNOWN} and {END} of {side}")
    vocabulary = ForeignVocabulary(path, tuple(entry), places.get(END), places[UNKNOWN])
    return vocabulary._replace(padding=places.get(PADDING), begin=places.get(START))


def _parameters(mapped: LuongModel, rows: tuple[RowOrder, RowOrder], sizes: tuple[int, int]) -> dict[str, Any]:
    """Put all parameters; return the section `model` of our configuration."""
    tensors, size, states = mapped.tensors, mapped.sizes["decoder"], mapped.states
    is_additive = mapped.has("decoder.attn.linear_query.weight")
    is_bilinear = mapped.has("decoder.attn.linear_in.weight")
    kind = "additive" if is_additive else "bilinear" if is_bilinear else "dot"
    model = mapped.configuration({"kind": kind, **({"size": size} if is_additive else {})})
    model["decoder"]["readout"] = "linear" if is_additive else "tanh"
    mapped.parameters(model, has_bias=is_additive)
    if is_bilinear:
        mapped.bilinear("decoder.attn.linear_in")
    if is_additive:
        mapped.layers.matrix(f"{SCORE}.query", "decoder.attn.linear_query", (size, size))
        mapped.layers.matrix(f"{SCORE}.state", "decoder.attn.linear_context", (size, states))
        tensors.put(f"{SCORE}.state.bias", tensors.take("decoder.attn.linear_query.bias", (size,)))
        tensors.put(f"{SCORE}.vector", tensors.take("decoder.attn.v.weight", (1, size))[0])
    names = mapped.names
    source = tensors.take(f"{names.source_embedding}.weight", (sizes[0], mapped.embedding))
    target = tensors.take(f"{names.target_embedding}.weight", (sizes[1], mapped.embedding))
    output = (tensors.take("generator.weight", (sizes[1], size)), tensors.take("generator.bias", (sizes[1],)))
    mapped.layers.tables(rows, (source, target), output)
    shared, tied = (
        one.shape == other.shape and np.array_equal(one, other)
        for one, other in ((source, target), (target, output[0]))
    )
    tie = {(True, True): "all", (True, False): "languages", (False, True): "output"}.get((shared, tied), "none")
    return {
        "source_end": False,
        "embedding": {"size": mapped.embedding, "tie": tie},
        "bridge": _bridge(mapped, model["encoder"]["layers"]),
        **model,
    }


def _bridge(mapped: LuongModel, layers: int) -> Any:
    """The states of the encoder, or `relu(W v + b)` for parts v of the states of all layers, forward before backward:
    W has the size of the states of one direction.
    """
    tensors, size = mapped.tensors, mapped.sizes["encoder"]
    if not mapped.has("encoder.bridge.0.weight"):
        return "copy"
    directions = mapped.states // size
    if layers not in (1, directions):
        raise UserError(f"{tensors.path}: opt.bridge: expected false in a model of {layers} layers, found true")
    for number in range(2 if mapped.cell == "lstm" else 1):
        width = layers * size
        weight = tensors.take(f"encoder.bridge.{number}.weight", (width, width))
        bias = tensors.take(f"encoder.bridge.{number}.bias", (width,))
        parts = mapped.states // width  # of a layer
        tensors.put(f"bridge.projections.{number}.weight", np.kron(np.eye(parts), weight))
        tensors.put(f"bridge.projections.{number}.bias", np.tile(bias, parts))
    return {"kind": "layerwise", "activation": "relu"}
