"""`dragoman corpus`: pairs from the files that people have, or from the programs of this machine."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts, Requires
from dragoman.cli.options import Also, Columns, command
from dragoman.cli.streams import one_line, tell
from dragoman.corpus.cleaning import Cleaner, Rules
from dragoman.corpus.naming import CONTEXT, with_further, without_texts
from dragoman.errors import UserError
from dragoman.text.normalizer import printable

if TYPE_CHECKING:
    from dragoman.corpus.parts import PairWithOrigin
    from dragoman.corpus.translation_unit import TranslationUnit

ROWS = 20  # domains that are listed
SEED = 1


class CorpusOptions(NamedTuple):
    """What `dragoman corpus` takes."""

    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Bilingual files (.tsv .csv .jsonl .json .po .mo .tmx .xliff .xlf .parquet), "
            "locales/{}.json (or the two files that it stands for), or prefixes of two text files "
            "(data/train for data/train.en and data/train.de).",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PREFIX",
            callback=outputs.prefix,
            help="Writes PREFIX.tsv; with --dev or --test, one file per part, such as PREFIX.dev.tsv.",
        ),
    ] = None
    columns: Annotated[Columns, Conflicts("--installed")] = None
    also: Also = None
    installed: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Read the message catalogs installed on this machine, from English, instead of FILES.",
        ),
    ] = None
    rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of domains to list with --installed.", show_default="20"),
        Requires("--installed"),
    ] = None
    dev: Annotated[int, typer.Option(min=0, metavar="N", help="Number of pairs in PREFIX.dev.tsv.")] = 0
    test: Annotated[int, typer.Option(min=0, metavar="N", help="Number of pairs in PREFIX.test.tsv.")] = 0
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed of the split.", show_default="1"), Requires("--dev", "--test")
    ] = None
    group_near_duplicates: Annotated[
        bool,
        typer.Option(
            "--group-near-duplicates",
            help="Put sources that differ only in case, numbers, punctuation and placeholders into the same part.",
        ),
        Requires("--dev", "--test"),
    ] = False
    longest: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of characters per text.")] = 1_000
    drop_copies: Annotated[
        bool, typer.Option("--drop-copies", help="Exclude pairs whose target equals the source.")
    ] = False
    keep_accelerators: Annotated[
        bool, typer.Option("--keep-accelerators", help="Keep keyboard accelerators: _File, &File, (_F).")
    ] = False


@command(epilog="Example: dragoman corpus de.po memory.tmx --columns en,de -o corpus --dev 500 --test 500")
def corpus(options: CorpusOptions) -> None:
    """Build one clean corpus from files in many formats or from installed programs; split off dev and test sets."""
    if bool(options.files) == bool(options.installed):
        raise typer.BadParameter("expected FILES, or --installed LANGUAGE")
    if options.output is None and (options.files or options.dev or options.test):
        raise typer.BadParameter("expected --output PREFIX")
    from dragoman.corpus import parts

    cleaner = Cleaner(Rules(options.longest, options.drop_copies, options.keep_accelerators))
    if options.installed is not None:
        _installed(options, language(options.installed), cleaner)
        return
    from dragoman.corpus.examples import corpus_files
    from dragoman.corpus.formats import corpora

    places, pair, _ = corpora(options.files or [], options.columns or ())
    names = with_further(pair[0], options.also or (), pair[1])
    columns = without_context(names)
    further = FurtherCounts(columns)

    def rows() -> "Iterator[PairWithOrigin]":
        yield from further.counted(cleaned(cleaner, read_units(places, names)))
        cleaner.check()
        further.check(", ".join(places))

    _write(options, rows(), columns, parts.FILE, corpus_files(places, *names))
    typer.echo(f"{cleaner}{further}")


def language(installed: str) -> str:
    """Return the language that --installed names."""
    if Path(installed).name != installed:
        raise typer.BadParameter(f"--installed {installed}: expected a language such as de, from English")
    return installed


def _installed(options: CorpusOptions, language: str, cleaner: "Cleaner") -> None:
    """Write the catalogues of this machine if there is an --output, and list their domains."""
    from dragoman.corpus import installed, parts

    names = without_context(with_further(installed.ENGLISH, options.also or (), language))
    paths, further = installed.find(language, installed.folders(os.environ)), FurtherCounts(names)
    if other_names := installed.describe_folders(language, paths):
        tell(other_names)
    counts = Counter[str]()
    damaged: list[str] = []

    def rows() -> "Iterator[PairWithOrigin]":
        units = installed.read(paths, damaged, language, names[1:-1])
        for row in further.counted(cleaned(cleaner, units)):
            counts[row.origin] += 1
            yield row
        if damaged:
            tell(installed.left_out(damaged, paths))
        cleaner.check()
        further.check(f"--installed {language}")

    if options.output is None:
        for _ in rows():
            pass
    else:
        _write(options, rows(), names, parts.DOMAIN, paths)
    typer.echo(printable(installed.table(counts, installed.owners(paths), options.rows or ROWS)))
    typer.echo(f"\n{cleaner}{further}")


def without_context(names: Sequence[str]) -> list[str]:
    """Return names without that of contexts between source and target: every corpus has a column of these anyway."""
    source, *further, target = names
    return [source, *(name for name in further if name != CONTEXT), target]


class FurtherCounts:
    """How many pairs have a text in each of the languages between source and target."""

    def __init__(self, names: Sequence[str]) -> None:
        self._counts = dict.fromkeys(names[1:-1], 0)

    def counted(self, rows: "Iterator[PairWithOrigin]") -> "Iterator[PairWithOrigin]":
        for row in rows:
            for name, text in zip(self._counts, row.entry.further, strict=True):
                self._counts[name] += bool(text)
            yield row

    def check(self, where: str) -> None:
        """UserError if no pair has a text in one of the languages."""
        for name, count in self._counts.items():
            if not count:
                raise without_texts(name, where)

    def __str__(self) -> str:
        """Further lines of the cleaner's table."""
        return "".join(f"\n{f'  with a text in {name}':<36}{count:>12,}" for name, count in self._counts.items())


