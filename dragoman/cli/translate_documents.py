"""Translating a document, in place of lines."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath

import typer

from dragoman.cli.progress_bar import sentences as progress
from dragoman.cli.sources import languages
from dragoman.cli.streams import Portion, tell
from dragoman.corpus import formats
from dragoman.corpus.features import Given
from dragoman.corpus.further_languages import read_texts
from dragoman.corpus.naming import CONTEXT, is_language, is_name
from dragoman.corpus.translation_memory import FuzzyMemory
from dragoman.documents import table
from dragoman.documents.document import Document, File
from dragoman.documents.passages import Passage, split_text
from dragoman.documents.translated import TranslatedSentence, TranslatedText
from dragoman.errors import UserError
from dragoman.files.reading import read_chunks, shown
from dragoman.files.writing import write_atomically
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator

PACKED = ".gz"
# Endings of files that are translated line by line; columns are several sources.
LINES = (".txt", ".txt.gz", ".tsv", ".tsv.gz")
# Others of texts with one sentence per line, beside names of languages and of sides of a corpus: its parts, and how it
# was processed.
TEXTS = frozenset(
    "text lines sents snt train valid dev devtest test raw clean norm tok tc lc true bpe sp spm out sys nbest".split()
)
_NUMBER = re.compile(r"\d+[a-z]?")  # of a part, or a size: 00, 2016, 32k
_NO_LANGUAGES = frozenset({"ts"})  # codes of languages that files of programs end in far more often
MOST = 64  # sentences that are translated at a time

Read = str | tuple[str, ...]  # a sentence, or one of each source
Translate = Callable[[Portion[tuple[Given, ...]]], Sequence[Translation]]


def is_document(source: Path, runs: Sequence[Path]) -> bool:
    """Whether the file is a document that is not made of lines. UserError for a corpus in another format, and for a
    file that is neither a document of a known format nor named as lines of text are, which may also end in a name of
    the runs' languages.
    """
    name = str(source).lower()
    if name.endswith(LINES):
        return False
    formats.check_template(str(source))
    suffix = PurePath(name.removesuffix(PACKED)).suffix
    if suffix in table.FORMATS:
        return True
    if name.endswith(formats.ENDINGS):
        raise UserError(f"{source}: is neither a text with one sentence per line nor a supported document")
    if not source.is_file() or _names_lines(suffix[1:]) or suffix[1:] in map(str.lower, languages(runs)):
        return False
    raise UserError(
        f"{shown(source)}: is not a supported document format; if it has one sentence per line, rename it to .txt"
    )


def _names_lines(ending: str) -> bool:
    """Whether files with this ending are text of one sentence per line."""
    if not ending or ending in TEXTS or _NUMBER.fullmatch(ending) or is_name(ending):
        return ending not in _NO_LANGUAGES
    return is_language(ending)


def fill(
    path: Path,
    target: Path | None,
    translator: Translator,
    to: str | None,
    translate: Translate,
    *,
    exact: bool = False,
) -> None:
    """Write a document with its texts translated. `translate` translates some sentences. `exact`: a text that the
    translation memory has is not split.
    """
    if target is not None and target.name.lower().endswith(PACKED):
        raise UserError(f"{target}: documents are written uncompressed; name the file without {PACKED}")
    names = (
        ("source", to or translator.targets[0])
        if translator.marks
        else (translator.user_sources[0].name, translator.target.name)
    )
    name = shown(path)[: -len(PACKED)] if shown(path).lower().endswith(PACKED) else shown(path)
    kind = table.format_of(name)
    document = table.document(File(name, b"".join(read_chunks(str(path))), names))
    if target is None and kind.binary:
        raise UserError(f"{shown(path)}: documents require an output file (-o FILE)")
    passages = _split(document, kind, _further(document, path, translator, names), names[0])
    if exact and (translation_memory := translator.processor.model_inputs.translation_memory):
        passages = [_as_remembered(passage, translation_memory.memory) for passage in passages]
    translations = iter(_translated([read for passage in passages for read in passage.read], translate))
    done = [TranslatedText(passage, tuple(next(translations) for _ in passage.sentences)) for passage in passages]
    written = document.written(done)
    if target is None or str(target) == "-":
        typer.echo(written, nl=False)
    else:
        with write_atomically(target, "wb") as file:
            file.write(written)
    complete, count = document.count(done)
    tell(f"{shown(path)}: {complete:,} of {count:,} {kind.done}")


def _further(document: Document, path: Path, translator: Translator, names: tuple[str, str]) -> list[Sequence[str]]:
    """Return the texts of the document in the run's further languages, from the catalogues beside it. UserError if
    there are none for its format, or the run reads anything but languages.
    """
    further = translator.user_sources[1:]
    texts: list[Sequence[str] | None] = []
    for name in (source.name for source in further):
        if name == CONTEXT:
            texts.append(document.contexts)
        elif is_language(name):
            texts.append(document.further_texts(read_texts(str(path), names[1], name)))
        else:
            texts.append(None)
    if None in texts:
        raise UserError(f"{shown(path)}: contains one source, but the run expects {len(further) + 1}")
    return [own for own in texts if own is not None]


def _split(
    document: Document, kind: table.DocumentFormat, further: Sequence[Sequence[str]], language: str
) -> list[Passage]:
    """Return what a model reads of each text. In further languages, a text that has not as many lines is missing."""
    passages = [split_text(line.text, language, sentences=kind.prose) for line in document.lines]
    if not further:
        return passages
    return [
        _with_further(passage, [split_text(text, language, sentences=kind.prose).sentences for text in texts])
        for passage, texts in zip(passages, zip(*further, strict=True), strict=True)
    ]


def _with_further(passage: Passage, further: Sequence[Sequence[str]]) -> Passage:
    count = len(passage.sentences)
    columns = [sentences if len(sentences) == count else ("",) * count for sentences in further]
    return passage._replace(rows=tuple(zip(passage.sentences, *columns, strict=True)))


def _as_remembered(passage: Passage, memory: FuzzyMemory) -> Passage:
    """The text as one sentence, if the memory has it as a whole."""
    whole = passage.whole
    if len(passage.sentences) < 2 or memory.exact(whole.sentences[0]) is None:
        return passage
    further = len(passage.rows[0]) - 1 if passage.rows else 0
    return whole._replace(rows=((whole.sentences[0], *[""] * further),) if further else ())


def _translated(sentences: Sequence[Read], translate: Translate) -> list[TranslatedSentence]:
    """Translate sentences, each different one once."""
    texts = list(dict.fromkeys(sentences))
    translations: dict[Read, Translation] = {}
    with progress(len(texts)) as advance:
        for first in range(0, len(texts), MOST):
            portion = texts[first : first + MOST]
            translated = translate(Portion(first + 1, [(text,) if isinstance(text, str) else text for text in portion]))
            translations |= zip(portion, translated, strict=True)
            advance(len(portion))
    return [TranslatedSentence(translations[text].text.strip(), translations[text]) for text in sentences]
