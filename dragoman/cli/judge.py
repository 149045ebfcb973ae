"""`dragoman judge`: people judge translations, on a page that does not say which system made which."""

from pathlib import Path
from secrets import randbits
from typing import Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import app, command
from dragoman.cli.streams import one_stream, tell
from dragoman.configuration.messages import nearest
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.text.normalizer import printable

REFERENCE = "reference"
HUMAN = "human"  # the question that is only asked unasked where there is a reference
CATEGORIES = "mistranslation,omission,addition,untranslated,grammar,spelling,word order,terminology,style,other"

judge = typer.Typer(
    no_args_is_help=True, help="Collect human judgments on a page that hides which system produced a translation."
)
app.add_typer(judge, name="judge")


class MakeOptions(NamedTuple):
    """Arguments and options of `dragoman judge make`."""

    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one per line.")]
    systems: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FILE...", help="Translations of each system, one per line.")
    ]
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE.html",
            callback=outputs.named,
            help="HTML page to write; the key is written to PAGE.key.json.",
        ),
    ]
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Human translations, judged as an additional system.")
    ] = None
    questions: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Questions, separated by commas: adequacy, fluency, correct, human (or machine), errors, "
            "rank. Default: all; human only with --reference.",
        ),
    ] = None
    categories: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"Error types, separated by commas. Default: {CATEGORIES}."),
    ] = None
    sentences: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of sentences, drawn at random. Default: all.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Random seed of the order.")] = (
        None
    )


@command(group=judge, epilog="Example: dragoman judge make test.en baseline=old.de new.de -o page.html")
def make(options: MakeOptions) -> None:
    """Create an HTML page for blind human evaluation.

    The page is a single file that works offline, with translations in random order. PAGE.key.json, which you keep, maps
    them to the systems.
    """
    names = _names(options.systems)
    questions = _questions(options, len(names) + (options.reference is not None))
    from dragoman.evaluation.human.forms import ERRORS

    if options.categories is not None and ERRORS not in questions:
        raise typer.BadParameter("--categories requires the question errors in --questions")
    categories = _listed(CATEGORIES if options.categories is None else options.categories, "--categories")
    files = {**names, REFERENCE: options.reference} if options.reference else names
    if options.reference and REFERENCE in names:
        raise typer.BadParameter(f"{REFERENCE} is the name of --reference; rename {names[REFERENCE]} with NAME=FILE")
    key_path = options.output.with_suffix(".key.json")
    read = [options.source, *files.values()]
    one_stream(*read)
    outputs.check([("--output", options.output), ("--output", key_path)], read)
    from dragoman.cli import evaluate_scores
    from dragoman.evaluation.human import blinding
    from dragoman.visualization.judge import page

    source = evaluate_scores.read(options.source)
    texts = {name: evaluate_scores.read(path) for name, path in files.items()}
    for text in texts.values():
        evaluate_scores.check(len(text.lines), text.path, [source])
    systems = {name: text.lines for name, text in texts.items()}
    seed = randbits(63) if options.seed is None else options.seed
    key = blinding.blind(source.lines, systems, questions, categories, sentences=options.sentences, seed=seed)
    with outputs.new_files(options.output, key_path) as (page_file, key_file):
        page_file.write(page(blinding.shown(key)))
        key_file.write(key.model_dump_json(indent=1) + "\n")
    tell(f"{options.output}: {len(key.items):,} sentences, translated by {len(systems)} systems. Send it to annotators")
    tell(f"{key_path}: maps the translations to their systems. Keep it for: dragoman judge read {key_path} FILE...")


@judge.command(epilog="Example: dragoman judge read page.key.json anna.json ben.json")
def read(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="Key of the page, PAGE.key.json.")],
    saved: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files that annotators saved from the page.")],
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Baseline system for comparisons. Default: the first.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Summarize saved judgments: means with confidence intervals, system comparisons, error types, agreement."""
    one_stream(key, *saved)
    from dragoman.cli import judgments
    from dragoman.evaluation.human.forms import Key
    from dragoman.evaluation.human.forms import read as read_form
    from dragoman.evaluation.human.judgment_reading import gather
    from dragoman.evaluation.significance import FEWEST

    page = read_form(key, Key, "the key of a `dragoman judge` page")
    if baseline is not None and baseline not in page.systems:
        raise UserError(f"--baseline {baseline}: no such system, {nearest(baseline, page.systems)}")
    gathered = gather(page, shown(key), saved)
    for unfinished in gathered.unfinished:
        tell(str(unfinished))
    if gathered.sentences < FEWEST:
        tell(f"{gathered.sentences} sentences are too few for intervals; expected at least {FEWEST}")
    typer.echo(printable(judgments.format_judgments(page, gathered, baseline or page.systems[0], as_json=as_json)))


def _names(systems: list[str]) -> dict[str, Path]:
    """Return the files of systems by their names, which are those of the files unless they are given."""
    files: dict[str, Path] = {}
    for system in systems:
        name, equals, file = system.partition("=")
        if not equals or Path(system).exists():
            name, file = system, system
        if not name or not file:
            raise typer.BadParameter(f"{system}: expected NAME=FILE, or a file")
        if any("\ud800" <= letter < "\ue000" for letter in name):  # a byte that is no character
            raise typer.BadParameter(f"{printable(system)}: its name is not UTF-8; use NAME=FILE")
        if name in files:
            raise typer.BadParameter(f"{name}: is given twice")
        files[name] = Path(file)
    return files


def _questions(options: MakeOptions, systems: int) -> list[str]:
    from dragoman.evaluation.human.forms import ERRORS, QUESTIONS, RANK

    questions = [*QUESTIONS, ERRORS, RANK]
    if options.questions is None:
        unasked = {RANK} if systems < 2 else set()
        return [name for name in questions if name not in unasked | (set() if options.reference else {HUMAN})]
    chosen = _listed(options.questions, "--questions")
    for name in chosen:
        if name not in questions:
            raise typer.BadParameter(f"--questions: unknown question '{name}', {nearest(name, questions)}")
    if RANK in chosen and systems < 2:
        raise typer.BadParameter("--questions: rank needs two systems, or one and --reference")
    return [name for name in questions if name in chosen]


def _listed(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise typer.BadParameter(f"{option} {text}: expected different names, separated by commas")
    return names
