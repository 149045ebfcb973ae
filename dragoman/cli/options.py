"""The program, options shared by its commands, and a way for a command to take many."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import typer

from dragoman import threads
from dragoman.cli import option_rules
from dragoman.cli.exit_status import Commands
from dragoman.cli.outputs import writable
from dragoman.errors import UserError

Taken = TypeVar("Taken", bound=tuple[Any, ...])

PANELS = {
    "Try": "demo info",
    "Prepare": "init corpus debug augment features",
    "Train": "train distil average import",
    "Translate": "translate localize postedit serve corrections export push shortlist dictionary terms",
    "Look inside": "explain align score report",
    "Evaluate": "evaluate judge tune calibrate gate",
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}  # of each command
MODULES = {"import": "import_run"}  # of commands whose name is a word of Python; others have a module of their name


class Program(Commands):
    """All commands, in the order of the panels. Each has the option `--code`, or the key `code` as an override."""

    def __init__(self, *, commands: Any = None, **settings: Any) -> None:
        super().__init__(commands=commands, **settings)
        option = _code_option()
        for leaf in _leaves(self):
            if not leaf.ignore_unknown_options:
                leaf.params.append(option)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(PANEL_OF)


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train, use, inspect and serve attentional sequence-to-sequence models.",
    epilog="Example: dragoman init train.en train.de && dragoman train config.yaml",
)

# Options that typer does not know are overrides of the configuration.
OVERRIDES = {"ignore_unknown_options": True}


MemoryPlace = Annotated[
    str | None,
    typer.Option(
        "--translation-memory",
        metavar="FILE",
        help="Translation memory to retrieve similar sentences from, instead of the training pairs "
        "(needs data.translation_memory).",
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Reuse the translation of sentences found verbatim in the translation memory.")
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")]
Configuration = Annotated[
    list[str],
    typer.Argument(metavar="CONFIG", help="YAML file; override any key with --section.key VALUE."),
]
SourceFile = Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one per line.")]
DevelopmentSource = Annotated[
    list[str],
    typer.Option(
        "--source", metavar="FILE", help="Source sentences of a development set; NAME=FILE for each of several sources."
    ),
]
TargetFile = Annotated[Path, typer.Argument(metavar="TARGET", help="Translations of the sentences, one per line.")]
ArrayFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="NAME=FILE",
        help="File of feature arrays for a numeric source; SOURCE holds the other sources.",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Weights to load: model, model-best, model-last, or another weight file of the run."
    ),
]


def _compute_with(context: Any, count: int | None) -> int | None:
    if count:
        context.with_resource(threads.override_count(count))
    return count


# An option of every command that computes. It takes effect when it is parsed, so commands need not look at it.
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=threads.MOST_THREADS,
        metavar="N",
        callback=_compute_with,
        help="Number of CPU threads. Default: from the configuration, OMP_NUM_THREADS, or one per core.",
    ),
]


def _of_table(module: str, table: str) -> Callable[[str | None], str | None]:
    """Return a callback that looks up a kind in a table, which is imported only if the option is given."""

    def check(text: str | None) -> str | None:
        if text is not None:
            from dragoman.configuration import components

            try:
                components.read(getattr(import_module(module), table), text)
            except UserError as error:
                raise typer.BadParameter(str(error)) from None
        return text

    return check


known_metric = _of_table("dragoman.evaluation.metrics.table", "METRICS")
MetricName = Annotated[
    str,
    typer.Option("--metric", metavar="METRIC", callback=known_metric, help="Metric, as in `evaluate`, such as bleu."),
]


Search = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        callback=_of_table("dragoman.search.table", "SEARCHES"),
        help="Decoding algorithm, such as greedy or '{kind: sample, top_p: 0.9}'; `debug config` lists "
        "the kinds. Default: from the configuration of the run.",
    ),
]
Beam = Annotated[int | None, typer.Option(min=1, max=1000, metavar="N", help="Beam size.")]
Engine = Annotated[
    Literal["torch", "int8", "onnx", "ctranslate2"],
    typer.Option(
        help="Inference engine: torch, int8 (8-bit integers), onnx (after `export --onnx`), or ctranslate2 "
        "(after `export --ctranslate2`)."
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Resume an interrupted command after the lines already written to FILE.partial."),
]
OutputFile = Annotated[
    Path | None, typer.Option("--output", "-o", callback=writable, help="Output file. Default: standard output.")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Write one JSON object per line with text, tokens, attention and log-probabilities."),
]
To = Annotated[str | None, typer.Option(metavar="LANGUAGE", help="Target language of a multilingual run.")]
OneBased = Annotated[bool, typer.Option("--one-based", help="Word indices in --gold start at 1 instead of 0.")]


def _leaves(command: Any) -> Iterator[Any]:
    for inner in getattr(command, "commands", {}).values():
        yield from _leaves(inner) if hasattr(inner, "commands") else [inner]


def _load_code(context: Any, files: list[str] | None) -> None:
    if files and not context.resilient_parsing:
        from dragoman.configuration import plugins

        plugins.load_code(files)


# Commands do not see it: it takes effect when it is parsed, before other options are looked up in tables.
Code = Annotated[
    list[str] | None,
    typer.Option(
        "--code",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_load_code,
        help="Python file with further parts, such as a score or a metric, which is executed. May be repeated.",
    ),
]


def _code_option() -> Any:
    """Return the option as a parameter of any command."""
    holder = typer.Typer(add_completion=False)

    @holder.command()
    def command(code: Code = None) -> None: ...

    (option,) = (option for option in typer.main.get_command(holder).params if option.name == "code")
    return option


class CandidateCounts(NamedTuple):
    """The two numbers of `--shortlist`."""

    frequent: int
    likely: int

    @classmethod
    def parse(cls, text: str) -> "CandidateCounts":
        numbers = re.fullmatch(r"(\d{1,9}),(\d{1,9})", text)
        if not numbers:
            raise typer.BadParameter(f"expected two numbers, such as 300,20, found {text}")
        return cls(*map(int, numbers.groups()))


Candidates = Annotated[
    CandidateCounts | None,
    typer.Option(
        metavar="K,L",
        parser=CandidateCounts.parse,
        help="Restrict decoding to the K most frequent target tokens and the L most probable "
        "translations of each source token, for example 300,20 (see `shortlist`).",
    ),
]


class ColumnNames(NamedTuple):
    """The two names of `--columns`."""

    source: str
    target: str

    @classmethod
    def parse(cls, text: str) -> "ColumnNames":
        names = [name.strip() for name in text.split(",")]
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise typer.BadParameter(f"expected two names, such as en,de, found {text}")
        return cls(*names)


Columns = Annotated[
    ColumnNames | None,
    typer.Option(
        metavar="SOURCE,TARGET",
        parser=ColumnNames.parse,
        help="Languages or columns to read as source and target, such as en,de.",
    ),
]


class FurtherNames(tuple[str, ...]):
    """The names of `--also`."""

    @classmethod
    def parse(cls, text: str) -> "FurtherNames":
        names = [name.strip() for name in text.split(",")]
        if not all(names) or len(set(names)) < len(names):
            raise typer.BadParameter(f"expected different names, such as fr,es, found {text}")
        return cls(names)


Also = Annotated[
    FurtherNames | None,
    typer.Option(
        metavar="LANGUAGES",
        parser=FurtherNames.parse,
        help="Further source languages, such as fr,es: other columns, the catalogs of these languages beside a "
        "catalog (po/fr.po for po/de.po), or PREFIX.fr. A text may be missing.",
    ),
]


def command(group: typer.Typer = app, **settings: Any) -> Callable[[Callable[[Taken], None]], Callable[[Taken], None]]:
    """`app.command`, or that of a group of commands, for a function that takes one named tuple. Typer sees each field
    as a parameter of the function, so that an option is written once, and all options are passed on as one value; the
    rules declared beside them (`option_rules`) are checked before the call.
    """

    def add(function: Callable[[Taken], None]) -> Callable[[Taken], None]:
        (parameter,) = inspect.signature(function).parameters.values()
        taken: Callable[..., Taken] = parameter.annotation

        @functools.wraps(function)
        def call(**values: Any) -> None:
            options = taken(**values)
            option_rules.check(options)
            function(options)

        vars(call)["__signature__"] = inspect.signature(taken)
        group.command(**settings)(call)
        return function

    return add


def overrides(words: Sequence[str]) -> tuple[Path, dict[str, str]]:
    """Return the configuration file and the overrides (`--section.key VALUE` or `--section.key=VALUE`) of a command."""
    files, changes = files_and_overrides(words)
    if len(files) != 1:
        taken = "".join(f"; {value} is taken for the value of --{key}" for key, value in changes.items() if not files)
        raise typer.BadParameter(f"expected one configuration file, found {' and '.join(files) or 'none'}{taken}")
    return Path(files[0]), changes


def files_and_overrides(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The same with any number of files."""
    files: list[str] = []
    changes: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--") or word == "--":
            files.append(word)
            continue
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = next(rest, "--")
        if value.startswith("--") and not equals:
            raise typer.BadParameter(f"--{key} needs a value: --{key} VALUE")
        changes[key] = value
    if "code" in changes:  # now, since a command may read a run before the configuration
        from dragoman.configuration import config_file

        config_file.load_code(changes["code"])
    return files, changes
