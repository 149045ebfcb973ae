"""The text of Hugging Face folders: vocabularies, codes of languages, and what stands before and after a text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from dragoman.configuration.messages import nearest
from dragoman.data.vocabulary import SPECIALS, UNK
from dragoman.errors import UserError
from dragoman.interop import vocabulary_files
from dragoman.interop.foreign_model import Side
from dragoman.interop.foreign_text import RowOrder, build_side
from dragoman.interop.huggingface_file import HuggingFaceOptions, read_json, read_optional_json
from dragoman.interop.subword_files import ByteMerges
from dragoman.interop.vocabulary_files import MOST_SYMBOLS, ForeignVocabulary
from dragoman.text.byte_level import check_merges

PADDING: Final = "<pad>"
FAIRSEQ: Final = ("<s>", "<pad>", "</s>", "<unk>")  # fairseq's first symbols, before those of the file
MASK: Final = "<mask>"


@dataclass(frozen=True)
class ModelFolder:
    """A folder, its keys, the vocabularies that the user named, and the source and target language."""

    path: Path
    options: HuggingFaceOptions
    vocabularies: Sequence[Path]
    languages: tuple[str, str]

    def file(self, *names: str) -> Path:
        """The vocabulary: the user's, or the first of these names that is there."""
        if len(self.vocabularies) > 1:
            raise UserError(f"--vocabulary: expected one file for both languages, found {len(self.vocabularies)}")
        files = [*self.vocabularies, *(path for name in names if (path := self.path / name).is_file())]
        if not files:
            raise UserError(f"{self.path}: expected {' or '.join(names)}, found no such file")
        return files[0]


class FolderText(NamedTuple):
    """The sides of a model, and the order of their rows in tables of symbols, with the number of symbols in each.

    The decoder starts with `start_symbol`, a choice of our configuration, then reads `target_prefix`. If `start` is
    not None, the vector of that symbol is that of `<s>`. `shared`: both sides have the same rows.
    """

    files: tuple[Path, ...]
    sides: tuple[Side, Side]
    rows: tuple[RowOrder, RowOrder]
    sizes: tuple[int, int]
    start_symbol: str = "bos"
    target_prefix: tuple[str, ...] = ()
    start: int | None = None
    shared: bool = True


def read_marian(folder: ModelFolder) -> FolderText:
    """MarianMT: `vocab.json` has the ids, `source.spm` and `target.spm` segment texts. The conversion from Marian
    appended `<pad>`, whose embedding is Marian's zero vector before the first symbol.
    """
    options, path = folder.options, folder.path
    files = list(folder.vocabularies) or [path / "vocab.json"]
    separate = not options.flag("share_encoder_decoder_embeddings", True)
    if separate and len(files) == 1 and (path / "target_vocab.json").is_file():
        files.append(path / "target_vocab.json")
    foreign = [vocabulary_files.read(file) for file in (files[0], files[-1])]
    sizes = (options.number("vocab_size"), options.number("decoder_vocab_size", "vocab_size"))
    (source, source_rows), (target, target_rows) = (
        build_side(vocabulary, size, path / f"{name}.spm", left_out=(PADDING,))
        for vocabulary, size, name in zip(foreign, sizes, ("source", "target"), strict=True)
    )
    start = options.number("pad_token_id", least=0)
    if start >= sizes[1]:
        raise options.refuse("pad_token_id", f"a number below {sizes[1]}")
    used = tuple(dict.fromkeys(files))
    return FolderText(used, (source, target), (source_rows, target_rows), sizes, start=start)


def read_m2m100(folder: ModelFolder) -> FolderText:
    """M2M100 and NLLB: both sides begin with the code of their language, which the decoder reads after `</s>`.

    M2M100 has the ids of its pieces in `vocab.json`; those of NLLB are the sentencepiece model's, as fairseq numbers
    them.
    """
    settings = read_optional_json(folder.path / "tokenizer_config.json")
    if settings.get("legacy_behaviour"):
        raise UserError(f"{folder.path / 'tokenizer_config.json'}: legacy_behaviour: expected false, found true")
    file = folder.file("vocab.json", "sentencepiece.bpe.model")
    vocabulary = vocabulary_files.read(file) if file.suffix == ".json" else _number_as_fairseq(file)
    return _prefix_codes(folder, *_with_codes(folder, vocabulary))


