"""`dragoman corrections`: what users of a service have corrected, as a translation memory or as training pairs."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts
from dragoman.cli.options import command
from dragoman.cli.streams import tell
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.files.writing import write_atomically

REMOVES = Conflicts(
    "--output", "--source", "--target", "--history", because="it removes corrections instead of writing them"
)


class CorrectionsOptions(NamedTuple):
    """Arguments and options of `dragoman corrections`."""

    database: Annotated[Path, typer.Argument(metavar="DB", help="Corrections database of `serve --corrections`.")]
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Output file: .tmx, or .tsv with one column per language."),
    ] = None
    source: Annotated[str | None, typer.Option(help="Source language; required if the database has several.")] = None
    target: Annotated[str | None, typer.Option(help="Target language; required if the database has several.")] = None
    history: Annotated[
        bool, typer.Option("--history", help="Include the uncorrected translations stored by `serve --history`.")
    ] = False
    forget: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Remove the corrections and history of this text and its sentences, instead of exporting.",
        ),
        REMOVES,
    ] = None
    forget_author: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Remove the corrections made with the API key of this name, instead of exporting."
        ),
        REMOVES,
    ] = None


@command(epilog="Example: dragoman corrections corrections.sqlite -o corrections.tmx")
def corrections(options: CorrectionsOptions) -> None:
    """Export the corrections collected by `serve`, or remove some.

    Writes the last correction of each sentence, for other tools and for `train --finetune`.
    """
    from dragoman.serving import exporting
    from dragoman.serving.corrections import Corrections, NotKeptError

    database, output, source, target, *_ = options
    if options.forget is not None or options.forget_author is not None:
        try:
            count = Corrections.existing(database).forget(options.forget, options.forget_author)
        except NotKeptError as error:
            raise UserError(f"{shown(database)}: nothing was removed ({error})") from None
        tell(f"{shown(database)}: {count:,} {'text is' if count == 1 else 'texts are'} removed")
        return
    if output is None:
        raise UserError("-o FILE, --forget TEXT or --forget-author NAME is missing")
    ending = output.suffix.lower()
    if ending not in (".tmx", ".tsv"):
        raise UserError(f"{output}: expected the name to end in .tmx or .tsv")
    outputs.check([("-o", outputs.named(output))], [database])
    entries = [
        entry
        for entry in Corrections.existing(database).entries(translations=options.history)
        if source in (None, entry.pair[0]) and target in (None, entry.pair[1])
    ]
    pairs = sorted({entry.pair for entry in entries})
    if not pairs:
        raise UserError(f"{shown(database)}: contains no corrections for these languages")
    if ending == ".tsv" and len(pairs) > 1:
        languages = ", ".join(" to ".join(pair) for pair in pairs)
        raise UserError(f"{shown(database)}: contains {languages}; choose one with --source and --target")
    with write_atomically(output) as file:
        file.writelines(exporting.tmx(entries) if ending == ".tmx" else exporting.table(entries, pairs[0]))
    left = 0 if ending == ".tmx" else sum(not exporting.fits_a_row(entry) for entry in entries)
    remark = f"; {left:,} of several lines {'is' if left == 1 else 'are'} left out" if left else ""
    count = len(entries) - left
    tell(f"{output}: {count:,} pair{'s' * (count != 1)} of {shown(database)}{remark}")
