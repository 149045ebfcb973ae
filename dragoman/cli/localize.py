"""`dragoman localize`: from a catalogue of which a part is translated to one with a draft of every message."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts, Requires
from dragoman.cli.options import Also, Threads, command
from dragoman.cli.streams import tell
from dragoman.errors import UserError
from dragoman.files.reading import shown

if TYPE_CHECKING:
    from dragoman.cli.localize_parents import Parent
    from dragoman.corpus.cleaning import CleanPair

FEWEST = 400  # translated messages from which a training learns something, and has enough for confidence
MESSAGES, TERMS = "messages.tsv", "terms.tsv"


class LocalizeOptions(NamedTuple):
    """Arguments and options of `dragoman localize`."""

    catalogue: Annotated[Path, typer.Argument(metavar="FILE", help="Catalog (.po) of which a part is translated.")]
    output: Annotated[Path, typer.Option("--output", "-o", callback=outputs.named, help="Catalog to write.")]
    parent: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Run to start from, such as an imported model. Default: of the runs below runs that translate "
            "between these languages, an imported one, or the one trained on the most text.",
        ),
        Conflicts("--installed", "--parent-corpus", because="one parent is enough"),
    ] = None
    parent_corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="CORPUS",
            help="Train a parent on these pairs of other programs, such as others.train.tsv of `dragoman corpus`; "
            "others.dev.tsv beside it selects the weights.",
        ),
        Conflicts("--installed", because="one parent is enough"),
    ] = None
    installed: Annotated[
        bool,
        typer.Option(
            "--installed", help="Train a parent on the message catalogs installed on this machine (takes hours)."
        ),
    ] = False
    also: Annotated[Also, Requires("--installed", "--parent-corpus")] = None
    run: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the catalog's own run.", show_default="runs/PARENT-FILE"),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, metavar="P", help="Leave messages untranslated if confidence is below P."),
    ] = None
    threads: Threads = None


@command(epilog="Example: dragoman localize po/de.po -o new.po --parent runs/others")
def localize(options: LocalizeOptions) -> None:
    """Complete a catalog: train on its translated messages, starting from another run, and translate the others.

    Finished translations stay as they are. Drafts are marked as fuzzy and have their confidence in a comment. The same
    command continues where it stopped.
    """
    from dragoman.cli.localize_parents import widened_memory
    from dragoman.cli.localize_scores import WEIGHT
    from dragoman.cli.translate import translate
    from dragoman.cli.translate_options import TranslateOptions
    from dragoman.corpus import catalogues, formats

    catalogue = options.catalogue
    if not catalogue.name.endswith((".po", ".po.gz")):
        raise UserError(f"{shown(catalogue)}: expected a .po file")
    if options.output.suffix != ".po":
        raise UserError(f"{options.output}: expected the name of a .po file")
    outputs.check([("--output", options.output)], [catalogue])
    source, target = catalogues.open_catalogue(str(catalogue)).languages
    if not target:
        raise UserError(f"{shown(catalogue)}: does not name a language that is known; set the header Language")
    if _copy_finished(options, (source or "en", target)):
        tell(f"{shown(catalogue)}: has no message without a translation; {options.output} is a copy")
        return
    parent = _parent(options, source, target)
    run = (
        options.run
        or Path("runs") / f"{parent.run.folder.path.resolve().name}-{Path(formats.stem(str(catalogue))).name}"
    )
    outputs.check(
        [("--output", options.output)],
        [Path(f"{run}-messages", name) for name in (MESSAGES, TERMS)],
        [parent.run.folder.path, run],
    )
    own = _adapt(parent, catalogue, run, confident=options.min_confidence is not None)
    with widened_memory(parent, own.messages) as memory:
        translate(
            TranslateOptions(
                [own.run, catalogue],
                output=options.output,
                min_confidence=options.min_confidence,
                translation_memory=memory,
                glossary=[own.terms] if own.terms else None,
                glossary_weight=WEIGHT if own.terms else None,
            )
        )


def _copy_finished(options: LocalizeOptions, languages: tuple[str, str]) -> bool:
    """Write a catalog that has all its translations, for which nothing needs to be trained. Return whether it has."""
    from dragoman.documents.document import File
    from dragoman.documents.po import PoDocument
    from dragoman.files.reading import read_chunks
    from dragoman.files.writing import write_atomically

    catalogue = options.catalogue
    document = PoDocument(File(shown(catalogue), b"".join(read_chunks(str(catalogue))), languages))
    if document.lines:
        return False
    with write_atomically(options.output, "wb") as file:
        file.write(document.written([]))
    return True


def _parent(options: LocalizeOptions, source: str, target: str) -> "Parent":
    """Return the run to start from, which --installed and --parent-corpus train first. UserError if there is none. If
    the catalog does not name its source language, it is English, or that of --parent.
    """
    from dragoman.cli import localize_parents

    if options.parent:
        parent = localize_parents.load_parent(options.parent)
        localize_parents.check_languages(str(options.parent), parent.names, (source, target))
        return parent
    languages = (source or "en", target)
    if options.parent_corpus:
        return localize_parents.train_on_corpus(options.parent_corpus, languages, options.also or ())
    if options.installed:
        return localize_parents.train_installed(languages, options.also or ())
    return localize_parents.choose_parent(languages)


class Adapted(NamedTuple):
    """The run that translates a catalogue, the file of terms that it favors, if they help, and messages that it was not
    trained on.
    """

    run: Path
    terms: Path | None = None
    messages: Sequence["CleanPair"] = ()


def _adapt(parent: "Parent", catalogue: Path, run: Path, *, confident: bool) -> Adapted:
    """Train a run on the translated messages of a catalogue, from its parent, calibrate it, and print its scores.
    Return the run that translates: the parent if there are too few messages. UserError if that has no confidence, which
    has to be `confident`, or if the run was trained on other messages.
    """
    from dragoman.cli.localize_scores import measure
    from dragoman.cli.train import trained
    from dragoman.corpus.cleaning import Cleaner, Rules
    from dragoman.corpus.formats import read
    from dragoman.run.folder import RunFolder
    from dragoman.training import starting
    from dragoman.training.finishing import describe_finished

    folder, cleaner = Path(f"{run}-messages"), Cleaner(Rules())
    entries = [entry for unit in read(str(catalogue), parent.names) if (entry := cleaner(unit))]
    place = parent.run.folder.path
    tell(f"{shown(catalogue)}: {len(entries):,} different messages are translated")
    if run.resolve() == place.resolve():
        raise UserError(f"--run {run}: is the run to start from; name another folder")
    if len(entries) < FEWEST:
        if confident and not parent.run.folder.calibration.is_file():
            raise UserError(f"--min-confidence: {place} is not calibrated, and the messages are too few to train on")
        tell(f"{place}: translates without training, which takes {FEWEST} messages or more")
        return Adapted(place, messages=entries)
    rows = ("\t".join([entry.source, *entry.further, entry.target]) for entry in entries)
    text = "".join(f"{line}\n" for line in ["\t".join(parent.names), *rows])
    messages = folder / MESSAGES
    if messages.is_file() and messages.read_text("utf-8") != text:
        raise UserError(f"{shown(catalogue)}: has other messages than {run} was trained on; add --run for a new run")
    with starting.own_folder(folder, [MESSAGES], "messages") as new_folder:
        (new_folder / MESSAGES).write_text(text, "utf-8")
    started = starting.configure(str(place), [str(messages)], {"run": str(run)})
    if describe_finished(started.config, RunFolder(run)):
        tell(f"{run}: is trained on these messages")
    else:
        tell(started.description)
        trained(started.config)
    terms = folder / TERMS
    return Adapted(run, terms if measure(started.config, parent, terms) else None)
