"""Whatever bytes a file has, reading it gives lines or one UserError that names a line that is there."""

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.corpus import tables
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.pharaoh import read_gold
from dragoman.corpus.tables import header, languages, read_table
from dragoman.errors import UserError
from dragoman.files.reading import read_lines, read_words

PIECES = [
    *(b'en de \n \r \r\n \t , " {} [] \x00 \xef\xbb\xbf \xff \xc3 \xed\xa0\x80 0-0 1p2 1?1 : a'.split(b" ")),
    " \u2028 \u0085 \u00e4 \U0001f600".encode(),
    b'{"en": "a", "de": "b"}',
    b'{"en": "\\ud800", "de": ["x"]}',
    b'"a\n""b",c',
    b"en\tde\n",
    b"de,en,x\n",
]
BYTES = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3)), max_size=12).map(b"".join)
PATH = re.compile(r"x[.\w]*:(\d+): ")

WHOLE = (": has no ", ", expected text (")  # messages about all of a file

Read = Callable[[str], object]

READERS: dict[str, tuple[str, Read]] = {
    "lines": ("x.en", lambda path: [*read_lines(path)]),
    "cut lines": ("x.en", lambda path: [*read_lines(path, 2)]),
    "words": ("x.en", lambda path: [*read_words(path)]),
    "links": ("x.gold", read_gold),
    "links from 1": ("x.gold", lambda path: read_gold(path, one_based=True)),
}
OF_TABLES: dict[str, Read] = {
    "rows": lambda path: [*read_table(path, ("en", "de"))],
    "header": lambda path: header(path, ("en", "de")),
    "languages": languages,
    "columns": lambda path: languages(path, ("de", "en")),
}
for name in ("x.tsv", "x.csv", "x.jsonl"):
    READERS |= {f"{kind} of {name}": (name, read) for kind, read in OF_TABLES.items()}


def read_message(read: Read, path: Path) -> str | None:
    """The message, if reading fails."""
    try:
        read(str(path))
    except UserError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all examples, whose files are written anew for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "LONGEST_ROW", 40)
        yield tmp_path_factory.mktemp("fuzz")


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=BYTES, packed=st.sampled_from(["", ".gz"]))
def test_any_bytes_are_read_or_told_with_their_line(reader: str, packed: str, content: bytes, folder: Path) -> None:
    name, read = READERS[reader]
    path = folder / (name + packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    error = read_message(read, path)
    if error is not None:
        assert "\n" not in error
        if any(message in error for message in WHOLE):
            return
        place = PATH.search(error)
        assert place, error
        assert 1 <= int(place[1]) <= content.count(b"\n") + 1


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=BYTES)
def test_any_bytes_in_a_gz_are_told(content: bytes, folder: Path) -> None:
    (folder / "y.gz").write_bytes(content)
    error = read_message(lambda path: [*read_lines(path)], folder / "y")
    assert error is None or "y.gz: " in error


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]), max_size=5).filter(lambda t: "\0" not in t)] * 2)
    )
)
def test_what_csv_writes_is_read(rows: list[tuple[str, str]], folder: Path) -> None:
    """Ends of lines inside cells apart, which become spaces."""
    import csv

    with (folder / "z.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(("en", "de"))
        writer.writerows(rows)
    expected = [tuple(re.sub(r"\r*\n|\r+ ", " ", cell) for cell in row) for row in rows]
    pairs = read_pairs(folder / "z.csv", "en", "de")
    assert [tuple(re.sub(r"\r+ ", " ", cell) for cell in pair) for pair in pairs] == expected
