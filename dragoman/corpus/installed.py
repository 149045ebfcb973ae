"""Read the message catalogues of installed programs: a corpus without a download."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dragoman.corpus import catalogues, further_languages
from dragoman.corpus.translation_unit import TranslationUnit
from dragoman.errors import UserError

ENGLISH = "en"  # the usual language of untranslated messages
DATA = "/usr/local/share:/usr/share"  # the default of XDG_DATA_DIRS
CATALOGUES = "LC_MESSAGES"


def folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders `locale*` below the folders of shared data; each has a subfolder per language."""
    places = dict.fromkeys((environment.get("XDG_DATA_DIRS") or DATA).split(":"))
    return [folder for place in places if place for folder in sorted(Path(place).glob("locale*")) if folder.is_dir()]


def find(language: str, where: Sequence[Path]) -> list[Path]:
    """Return the catalogues of a language. If there are none, UserError names the languages with the most."""
    paths = [path for folder in where for path in sorted((folder / language / CATALOGUES).glob("*.mo"))]
    if paths:
        return paths
    there = Counter(path.parent.parent.name for folder in where for path in folder.glob(f"*/{CATALOGUES}/*.mo"))
    most = ", ".join(f"{name} ({count:,})" for name, count in there.most_common(10))
    if not there:
        raise UserError(f"no message catalogs in '{language}', nor in other languages, below XDG_DATA_DIRS")
    places = ", ".join(map(str, where))
    raise UserError(f"no message catalogs in '{language}' below {places}; most common languages: {most}")


def read(
    paths: Iterable[Path], damaged: list[str], language: str = "", also: Sequence[str] = ()
) -> Iterator[tuple[str, TranslationUnit]]:
    """Yield the messages of all catalogues, each with its domain; those of a `language` with the texts of the languages
    in `also`. Catalogues that cannot be read are left out, since users cannot mend them; what is wrong with each is
    appended to `damaged`.
    """
    for path in paths:
        try:
            units = list(catalogues.units(catalogues.open_catalogue(str(path))))
        except UserError as error:
            damaged.append(str(error))
            continue
        try:
            units = list(catalogues.put_numbers(further_languages.add(iter(units), str(path), language, also)))
        except UserError as error:  # a catalogue beside it
            damaged.append(str(error))
            blank = ("",) * len(also)
            units = [unit._replace(texts=(unit.texts[0], *blank, unit.texts[-1])) for unit in units]
        yield from ((path.stem, unit) for unit in units)


def left_out(damaged: Sequence[str], paths: Sequence[Path]) -> str:
    """Return a line about the catalogues that cannot be read; empty if there are none."""
    return f"{len(damaged):,} of {len(paths):,} catalogs were skipped: {'; '.join(damaged)}" if damaged else ""


def owners(paths: Iterable[Path], lists: Path = Path("/var/lib/dpkg/info")) -> dict[str, str]:
    """Return the package of each domain that dpkg knows."""
    wanted = {os.path.abspath(path): path.stem for path in paths}
    packages: dict[str, str] = {}
    for file_list in sorted(lists.glob("*.list")):
        for line in file_list.read_text("utf-8", errors="replace").split("\n"):
            if line.endswith(".mo") and line in wanted:
                packages.setdefault(wanted[line], file_list.stem.partition(":")[0])
    return packages


def table(
    counts: Mapping[str, int], packages: Mapping[str, str], rows: int, docs: Path = Path("/usr/share/doc")
) -> str:
    """Return a table of the domains with the most pairs, at most `rows`, each with the license file of its package."""
    lines = []
    for domain, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:rows]:
        package = packages.get(domain, "")
        license_file = docs / package / "copyright" if package else None
        where = str(license_file) if license_file and license_file.is_file() else "license not found"
        lines.append(f"{domain:<36}{count:>12,}  {where}")
    if len(counts) > rows:
        rest = sum(counts.values()) - sum(sorted(counts.values(), reverse=True)[:rows])
        lines.append(f"{f'{len(counts) - rows:,} more':<36}{rest:>12,}  --rows N shows more")
    return "\n".join(lines)
