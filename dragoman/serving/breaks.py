"""Line breaks that clients write as tags in plain text."""

import re

from dragoman.documents.passages import Passage, split

BREAK = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)


def split_lines(text: str, language: str, *, sentences: bool) -> Passage:
    """Split a text as `split` does. `<br />` is a line break: Subtitle Edit writes the lines of subtitles so."""
    if not BREAK.search(text):
        return split(text, language, sentences=sentences)
    parts, between = list[str](), [""]
    for line, written in zip(BREAK.split(text), [*BREAK.findall(text), ""], strict=True):
        passage = split(line, language, sentences=sentences)
        between[-1] += passage.between[0]
        parts += passage.sentences
        between += passage.between[1:]
        between[-1] += written
    return Passage(tuple(parts), tuple(between))
