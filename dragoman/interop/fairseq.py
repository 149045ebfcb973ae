"""Recurrent models of fairseq (Ott et al. 2019; `lstm`): a checkpoint, and `dict.LANGUAGE.txt` for each language.

The decoder starts from `</s>`, with linear maps of the states of the encoder, or these states themselves. A
dictionary has a symbol and its count on each line, after four that are not written.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.interop import checkpoint_pickle
from dragoman.interop.checkpoint_pickle import Holder
from dragoman.interop.foreign_model import ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.foreign_text import RowOrder, build_side
from dragoman.interop.luong_models import SEARCH, LuongModel, Names
from dragoman.interop.subword_files import CodesFolder
from dragoman.interop.vocabulary_files import ForeignVocabulary, check_symbols

SPECIALS: Final = ("<s>", "<pad>", "</s>", "<unk>")
BEST: Final = "checkpoint_best.pt"
ARCHITECTURES: Final = ("lstm", "lstm_wiseman_iwslt_de_en", "lstm_luong_wmt_en_de")
NAMES: Final = Names(
    "encoder.embed_tokens",
    "decoder.embed_tokens",
    "encoder.lstm.{}",
    "decoder.layers.LAYER.{}",
    "decoder.attention.output_proj",
)
OVERWRITE: Final = " #fairseq:overwrite"  # after a symbol that is also one of SPECIALS


def find_model(source: Path) -> Path | None:
    """The checkpoint of a folder with dictionaries, or a file beside them; None if it is another one."""
    folder = source if source.is_dir() else source.parent
    if not any(folder.glob("dict.*.txt")):
        return None
    if source.is_file():
        return source if source.suffix == ".pt" else None
    return checkpoint_pickle.choose(source, BEST)


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a checkpoint, with the dictionaries of its languages. UserError names file, tensor or option."""
    checkpoint = checkpoint_pickle.read(path)
    if not isinstance(checkpoint, Mapping):
        raise UserError(f"{path}: expected a checkpoint of fairseq")
    options = _options(checkpoint)
    if (architecture := options.get("arch")) not in ARCHITECTURES:
        raise UserError(f"{path}: arch: expected {' or '.join(ARCHITECTURES)}, found {str(architecture)[:60]}")
    tensors = TensorMap(path, checkpoint_pickle.arrays(path, checkpoint.get("model")))
    tensors.leave_out("encoder.version", "decoder.version")
    files = list(reader_options.vocabularies) or _dictionaries(path, options)
    foreign = [_read_dictionary(file) for file in (files[0], files[-1])]
    (source, source_rows), (target, target_rows) = (
        build_side(
            vocabulary,
            len(vocabulary.symbols),
            path.parent / "sentencepiece.bpe.model",
            segmentation=CodesFolder(path.parent, (language, file.suffixes[0].lstrip("."))),
        )
        for vocabulary, language, file in zip(foreign, reader_options.languages, (files[0], files[-1]), strict=True)
    )
    mapped = LuongModel(tensors, NAMES)
    sizes = (len(foreign[0].symbols), len(foreign[1].symbols))
    model = _parameters(mapped, (source_rows, target_rows), sizes)
    used = (path, *dict.fromkeys(files))
    return ForeignModel("fairseq", used, model, SEARCH, source, target, tensors.finish())


def _options(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of the model: `args` of old versions, `cfg.model` of new ones."""
    options, config = checkpoint.get("args"), checkpoint.get("cfg")
    if options is None and isinstance(config, Mapping):
        options = config.get("model")
    options = options.attributes if isinstance(options, Holder) else options
    return options if isinstance(options, Mapping) else {}


def _dictionaries(path: Path, options: Mapping[str, Any]) -> list[Path]:
    """The dictionaries of the languages that the options name, or of the only two."""
    names = [options.get(f"{side}_lang") for side in ("source", "target")]
    paths = [path.parent / f"dict.{name}.txt" for name in names if isinstance(name, str) and name.isidentifier()]
    if len(paths) == 2 and all(file.is_file() for file in paths):
        return paths
    listed = ", ".join(file.name for file in sorted(path.parent.glob("dict.*.txt")))
    raise UserError(f"{path.parent}: expected dictionaries of {names[0]} and {names[1]}, found {listed}; --vocabulary")


def _read_dictionary(path: Path) -> ForeignVocabulary:
    symbols = [*SPECIALS]
    for place, line in enumerate(read_lines(path), start=1):
        symbol, separator, count = line.rstrip().removesuffix(OVERWRITE).rpartition(" ")
        if not (separator and count.isdecimal()):
            raise UserError(f"{path}:{place}: expected a symbol and its count, found {line[:40]!r}")
        symbols.append(symbol)
    check_symbols(path, symbols)
    begin, padding, end, unknown = range(len(SPECIALS))
    return ForeignVocabulary(path, tuple(symbols), end, unknown, padding=padding, begin=begin)


def _parameters(mapped: LuongModel, rows: tuple[RowOrder, RowOrder], sizes: tuple[int, int]) -> dict[str, Any]:
    """Put all parameters; return the section `model` of our configuration."""
    tensors, embedding = mapped.tensors, mapped.embedding
    model = mapped.configuration({"kind": "bilinear"})
    mapped.parameters(model, has_bias=False)
    mapped.bilinear("decoder.attention.input_proj")
    bridge = "copy"
    if mapped.has("decoder.encoder_hidden_proj.weight"):
        bridge, shape = "layerwise", (mapped.sizes["decoder"], mapped.states)
        for number, part in enumerate(("hidden", "cell")):
            name = f"decoder.encoder_{part}_proj"
            mapped.layers.linear(f"bridge.projections.{number}", name, shape, has_bias=True)
    source = tensors.take(f"{NAMES.source_embedding}.weight", (sizes[0], embedding))
    target = tensors.take(f"{NAMES.target_embedding}.weight", (sizes[1], embedding))
    size, matrix, bias = mapped.sizes["decoder"], target, np.zeros(sizes[1])
    has_second = mapped.has("decoder.additional_fc.weight")
    width = mapped.shape("decoder.additional_fc.weight", 2)[0] if has_second else size
    if has_output := mapped.has("decoder.fc_out.weight"):
        matrix = tensors.take("decoder.fc_out.weight", (sizes[1], width))
        bias = tensors.take("decoder.fc_out.bias", (sizes[1],))
    if has_second:  # two linear maps are one
        second = tensors.take("decoder.additional_fc.weight", (width, size))
        bias = bias + matrix @ tensors.take("decoder.additional_fc.bias", (width,))
        matrix = matrix @ second
    mapped.layers.tables(rows, (source, target), (matrix, bias))
    tied = not (has_output or has_second)
    shared = sizes[0] == sizes[1] and np.array_equal(source, target)
    tie = {(True, True): "all", (True, False): "languages", (False, True): "output"}.get((shared, tied), "none")
    return {"start_symbol": "eos", "embedding": {"size": embedding, "tie": tie}, "bridge": bridge, **model}