def read_mbart(folder: ModelFolder) -> FolderText:
    """mBART: in the model for 50 languages, codes are where those of M2M100 are. In the one for 25, the code of the
    source follows `</s>`, and the decoder starts with that of the target.
    """
    vocabulary, codes = _with_codes(folder, _number_as_fairseq(folder.file("sentencepiece.bpe.model")))
    if folder.options.values.get("decoder_start_token_id") == vocabulary.end:
        return _prefix_codes(folder, vocabulary, codes)
    code, target_code = _find_codes(folder, codes)
    size = folder.options.number("vocab_size")
    # The row of the code is that of our end symbol; `</s>` is then a symbol like others.
    last = vocabulary._replace(end=vocabulary.symbols.index(code))
    assert vocabulary.end is not None
    source, source_rows = build_side(last, size, vocabulary.path, suffix=[vocabulary.symbols[vocabulary.end]])
    target, target_rows = build_side(vocabulary, size, vocabulary.path)
    rows = (source_rows, target_rows)
    return FolderText((vocabulary.path,), (source, target), rows, (size, size), "prefix", (target_code,), shared=False)


def _prefix_codes(folder: ModelFolder, vocabulary: ForeignVocabulary, codes: Sequence[str]) -> FolderText:
    """One vocabulary for both sides, with a code before each, which a decoder reads after `</s>`."""
    size, segmenter = folder.options.number("vocab_size"), folder.path / "sentencepiece.bpe.model"
    code, target_code = _find_codes(folder, codes)
    source, rows = build_side(vocabulary, size, segmenter, prefix=[code])
    target, _ = build_side(vocabulary, size, segmenter)
    return FolderText((vocabulary.path,), (source, target), (rows, rows), (size, size), "eos", (target_code,))


def _number_as_fairseq(file: Path) -> ForeignVocabulary:
    """The pieces of a sentencepiece model after fairseq's first symbols, which take the place of its own three."""
    read = vocabulary_files.read(file)
    if read.symbols[:3] != ("<unk>", "<s>", "</s>"):
        raise UserError(f"{file}: expected the pieces <unk>, <s>, </s> first, found {', '.join(read.symbols[:3])[:60]}")
    return _name_specials(read._replace(symbols=(*FAIRSEQ, *read.symbols[3:])))


def _name_specials(vocabulary: ForeignVocabulary) -> ForeignVocabulary:
    """A vocabulary whose first symbols are fairseq's: the model has probabilities for all of them."""
    if vocabulary.symbols[:4] != FAIRSEQ:
        names = ", ".join(vocabulary.symbols[:4])
        raise UserError(f"{vocabulary.path}: expected the symbols {', '.join(FAIRSEQ)} first, found {names[:60]}")
    begin, padding, end, unknown = range(len(FAIRSEQ))
    return vocabulary._replace(begin=begin, padding=padding, end=end, unknown=unknown)


def _with_codes(folder: ModelFolder, vocabulary: ForeignVocabulary) -> tuple[ForeignVocabulary, tuple[str, ...]]:
    """The vocabulary with the symbols that follow those of its file, and the codes of languages among them."""
    vocabulary = _name_specials(vocabulary)
    numbered, symbols, first = _added_symbols(folder.path), list(vocabulary.symbols), len(vocabulary.symbols)
    if numbered:
        after = {number: name for number, name in numbered.items() if number >= first}
        symbols += [after.get(number, f"<unused {number}>") for number in range(first, max(after, default=first) + 1)]
        codes = tuple(name for name in after.values() if name != MASK)
    else:
        codes = _listed_codes(folder.path)
        symbols += [*codes, MASK]
    if not codes:
        raise UserError(f"{folder.path}: expected codes of languages in tokenizer.json, found none")
    return vocabulary._replace(symbols=tuple(symbols), silent=frozenset(symbols[first:])), codes


def _added_symbols(path: Path) -> dict[int, str]:
    """The numbered symbols that a tokenizer has beside those of its file."""
    listed = read_optional_json(path / "tokenizer.json").get("added_tokens", [])
    numbered = read_optional_json(path / "tokenizer_config.json").get("added_tokens_decoder", {})
    entries: list[Any] = listed if isinstance(listed, list) else []
    if isinstance(numbered, Mapping) and not entries:
        entries = [{"id": int(key), **value} for key, value in numbered.items() if key.isdecimal() and _is_map(value)]
    added = {}
    for entry in entries:
        number, name = (entry.get("id"), entry.get("content")) if _is_map(entry) else (None, None)
        if type(number) is not int or not 0 <= number < MOST_SYMBOLS or not isinstance(name, str):
            raise UserError(f"{path}: tokenizer.json: added_tokens: expected an id and a content, found {entry!s:.60}")
        added[number] = name
    return added


