"""`dragoman serve`: runs as a service that speaks the HTTP of LibreTranslate."""

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli.exit_status import ENDED_BY
from dragoman.cli.option_rules import Requires
from dragoman.cli.options import Engine, Threads, command
from dragoman.errors import Terminated, UserError, missing_library

if TYPE_CHECKING:
    from dragoman.serving.backend import Backend


class Options(NamedTuple):
    """Arguments and options of `dragoman serve`."""

    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Folders of runs.")] = None
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 is every one of this machine.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any that is free.")] = 5000
    keys: Annotated[Path | None, typer.Option(help="File of API keys; without one, everybody may ask.")] = None
    trusted_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Host name at which the page is opened, such as translate.example.org: corrections from there need no "
            "key.",
        ),
    ] = None
    make_key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Add a key to the file of --keys, write it, and end."),
        Requires("--keys", because="the file that the key is added to"),
    ] = None
    corrections: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Database of what users correct; made if there is none.")
    ] = None
    history: Annotated[
        bool,
        typer.Option("--history", help="Keep every translation in that database, too: texts of users."),
        Requires("--corrections", because="the database that translations are kept in"),
    ] = False
    similar: Annotated[
        float,
        typer.Option(min=0.01, max=1.0, help="Least similarity of a sentence that is given another's correction."),
    ] = 1.0
    glossary: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE,TARGET=FILE", help="Terms and their translations, for all; may be repeated."),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="X", help="Leave a sentence empty if a calibrated run is less confident of it."
        ),
    ] = None
    rate: Annotated[int | None, typer.Option(min=1, help="Requests a minute of a key, or of an address.")] = None
    characters: Annotated[int, typer.Option(min=1, help="Most characters of a request.")] = 100_000
    texts: Annotated[int, typer.Option(min=1, help="Most texts of a request.")] = 1_000
    file_bytes: Annotated[int, typer.Option(min=0, help="Most bytes of a file to translate; 0 = no files.")] = (
        10_000_000
    )
    seconds: Annotated[
        float, typer.Option(min=0.001, help="Most seconds in which a request arrives, and of a translation.")
    ] = 60.0
    cache: Annotated[
        int,
        typer.Option(min=0, metavar="MB", help="Memory for translations that are remembered, of all runs together."),
    ] = 256
    connections: Annotated[int, typer.Option(min=1, help="Most connections of clients at once.")] = 2_000
    lines: Annotated[bool, typer.Option("--lines", help="Translate a line at a time, not a sentence.")] = False
    engine: Engine = "torch"
    threads: Threads = None


@command(epilog="Example: dragoman serve runs/en-de --port 5000 --corrections corrections.sqlite")
def serve(options: Options) -> None:
    """Serve runs over HTTP, as LibreTranslate does: its clients work unchanged."""
    try:
        from dragoman.serving import app as application
        from dragoman.serving import server
        from dragoman.serving.limits import Keys
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "serve") from error
    if options.make_key is not None:
        assert options.keys is not None
        typer.echo(Keys.make(options.make_key, options.keys))
        return
    for name in options.trusted_host or ():
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise typer.BadParameter(
                f"--trusted-host {name}: expected the name of a host alone, such as translate.example.org"
            )
    if not options.runs:
        raise UserError("RUN: expected the folder of a run, or of several")
    backend = _backend(options, options.runs)
    server_app, service = application.create(backend), backend.service
    unprotected = options.keys is None and not server.is_local(options.host)
    try:
        server.run(
            server_app,
            options.host,
            options.port,
            backend.renew,
            service.stop,
            options.connections,
            unprotected=unprotected,
        )
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Terminated) else signal.SIGINT
        server.log.info("interrupted" if number == signal.SIGINT else "terminated")  # as all lines of the log are
        raise typer.Exit(ENDED_BY + number) from None


def _backend(options: Options, runs: list[Path]) -> "Backend":
    """The runs as a service, with what it takes of its clients."""
    from dragoman.serving.backend import Backend
    from dragoman.serving.corrections import Corrections
    from dragoman.serving.limits import AccessControl, Keys, Limits
    from dragoman.serving.models import Model, names_of
    from dragoman.serving.prometheus import Metrics
    from dragoman.serving.registry import Glossaries
    from dragoman.serving.service import Service

    limits = Limits(
        body=20 * options.characters + 100_000,
        characters=options.characters,
        texts=options.texts,
        seconds=options.seconds,
        rate=options.rate,
        file=options.file_bytes,
    )
    access = AccessControl(limits, Keys(options.keys) if options.keys else None, options.trusted_host or ())
    kept = Corrections(options.corrections, threshold=options.similar) if options.corrections else None
    named = zip(runs, names_of(runs), strict=True)
    cached = options.cache * 2**20 // len(runs)
    service = Service(
        [Model.load(run, name=name, engine=options.engine, cached=cached) for run, name in named],
        sentences=not options.lines,
        corrections=kept,
        history=options.history,
        least=options.min_confidence,
        glossaries=Glossaries.named(options.glossary or ()),
    )
    return Backend(service, limits, access, Metrics(options.seconds))
