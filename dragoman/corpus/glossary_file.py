"""Files of terms: glossaries as TSV or CSV, and lists of terms that stay as they are."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.configuration.messages import shown
from dragoman.corpus import tables
from dragoman.corpus.naming import is_language, match
from dragoman.errors import UserError
from dragoman.files.reading import shown as file_shown
from dragoman.text.glossary import Glossary, Term
from dragoman.text.normalizer import Normalizer

HEADER = ["source", "target"]
SEPARATORS = {";": "semicolons", ",": "commas", "=": "=", "  ": "spaces"}
FORMS = "|"  # between forms in a column

_normalize = Normalizer(lowercase=False)


def read(path: Path, languages: Sequence[str] = ()) -> Glossary:
    """Read a TSV or CSV file: a term, its translation, and further forms of that, in columns or between `|`. A term
    without a translation, or whose translation is the same, stays as it is. A first line `source target`, or with two
    of these languages, is a header, in any letter case. UserError names the file and line of anything else.
    """
    return Glossary(_terms(path, languages, keep=False))


def read_kept(path: Path) -> Glossary:
    """Read a file of terms that stay as they are, one on each line. UserError as above."""
    return Glossary(_terms(path, (), keep=True))


def lines(terms: Iterable[Term]) -> Iterator[str]:
    """Yield the lines of a file that `read` reads."""
    yield "\t".join(HEADER)
    for term in terms:
        yield f"{term.source}\t{FORMS.join(term.forms)}"


def _terms(path: Path, languages: Sequence[str], *, keep: bool) -> list[Term]:
    terms, lines = list[Term](), dict[str, int]()
    rows = list(tables.rows(str(path)))
    if not keep and not tables.is_csv(str(path)):
        _check_tabs(path, [cells for _, cells in rows if any(cells)])
    for number, (line, cells) in enumerate(rows):
        place, columns = f"{file_shown(path)}:{line}", [_normalize(cell).strip() for cell in cells]
        if not any(columns) or (number == 0 and _is_header(columns, languages, place)):
            continue
        source, *targets = columns
        term = Term(source)
        _check(term, targets, place, cells, keep=keep, commas=tables.is_csv(str(path)))
        if term.key in lines:
            raise UserError(f"{place}: {shown(source)} is already in line {lines[term.key]}; add its forms there")
        lines[term.key] = line
        forms = tuple(dict.fromkeys(form.strip() for cell in targets for form in cell.split(FORMS) if form.strip()))
        terms.append(term._replace(forms=() if forms == (source,) else forms))
    return terms


def _check_tabs(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """UserError if something else than tabs seems to separate all terms of a file from their translations."""
    for mark, named in SEPARATORS.items() if all(len(cells) == 1 for cells in rows) else ():
        if rows and all(mark in cells[0].strip() for cells in rows):
            raise UserError(f"{file_shown(path)}: seems to be separated by {named}, expected tabs (or .csv and commas)")


def _is_header(columns: Sequence[str], languages: Sequence[str], place: str) -> bool:
    """Whether a first line names columns. UserError if they are those of another table."""
    names = [column.lower() for column in columns]
    if "probability" in names:
        raise UserError(f"{place}: a table of `dragoman dictionary`; use it with --dictionary, not as a glossary")
    two = names[:2]
    places = match(two, languages) if len(two) == 2 and all(map(is_language, two)) else (None,)
    if places == (1, 0) and len(languages) == 2:
        raise UserError(f"{place}: has {' before '.join(two)}, expected terms in {languages[0]} first")
    return two == HEADER or None not in places


def _check(term: Term, targets: Sequence[str], place: str, cells: list[str], *, keep: bool, commas: bool) -> None:
    """UserError for a row that is no term, or has a translation where none is expected."""
    row, mark = ",".join(cells) if commas else "\t".join(cells), "comma" if commas else "tab"
    if keep and any(targets):
        raise UserError(f"{place}: expected a term without translation, found {shown(row)}")
    for other, named in ((";", "semicolons"), ("\t", "tabs")) if commas and not targets and not keep else ():
        if other in row:
            raise UserError(f"{place}: seems to be separated by {named}, expected commas")
    if not term.findable:
        raise UserError(f"{place}: expected a term, a {mark} and its translation, found {shown(row)}")
