"""`dragoman import`: a run from a checkpoint of another program."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from dragoman.cli.options import command
from dragoman.cli.streams import tell


class ImportOptions(NamedTuple):
    """Arguments and options of `dragoman import`."""

    model: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="Folder or file of a model of another program, or a name on the Hugging Face hub."
        ),
    ]
    output: Annotated[Path, typer.Option("--output", "-o", help="Run folder to write.")]
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="LANGUAGE",
            help="Code of the source language, in a model of many languages one of its own (eng_Latn).",
        ),
    ] = "source"
    target: Annotated[str, typer.Option("--target", metavar="LANGUAGE", help="Code of the target language.")] = "target"
    vocabulary: Annotated[
        list[Path] | None,
        typer.Option(
            "--vocabulary",
            metavar="FILE",
            help="Vocabulary, or that of the source and that of the target. Default: those in the folder.",
        ),
    ] = None
    positions: Annotated[
        Literal["marian", "huggingface"],
        typer.Option(
            "--positions",
            help="How positions of a MarianMT folder are computed: as by Marian, which trained the model, or as by "
            "Hugging Face Transformers.",
        ),
    ] = "marian"
    prefix: Annotated[
        str | None,
        typer.Option(
            "--prefix",
            metavar="TEXT",
            help="Text before each source, such as '>>fra<<' or the name of a task (T5: 'translate English to "
            "German:'). Default: that of the model for these languages.",
        ),
    ] = None
    license: Annotated[str, typer.Option("--license", metavar="NAME", help="License of the model, for its card.")] = ""


@command(name="import", epilog="Example: dragoman import opus-mt-en-de --source en --target de -o runs/en-de")
def import_run(options: ImportOptions) -> None:
    """Import a model that another program has trained (Marian, Hugging Face: OPUS-MT, Firefox, NLLB)."""
    from dragoman.interop import hub, imported_run, table
    from dragoman.interop.foreign_text import put_prefix

    languages, source, license_name = (options.source, options.target), options.model, options.license
    name = source.as_posix() if hub.is_name(source) else ""
    if name:
        folder = hub.download(name)
        if hub.is_run(folder.path):
            needs = hub.copy_run(folder.path, options.output)
            tell(f"{options.output}: downloaded. What next:\n  {needs or f'dragoman translate {options.output} FILE'}")
            return
        source, license_name = folder.path, license_name or folder.license
    foreign = table.read(source, options.vocabulary or [], options.positions, languages)
    if options.prefix is not None:
        foreign = put_prefix(foreign, options.prefix)
    if name:
        foreign = replace(foreign, program=f"{foreign.program} ({name} on the hub)")
    imported_run.write(foreign, options.output, languages, license_name)
    shortlist = (
        f"\n  {foreign.shortlist_option} restricts translations as its own engine does" if foreign.shortlist else ""
    )
    tell(
        f"{options.output}: imported from {foreign.program}. What next:\n"
        f"  dragoman translate {options.output} FILE     translate the lines of a file, or of standard input\n"
        f"  dragoman train --finetune {options.output} PAIRS --run RUN     adapt it to your own texts"
        f"{shortlist}"
    )