def _listed_codes(path: Path) -> tuple[str, ...]:
    """The codes of languages in the order of their ids, as older versions write them."""
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        listed = read_optional_json(path / name).get("additional_special_tokens")
        if isinstance(listed, list):
            names = [entry.get("content") if _is_map(entry) else entry for entry in listed]
            if not all(isinstance(code, str) for code in names):
                raise UserError(f"{path / name}: additional_special_tokens: expected a list of symbols")
            return tuple(code for code in names if code != MASK)
    return ()


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _find_codes(folder: ModelFolder, codes: Sequence[str]) -> tuple[str, str]:
    """The symbols of source and target language, such as `fra_Latn`, `fr_XX` or `__fr__`."""
    symbols = []
    for option, language in zip(("source", "target"), folder.languages, strict=True):
        code = next((name for name in (language, f"__{language}__") if name in codes), None)
        if code is None:
            plain = [name.strip("_") for name in codes]
            raise UserError(f"--{option}: the model has no language '{language}'; {nearest(language, plain)}")
        symbols.append(code)
    source, target = symbols
    return source, target


def read_t5(folder: ModelFolder) -> FolderText:
    """T5 and mT5: ids are those of `spiece.model`, and the decoder starts with `<pad>`. A source begins with the name
    of the task where the model has one for these languages (`translate English to German: `).
    """
    options = folder.options
    file = folder.file("spiece.model")
    vocabulary = vocabulary_files.read(file)
    if vocabulary.padding is None or options.values.get("decoder_start_token_id", 0) != vocabulary.padding:
        raise options.refuse("decoder_start_token_id", f"the number of {PADDING} in {file.name}")
    size = options.number("vocab_size")
    target, rows = build_side(vocabulary, size, file)
    pieces = target.text.tokenizer.encode(_task_prefix(folder).strip())
    prefix = [piece if piece in target.symbols else SPECIALS[UNK] for piece in pieces]
    source, _ = build_side(vocabulary, size, file, prefix=prefix)
    return FolderText((file,), (source, target), (rows, rows), (size, size), start=vocabulary.padding)


def _task_prefix(folder: ModelFolder) -> str:
    tasks = folder.options.values.get("task_specific_params")
    task = tasks.get("translation_{}_to_{}".format(*folder.languages)) if isinstance(tasks, Mapping) else None
    prefix = task.get("prefix") if isinstance(task, Mapping) else None
    return prefix if isinstance(prefix, str) else ""


def read_bart(folder: ModelFolder) -> FolderText:
    """BART: texts stand between `<s>` and `</s>`, and the decoder reads `<s>` after `</s>`. Words are spelled by pieces
    of bytes, of which `vocab.json` and `merges.txt`, or `tokenizer.json`, have the ids and the merges.
    """
    file = folder.file("vocab.json", "tokenizer.json")
    if file.name == "tokenizer.json":
        symbols, merges = _read_byte_level(file)
    else:
        symbols, merges = vocabulary_files.read(file).symbols, ByteMerges.read(file.with_name("merges.txt"))
    begin, padding, end, unknown = range(len(FAIRSEQ))
    vocabulary = ForeignVocabulary(file, symbols, end, unknown, padding=padding, begin=begin)
    vocabulary = _name_specials(vocabulary)
    size = folder.options.number("vocab_size")
    source, rows = build_side(vocabulary, size, file, prefix=FAIRSEQ[:1], segmentation=merges)
    target, _ = build_side(vocabulary, size, file, segmentation=merges)
    return FolderText((file,), (source, target), (rows, rows), (size, size), "eos", FAIRSEQ[:1])


def _read_byte_level(file: Path) -> tuple[tuple[str, ...], ByteMerges]:
    """The symbols and merges of a `tokenizer.json`."""
    tokenizer = read_json(file)
    model, words = tokenizer.get("model"), tokenizer.get("pre_tokenizer")
    numbers = model.get("vocab") if isinstance(model, Mapping) else None
    if not isinstance(model, Mapping) or not _is_byte_level(words) or not isinstance(numbers, Mapping):
        raise UserError(f"{file}: expected the vocabulary of byte-level BPE without a space before a text")
    entries = [(symbol, number, 0) for symbol, number in numbers.items() if type(number) is int]
    symbols = tuple(vocabulary_files.order_symbols(file, entries))
    try:
        return symbols, ByteMerges(file, check_merges(model.get("merges")))
    except ValueError as error:
        raise UserError(f"{file}: {error}") from error


def _is_byte_level(words: Any) -> bool:
    return isinstance(words, Mapping) and words.get("type") == "ByteLevel" and not words.get("add_prefix_space")


TEXTS: Final[Mapping[str, Callable[[ModelFolder], FolderText]]] = {
    "marian": read_marian,
    "m2m_100": read_m2m100,
    "mbart": read_mbart,
    "bart": read_bart,
    "t5": read_t5,
    "mt5": read_t5,
}
