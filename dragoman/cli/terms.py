"""`dragoman terms`: the terms of a catalogue or corpus, as a glossary."""

from typing import Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import Columns, OutputFile, command
from dragoman.cli.streams import output, tell
from dragoman.errors import UserError


class TermsOptions(NamedTuple):
    """Arguments and options of `dragoman terms`."""

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Bilingual files such as .po, .tmx or .tsv, or prefixes of two text files."
        ),
    ]
    output: OutputFile = None
    columns: Columns = None
    min_count: Annotated[
        int, typer.Option(min=1, metavar="N", help="Exclude terms that fewer than N longer texts contain.")
    ] = 2
    min_share: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, metavar="P", help="Exclude terms whose translation a lower share of these texts keeps."
        ),
    ] = 0.8


@command(epilog="Example: dragoman terms po/de.po -o terms.tsv")
def terms(options: TermsOptions) -> None:
    """Extract the terms of a catalog: short texts whose translation recurs where longer texts contain them.

    Writes a glossary of terms and the forms of their translations, for `translate --glossary`.
    """
    from dragoman.cli.corpus import cleaned, read_units
    from dragoman.corpus import catalogue_terms, glossary_file
    from dragoman.corpus.cleaning import Cleaner, Rules
    from dragoman.corpus.examples import Pair, corpus_files
    from dragoman.corpus.formats import corpora

    places, names, _ = corpora(options.files, options.columns or ())
    outputs.check([("--output", options.output)], corpus_files(places, *names))
    entries = (row.entry for row in cleaned(Cleaner(Rules()), read_units(places, names)))
    pairs = [Pair(entry.source, entry.target) for entry in entries]
    uses = catalogue_terms.learn(pairs, min_count=options.min_count)
    kept = [use.term for use in uses if use.share >= options.min_share]
    if not kept:
        raise UserError("no term passes --min-count and --min-share")
    with output(options.output) as lines:
        lines.write(glossary_file.lines(kept))
    varied = len(uses) - len(kept)
    tell(f"{len(kept):,} term{'s' * (len(kept) != 1)}; {varied:,} others are often translated in another way")
