"""Plain text: its lines are translated."""

from collections.abc import Iterator

from dragoman.documents.document import EncodedText, File
from dragoman.documents.document_segment import DocumentSegment, Part


class Plain(EncodedText):
    """The lines of a file of text; what separates them stays."""

    def __init__(self, file: File) -> None:
        super().__init__(file, _parts(file.text))


def _parts(text: str) -> Iterator[Part]:
    for written in text.splitlines(keepends=True):
        line = DocumentSegment(written.strip(), raw=written.strip())
        if not line.worded:
            yield written
            continue
        before, _, after = written.partition(line.raw)
        yield from (before, line, after)