def read_units(places: Sequence[str], names: Sequence[str]) -> "Iterator[tuple[str, TranslationUnit]]":
    """Yield the units of corpora, with the place that has them. A text that is named CONTEXT becomes their context."""
    from dragoman.corpus import formats
    from dragoman.corpus.examples import read_texts
    from dragoman.corpus.translation_unit import TranslationUnit

    column = names.index(CONTEXT, 1) if CONTEXT in names[1:-1] else None
    for place in places:
        own = place.endswith(formats.ENDINGS)
        units = formats.read(place, names) if own else map(TranslationUnit, read_texts(place, tuple(names)))
        for unit in units:
            if column is not None:
                texts = (*unit.texts[:column], *unit.texts[column + 1 :])
                unit = unit._replace(texts=texts, context=unit.texts[column])
            yield place, unit


def cleaned(cleaner: "Cleaner", units: "Iterator[tuple[str, TranslationUnit]]") -> "Iterator[PairWithOrigin]":
    """Yield what a cleaner keeps of units, with the place that has them."""
    from dragoman.corpus.parts import PairWithOrigin

    for origin, unit in units:
        entry = cleaner(unit)
        if entry:
            yield PairWithOrigin(entry, one_line(origin))


def _write(
    options: CorpusOptions, rows: "Iterator[PairWithOrigin]", names: Sequence[str], origins: str, read: Sequence[Path]
) -> None:
    """The files, and a line about each. UserError where one would replace what is read, or is there."""
    from dragoman.corpus import near_duplicates, parts
    from dragoman.corpus.cleaning import key

    prefix, sizes = options.output or Path(), {"dev": options.dev, "test": options.test}
    outputs.check([("--output", path) for path in parts.paths(prefix, sizes).values()], read)
    for name in names:
        if name in (origins, CONTEXT):
            raise UserError(f"{name}: is already the name of another column; rename the language")
    seed = SEED if options.seed is None else options.seed
    group = near_duplicates.template if options.group_near_duplicates else key
    counts = parts.write(rows, prefix, names, origins, sizes, seed, group)
    for path, count in counts.items():
        typer.echo(printable(f"{path}: {count:,} pairs, columns {', '.join([*names, origins, CONTEXT])}"))
    train, *held_out = map(str, counts)
    for place in held_out:
        report = near_duplicates.describe_near_duplicates(place, train, names[0], names[-1])
        typer.echo(printable(f"{place}: {report}"))
