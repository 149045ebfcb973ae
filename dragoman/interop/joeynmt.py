"""JoeyNMT's models (Kreutzer et al. 2019): recurrent ones and Transformers.

A folder has `config.yaml`, checkpoints (`best.ckpt`), `src_vocab.txt` and `trg_vocab.txt`, with a symbol per line.
"""

from pathlib import Path
from typing import Any, Final

from dragoman.configuration import yaml_lines
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.interop import checkpoint_pickle
from dragoman.interop.foreign_model import ForeignModel, ReaderOptions, Side, TensorMap
from dragoman.interop.foreign_options import ForeignOptions
from dragoman.interop.foreign_text import RowOrder, build_side
from dragoman.interop.joeynmt_models import MODELS
from dragoman.interop.subword_files import CodesFolder
from dragoman.interop.vocabulary_files import ForeignVocabulary, check_symbols
from dragoman.text.tokenizer import SPACE

CONFIG: Final = "config.yaml"
BEST: Final = "best.ckpt"
SPECIALS: Final = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
LEVELS: Final = {"word": "word", "bpe": "word", "char": "character"}  # our tokenizers, where there is no other file


def find_model(source: Path) -> Path | None:
    """The checkpoint of a folder, or a file of this kind; None if it is another one. UserError if there are several."""
    if source.is_file():
        return source if source.suffix == ".ckpt" and (source.parent / CONFIG).is_file() else None
    if not (source / CONFIG).is_file():
        return None
    return checkpoint_pickle.choose(source, BEST)


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a checkpoint, with the configuration beside it. UserError names file, tensor or key."""
    folder, config = path.parent, _read_config(path.parent / CONFIG)
    model, data = config.section("model"), config.section("data")
    files = [*reader_options.vocabularies] or [folder / f"{side}_vocab.txt" for side in ("src", "trg")]
    foreign = [_read_vocabulary(file, data.section("special_symbols")) for file in (files[0], files[-1])]
    checkpoint = checkpoint_pickle.read(path)
    state = checkpoint.get("model_state") if isinstance(checkpoint, dict) else None
    tensors = TensorMap(path, checkpoint_pickle.arrays(path, state))
    (source, source_rows), (target, target_rows) = (
        _build_side(vocabulary, data.section(side), CodesFolder(folder, (side, language)))
        for vocabulary, side, language in zip(foreign, ("src", "trg"), reader_options.languages, strict=True)
    )
    sizes = (len(foreign[0].symbols), len(foreign[1].symbols))
    kind = model.section("encoder").choice("type", tuple(MODELS), "recurrent")
    model.section("decoder").choice("type", (kind,), "recurrent")
    mapped = MODELS[kind](model, tensors, sizes)
    section = mapped.configuration()
    mapped.parameters(section)
    mapped.tables((source_rows, target_rows))
    used = (path, folder / CONFIG, *dict.fromkeys(files))
    return ForeignModel("JoeyNMT", used, section, _search(config), source, target, tensors.finish())


def _read_config(path: Path) -> ForeignOptions:
    document = yaml_lines.read("\n".join(read_lines(path)), str(path))
    if document.faults or not isinstance(document.value, dict):
        fault = document.faults[0] if document.faults else None
        raise UserError(f"{fault.place.text if fault else path}: {fault.message if fault else 'expected options'}")
    return ForeignOptions(path, document.value)


def _read_vocabulary(path: Path, options: ForeignOptions) -> ForeignVocabulary:
    symbols = [line.rstrip("\r\n") for line in read_lines(path)]
    places = check_symbols(path, symbols)
    ids = {}
    for name, default in SPECIALS.items():
        symbol = options.text(f"{name}_token", default)
        if symbol not in places:
            raise UserError(f"{path}: expected the symbol {symbol[:40]!r}, found {len(symbols):,} others")
        ids[name] = places[symbol]
    return ForeignVocabulary(path, tuple(symbols), ids["eos"], ids["unk"], padding=ids["pad"], begin=ids["bos"])


def _build_side(vocabulary: ForeignVocabulary, options: ForeignOptions, codes: CodesFolder) -> tuple[Side, RowOrder]:
    """The text of one side, and the order of its rows."""
    level = LEVELS[options.choice("level", tuple(LEVELS), "word")]
    # Version 1 has the space itself, version 2 our symbol for it.
    symbols = tuple(symbol.replace(" ", SPACE) for symbol in vocabulary.symbols) if level == "character" else ()
    vocabulary = vocabulary._replace(symbols=symbols or vocabulary.symbols)
    tokenizer = options.section("tokenizer_cfg")
    segmenter = codes.path / Path(tokenizer.text("model_file", "sentencepiece.model")).name
    names = filter(None, (Path(tokenizer.text("codes", "")).name, options.text("lang", ""), *codes.names))
    # Version 1 reads texts whose words are split already; the tokenizer of version 2 says how it splits them.
    splits = bool(tokenizer.values)
    between_spaces = splits and tokenizer.text("pretokenizer", "none") != "moses"
    codes = codes._replace(names=tuple(names), between_spaces=between_spaces, split_unknown=splits)
    lowercase = options.flag("lowercase", False)
    return build_side(
        vocabulary, len(vocabulary.symbols), segmenter, tokenizer=level, lowercase=lowercase, segmentation=codes
    )


def _search(config: ForeignOptions) -> dict[str, Any]:
    """The search of the configuration, with GNMT's length penalty."""
    testing = config.section("testing")
    size, alpha = testing.number("beam_size", default=5), testing.values.get("beam_alpha", testing.values.get("alpha"))
    ranked: dict[str, Any] = {"normalization": "none"}
    if isinstance(alpha, int | float) and not isinstance(alpha, bool) and 0 < alpha <= 10:
        ranked = {"normalization": "gnmt", "alpha": float(alpha)}
    return {"kind": "beam", "size": min(size, 1000), **ranked}
