"""What a service has kept, as files that others read: TMX, and tables of training pairs."""

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from dragoman.documents.document_segment import remove_illegal_characters
from dragoman.serving.corrections import CorrectionEntry
from dragoman.version import __version__

MACHINE, OTHERWISE = "mt", "machine"  # the column with what a model had made, of a pair with Maltese the second


def tmx(entries: Iterable[CorrectionEntry]) -> Iterator[str]:
    """Yield the lines of a translation memory (TMX 1.4)."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
    yield (
        f'<header creationtool="dragoman" creationtoolversion={quoteattr(__version__)} segtype="sentence" '
        'o-tmf="dragoman" adminlang="en" srclang="*all*" datatype="plaintext"/>\n<body>\n'
    )
    for entry in entries:
        yield f"<tu{_attributes(entry)}>\n"
        named = {"x-machine": entry.correction.machine if not entry.model else "", "x-model": entry.model}
        for name, text in named.items():
            yield f'<prop type="{name}">{escape(remove_illegal_characters(text))}</prop>\n' if text else ""
        for language, text in zip(entry.pair, entry.correction[:2], strict=True):
            yield f"<tuv xml:lang={quoteattr(language)}><seg>{escape(remove_illegal_characters(text))}</seg></tuv>\n"
        yield "</tu>\n"
    yield "</body>\n</tmx>\n"


def _attributes(entry: CorrectionEntry) -> str:
    """When a unit was made, and by whom."""
    created = entry.created.replace("-", "").replace(":", "")
    author = entry.correction.author
    tool = ' creationtool="dragoman"' if entry.model else ""
    return f' creationdate="{created}"{tool}' + (
        f" creationid={quoteattr(remove_illegal_characters(author))}" if author else ""
    )


def fits_a_row(entry: CorrectionEntry) -> bool:
    """Whether no text of it has several lines."""
    return all(len(text.splitlines()) < 2 for text in entry.correction[:3])


def table(entries: Iterable[CorrectionEntry], pair: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a TSV with entries of a pair of languages that fit a row. The header has the languages, and
    `mt` for what a model had made; `machine` where `mt` is one of the languages.
    """
    yield "\t".join((*pair, OTHERWISE if MACHINE in pair else MACHINE)) + "\n"
    for entry in entries:
        if entry.pair == pair and fits_a_row(entry):
            source, correction, machine, _ = entry.correction
            yield "\t".join(" ".join(text.split()) for text in (source, correction, machine)) + "\n"
