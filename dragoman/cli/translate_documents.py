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
from dragoman.corpus.naming import is_language, is_name
from dragoman.corpus.translation_memory import FuzzyMemory
from dragoman.documents import table
from dragoman.documents.document import File
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
    if len(translator.user_sources) > 1:
        raise UserError(f"{shown(path)}: contains one source, but the run expects {len(translator.user_sources)}")
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
    passages = [split_text(line.text, names[0], sentences=kind.prose) for line in document.lines]
    if exact and (translation_memory := translator.processor.model_inputs.translation_memory):
        passages = [_as_remembered(passage, translation_memory.memory) for passage in passages]
    translations = iter(_translated([sentence for passage in passages for sentence in passage.sentences], translate))
    done = [TranslatedText(passage, tuple(next(translations) for _ in passage.sentences)) for passage in passages]
    written = document.written(done)
    if target is None or str(target) == "-":
        typer.echo(written, nl=False)
    else:
        with write_atomically(target, "wb") as file:
            file.write(written)
    tell(f"{shown(path)}: {sum(passage.complete for passage in done):,} of {len(done):,} {kind.done}")


def _as_remembered(passage: Passage, memory: FuzzyMemory) -> Passage:
    """The text as one sentence, if the memory has it as a whole."""
    several = len(passage.sentences) > 1
    return passage.whole if several and memory.exact(passage.whole.sentences[0]) is not None else passage


def _translated(sentences: Sequence[str], translate: Translate) -> list[TranslatedSentence]:
    """Translate sentences, each different one once."""
    texts = list(dict.fromkeys(sentences))
    translations: dict[str, Translation] = {}
    with progress(len(texts)) as advance:
        for first in range(0, len(texts), MOST):
            portion = texts[first : first + MOST]
            translated = translate(Portion(first + 1, [(text,) for text in portion]))
            translations |= zip(portion, translated, strict=True)
            advance(len(portion))
    return [TranslatedSentence(translations[text].text.strip(), translations[text]) for text in sentences]
