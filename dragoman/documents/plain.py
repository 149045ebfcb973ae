"""Plain text: its lines are translated."""

from collections.abc import Iterator, Sequence

from dragoman.documents.document import File, Text
from dragoman.documents.line import Line, Part
from dragoman.documents.translated import Translated


class Plain(Text):
    """The lines of a file of text; what separates them stays."""

    def __init__(self, file: File) -> None:
        self._file = file
        super().__init__(_parts(file.text))

    def written(self, translated: Sequence[Translated]) -> bytes:
        return self._file.encoded(self.text(translated))


def _parts(text: str) -> Iterator[Part]:
    for written in text.splitlines(keepends=True):
        line = Line(written.strip(), raw=written.strip())
        if not line.worded:
            yield written
            continue
        before, _, after = written.partition(line.raw)
        yield from (before, line, after)
