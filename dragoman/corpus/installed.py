"""Read the message catalogues of installed programs: a corpus without a download."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dragoman.corpus import catalogues, further_languages
from dragoman.corpus.naming import measure_distance
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
    """Return the catalogues of a language, which may name a region: as in gettext, what that lacks is of the language
    without it if there is more. If there is neither, they are of another region. If there are none, UserError names the
    languages with the most.
    """
    there = Counter(path.parent.parent.name for folder in where for path in folder.glob(f"*/{CATALOGUES}/*.mo"))
    if names := _choose(language, there):
        paths = [
            path for name in names for folder in where for path in sorted((folder / name / CATALOGUES).glob("*.mo"))
        ]
        own = {path.stem: path.parent.parent.name for path in reversed(paths)}  # the first name that has a domain
        return [path for path in paths if own[path.stem] == path.parent.parent.name]
    most = ", ".join(f"{name} ({count:,})" for name, count in there.most_common(10))
    if not there:
        raise UserError(f"no message catalogs in '{language}', nor in other languages, below XDG_DATA_DIRS")
    places = ", ".join(map(str, where))
    raise UserError(f"no message catalogs in '{language}' below {places}; most common languages: {most}")


def _choose(language: str, counts: Mapping[str, int]) -> list[str]:
    """Return the names of folders to read, given their numbers of catalogues, the best first."""
    distances = {name: measure_distance(language, name) for name in counts}
    ranked = sorted(
        (distance, name != language, -counts[name], name)
        for name, distance in distances.items()
        if distance is not None
    )
    same = [name for distance, *_, name in ranked if distance == 0]
    without_region = [name for distance, *_, name in ranked if distance == 1]
    if same and sum(counts[name] for name in same) >= sum(counts[name] for name in without_region):
        return same
    return [*same, *without_region] or [name for *_, name in ranked[:1]]


def describe_folders(language: str, paths: Iterable[Path]) -> str:
    """Return a line about the names of the folders that stand for a language; empty if that is the only one."""
    names = list(dict.fromkeys(path.parent.parent.name for path in paths))
    return f"catalogs in {' and '.join(names)} are read for {language}" if names != [language] else ""


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
