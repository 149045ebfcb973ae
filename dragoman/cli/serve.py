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


class ServeOptions(NamedTuple):
    """Arguments and options of `dragoman serve`."""

    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Folders of the runs to serve.")] = None
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every interface.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 5000
    keys: Annotated[Path | None, typer.Option(help="File of API keys. Default: requests need no key.")] = None
    trusted_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Host name of the web page, such as translate.example.org: corrections from there need no key.",
        ),
    ] = None
    make_key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Create a key in the --keys file, print it, and exit."),
        Requires("--keys", because="the file to add the key to"),
    ] = None
    corrections: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Database of user corrections; created if missing.")
    ] = None
    history: Annotated[
        bool,
        typer.Option("--history", help="Store all translations in the --corrections database, including users' texts."),
        Requires("--corrections", because="the database to store translations in"),
    ] = False
    similar: Annotated[
        float,
        typer.Option(
            min=0.01, max=1.0, help="Minimum similarity at which a sentence receives the correction of another."
        ),
    ] = 1.0
    glossary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE,TARGET=FILE", help="Glossary of terms and translations for all requests. May be repeated."
        ),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="X",
            help="Leave out sentences whose confidence is below X; requires a calibrated run.",
        ),
    ] = None
    rate: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of requests per minute and API key or address.")
    ] = None
    characters: Annotated[int, typer.Option(min=1, help="Maximum number of characters per request.")] = 100_000
    texts: Annotated[int, typer.Option(min=1, help="Maximum number of texts per request.")] = 1_000
    file_bytes: Annotated[
        int, typer.Option(min=0, help="Maximum size in bytes of a file to translate; 0 disables file translation.")
    ] = 10_000_000
    seconds: Annotated[
        float, typer.Option(min=0.001, help="Timeout in seconds for receiving a request and for a translation.")
    ] = 60.0
    cache: Annotated[
        int,
        typer.Option(min=0, metavar="MB", help="Size of the translation cache of all runs."),
    ] = 256
    connections: Annotated[int, typer.Option(min=1, help="Maximum number of concurrent connections.")] = 2_000
    lines: Annotated[
        bool, typer.Option("--lines", help="Translate line by line instead of splitting into sentences.")
    ] = False
    engine: Engine = "torch"
    threads: Threads = None


@command(epilog="Example: dragoman serve runs/en-de --port 5000 --corrections corrections.sqlite")
def serve(options: ServeOptions) -> None:
    """Serve runs over HTTP with a web page and a LibreTranslate-compatible API."""
    try:
        from dragoman.serving import app as application
        from dragoman.serving import server
        from dragoman.serving.client_limits import Keys
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "serve") from error
    if options.make_key is not None:
        assert options.keys is not None
        typer.echo(Keys.make(options.make_key, options.keys))
        return
    for name in options.trusted_host or ():
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise typer.BadParameter(f"--trusted-host {name}: expected a host name, such as translate.example.org")
    if not options.runs:
        raise UserError("RUN: expected one or more run folders")
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


def _backend(options: ServeOptions, runs: list[Path]) -> "Backend":
    """The runs as a service, with what it takes of its clients."""
    from dragoman.serving.backend import Backend
    from dragoman.serving.client_limits import AccessControl, Keys, RequestLimits
    from dragoman.serving.corrections import Corrections
    from dragoman.serving.models import ServedModel, names_of
    from dragoman.serving.prometheus import Metrics
    from dragoman.serving.registry import Glossaries
    from dragoman.serving.service import Service

    limits = RequestLimits(
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
        [ServedModel.load(run, name=name, engine=options.engine, cached=cached) for run, name in named],
        sentences=not options.lines,
        corrections=kept,
        history=options.history,
        least=options.min_confidence,
        glossaries=Glossaries.named(options.glossary or ()),
    )
    return Backend(service, limits, access, Metrics(options.seconds))
