"""`dragoman debug`: check corpora and configurations before training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import init
from dragoman.cli.options import OVERRIDES, Columns, Configuration, Threads, app, files_and_overrides, overrides
from dragoman.cli.streams import one_line
from dragoman.data.vocabulary import SPECIALS
from dragoman.errors import UserError
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import printable

if TYPE_CHECKING:
    from dragoman.configuration.config import Config, LanguageConfig
    from dragoman.configuration.data import LanguagePair

CHARACTERS = 200  # assumed size of the vocabulary where only the data say how large it is
NUMBERS = 2048  # assumed size of a region
EXPECTED = "expected a configuration (.yaml), a bilingual file (.tsv, .tmx, ...) or two text files: corpus.en corpus.de"

debug = typer.Typer(no_args_is_help=True, help="Check corpora and configurations before training.")
app.add_typer(debug, name="debug")


@debug.command("data", context_settings=OVERRIDES, epilog="Example: dragoman debug data config.yaml")
def debug_data(config: Configuration, columns: Columns = None, threads: Threads = None) -> None:
    """Show statistics and problems of a corpus, or of all corpora in a configuration.

    For a configuration, also report baseline scores without a model and the estimated training time. A corpus is a
    bilingual file or two text files.
    """
    files, changes = files_and_overrides(config)
    names = columns or ()
    from dragoman.corpus import formats

    if len(files) == 2 or (len(files) == 1 and (names or files[0].endswith(formats.ENDINGS))):
        if names and files[0].endswith((".yaml", ".yml")):
            raise typer.BadParameter(f"--columns: requires a corpus, but {files[0]} is a configuration")
        if changes:
            raise typer.BadParameter(f"--{next(iter(changes))}: requires a configuration, but {files[0]} is a corpus")
        _tell_corpus(files, names)
        return
    file, changes = overrides(config)
    from dragoman.corpus import statistics
    from dragoman.corpus.examples import feature_files, read_examples
    from dragoman.corpus.features import FeatureFile
    from dragoman.text.protection import Protection

    checked = _load(file, changes)  # the parts of the model, which need torch, are checked after the corpora
    protection = Protection.of(checked.text.protect)
    data, pretokenizers = checked.data, (checked.text.source.pretokenizer, checked.text.target.pretokenizer)
    for pair in data.language_pairs:
        texts = tuple(name for name in pair.sources if name not in data.features)
        for name, where in (("train", pair.train), ("dev", (pair.dev,))):
            _tell_headers(f"data.{name}", where, (*texts, pair.target))
            for source in texts if where else ():
                about = f", {source} and {pair.target}" if data.pairs or len(pair.sources) > 1 else ""
                described = statistics.describe(where, source, pair.target, sources=texts, pretokenizers=pretokenizers)
                again = _again(pair, source, texts) if name == "dev" else []
                _tell("\n".join([f"data.{name}: {', '.join(where)}{about}", str(described), *again]) + "\n")
                if protection and name == "train":
                    _tell(f"{statistics.describe_spans(where, source, pair.target, protection, sources=texts)}\n")
            for path in (path for feature in data.features for path in feature_files(where, feature)):
                _tell(f"data.{name}: {path}\n{statistics.describe_features(FeatureFile(path))}\n")
            if data.features:
                count = sum(1 for _ in read_examples(where, pair.sources, pair.target, data.features))
                _tell(f"data.{name}: {', '.join(where)}, {count:,} lines in {pair.target}\n")
    if data.alignments:
        _tell(str(statistics.describe_links(data.train, data.source[0], data.target, pretokenizers=pretokenizers)))
    from dragoman.training import checks

    for line in init.outlook(checks.load_config(file, changes)):
        _tell(line)


def _again(pair: "LanguagePair", source: str, texts: tuple[str, ...]) -> list[str]:
    """What of the development pairs the training data have, too, or nearly."""
    from dragoman.corpus.near_duplicates import describe_near_duplicates
    from dragoman.corpus.statistics import describe_repeats

    if not pair.train:
        return []
    repeats = describe_repeats(pair.dev, pair.train, source, pair.target, sources=texts)
    near = describe_near_duplicates(pair.dev, pair.train, source, pair.target, sources=texts)
    return [*map(str, repeats), str(near)]


def _load(file: Path, changes: Mapping[str, str]) -> "Config":
    """A configuration. What seems to be no name of one may be meant for a corpus."""
    from dragoman.configuration import config_file
    from dragoman.corpus.examples import missing_files

    RunFolder.check_config(file)
    try:
        return config_file.load(file, changes, [missing_files])
    except UserError as error:
        if file.suffix in (".yaml", ".yml") or str(file) == "-":
            raise
        raise UserError(f"{error}; {EXPECTED}") from None


def _tell_headers(key: str, places: Sequence[str], names: Sequence[str]) -> None:
    """What the first lines of files with columns seem to be."""
    from dragoman.configuration.data import COLUMNS
    from dragoman.corpus import tables

    for place in places:
        if place.endswith(COLUMNS) and (header := tables.about_header(place, names)):
            _tell(f"{key}: {place}: {one_line(header)}\n")


def _tell_corpus(files: Sequence[str], columns: Sequence[str]) -> None:
    """The statistics of a file with both languages, which are the `columns` if they are given, or of two texts whose
    names differ in their ending.
    """
    from dragoman.corpus import statistics
    from dragoman.corpus.formats import corpora, side_by_side

    if columns and len(files) != 1:
        raise typer.BadParameter(f"--columns: expected one file, found {' and '.join(files)}")
    places, names, remarks = corpora(files, columns) if len(files) == 1 else side_by_side(*map(Path, files))
    if not places:
        raise UserError(f"{' and '.join(files)}: {EXPECTED}")
    (place,) = places
    for line in remarks:
        _tell(one_line(line))
    _tell(str(statistics.describe(place, *names)))


def _schema(wanted: bool) -> bool:
    if wanted:
        from dragoman.configuration import config_file
        from dragoman.training import checks

        typer.echo(config_file.schema(checks.PARTS), nl=False)
        raise typer.Exit
    return wanted


@debug.command(
    "config", context_settings=OVERRIDES, epilog="Example: dragoman debug config config.yaml --model.encoder.size 256"
)
def debug_config(
    config: Configuration,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", callback=_schema, is_eager=True, help="Print the JSON schema of configurations and exit."
        ),
    ] = False,
) -> None:
    """Check a configuration; print all keys with defaults and descriptions, and the number of parameters."""
    file, changes = overrides(config)
    from dragoman.configuration import config_file, plugins
    from dragoman.model.inputs import Regions
    from dragoman.model.parameters import count_parameters
    from dragoman.training import checks

    complete = checks.complete(checks.load_config(file, changes))
    typer.echo(config_file.commented(complete, checks.PARTS), nl=False)
    data, symbols, target = complete.data, _symbols(complete.text.source), _symbols(complete.text.target)
    regions = {name: Regions(NUMBERS, name not in complete.model.initial_state_only) for name in data.features}
    special = dict.fromkeys(data.recalled, target) | regions
    sources = [special.get(name, symbols) for name in (data.inputs or data.sides)]
    parts = count_parameters(complete.model, data.sequences(sources), target)
    sizes = [source for source in sources if isinstance(source, int)]
    inputs = f"{' and '.join(f'{size:,}' for size in (*sizes, target))} tokens (fewer if the data are small)"
    inputs += f", {NUMBERS:,} numbers per region of {' and '.join(regions)} (assumed)" if regions else ""
    typer.echo(f"\n# With {inputs}, {sum(parts.values()):,} parameters:")
    for part, count in parts.items():
        typer.echo(f"# {part:<20}{count:>12,}")
    for plugin in plugins.loaded():
        _tell(f"# plug-in {plugin}: {', '.join(plugin.parts)}")


@debug.command("part", epilog="Example: dragoman debug part score:distance --code distance.py")
def debug_part(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Part, such as score:distance.")], threads: Threads = None
) -> None:
    """Check that a part keeps the contract of its table, such as padding that changes nothing; exit 1 if not."""
    from dragoman.configuration.config import DeviceConfig
    from dragoman.contracts import table as contracts
    from dragoman.devices import choose

    table, kind = contracts.find_part(name)
    choose(DeviceConfig(name="cpu"))
    failures = [*contracts.find_failures(table, kind)]
    if failures:
        raise UserError("\n".join(f"{table}:{kind}: {failure}" for failure in failures))
    _tell(f"{table}:{kind}: keeps its contract ({contracts.count_checks(table)} checks)")


def _symbols(side: "LanguageConfig") -> int:
    """Return the vocabulary size of a model with this configuration, as far as it is known without the data."""
    return len(SPECIALS) + int(side.tokenizer.options.get("vocab_size", CHARACTERS))


def _tell(text: str) -> None:
    typer.echo(printable(text))
