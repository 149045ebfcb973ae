"""`dragoman augment`: more training pairs from existing data."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import RunPath, SourceFile, TargetFile, Threads, app, command
from dragoman.cli.streams import PORTION, one_line, one_stream, portions, tell
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, read_lines, shown

if TYPE_CHECKING:
    from dragoman.translation.translator import Translator

CUT, BLANK, UNTRANSLATED = "too long", "blank", "without a translation"

augment = typer.Typer(no_args_is_help=True, help="Create additional training pairs from existing data.")
app.add_typer(augment, name="augment")


def _word(text: str) -> str:
    """Return a tag in the form that it has in a line."""
    return one_line(text).strip()


Prefix = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="PREFIX",
        callback=outputs.prefix,
        help="Prefix of the corpus to write: PREFIX.en and PREFIX.de.",
    ),
]
Texts = Annotated[Path, typer.Argument(metavar="TARGET", help="Target-language sentences, one per line.")]
Tag = Annotated[str, typer.Option(help="Tag prepended to each source; '' for none.", callback=_word)]
Width = Annotated[int | None, typer.Option(min=1, max=1000, metavar="N", help="Beam size; 1 is greedy search.")]
SourceName = Annotated[str, typer.Option(help="File suffix of the sources.")]
TargetName = Annotated[str, typer.Option(help="File suffix of the targets.")]


@augment.command(epilog="Example: dragoman augment back runs/de-en news.de -o back")
def back(
    run: RunPath, target: Texts, output: Prefix, tag: Tag = "<bt>", beam: Width = None, threads: Threads = None
) -> None:
    """Translate TARGET back into sources with RUN: back-translation (Sennrich et al. 2016)."""
    translator = _of_one_source(run)
    names = translator.target.name, translator.source.name
    pairs = ((_tagged(tag, source), text) for text, source in _translated(translator, target, beam))
    _write(output, names, pairs, (target,), run)


@augment.command(epilog="Example: dragoman augment forward runs/en-de news.en -o forward")
def forward(
    run: RunPath, source: SourceFile, output: Prefix, tag: Tag = "<ft>", beam: Width = None, threads: Threads = None
) -> None:
    """Translate SOURCE into targets with RUN: forward translation (Zhang and Zong 2016)."""
    translator = _of_one_source(run)
    names = translator.source.name, translator.target.name
    pairs = ((_tagged(tag, text), translation) for text, translation in _translated(translator, source, beam))
    _write(output, names, pairs, (source,), run)


@augment.command(epilog="Example: dragoman augment copy news.de --source-name en --target-name de -o copied")
def copy(text: Texts, output: Prefix, source_name: SourceName, target_name: TargetName, tag: Tag = "<copy>") -> None:
    """Copy TARGET as its own source (Currey et al. 2017)."""
    lines = _whole(((line,) for line in read_lines(text, LONGEST_TEXT)), text)
    pairs = ((_tagged(tag, line), line) for _, (line,) in lines)
    _write(output, (source_name, target_name), pairs, (text,))


class NoiseOptions(NamedTuple):
    """Arguments and options of `dragoman augment noise`."""

    source: SourceFile
    target: TargetFile
    output: Prefix
    source_name: SourceName
    target_name: TargetName
    drop: Annotated[float, typer.Option(min=0.0, max=1.0, help="Probability of dropping a word.")] = 0.1
    blank: Annotated[float, typer.Option(min=0.0, max=1.0, help="Probability of replacing a word by `_`.")] = 0.1
    shuffle: Annotated[int, typer.Option(min=0, help="Maximum distance by which a word moves.")] = 3
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1
    tag: Tag = ""


@command(
    group=augment, epilog="Example: dragoman augment noise train.en train.de --source-name en --target-name de -o noisy"
)
def noise(options: NoiseOptions) -> None:
    """Add noise to sources: drop, blank and shuffle words (Lample et al. 2018)."""
    from dragoman.corpus.examples import parallel
    from dragoman.text.noise import Noise

    noisy = Noise(options.drop, options.blank, options.shuffle)
    one_stream(options.source, options.target)
    pairs = _whole(parallel(options.source, options.target), options.source)
    noisy_pairs = ((_tagged(options.tag, noisy(pair[0], (options.seed, number))), pair[1]) for number, pair in pairs)
    names = options.source_name, options.target_name
    _write(options.output, names, noisy_pairs, (options.source, options.target))


def _tagged(tag: str, text: str) -> str:
    """Return the text after a tag that says where it comes from (Caswell et al. 2019)."""
    return f"{tag} {text}" if tag else text


def _of_one_source(run: Path) -> "Translator":
    from dragoman.data.language import is_only_text
    from dragoman.translation.loading import load

    translator = load(run)
    if not is_only_text(translator.sources) or translator.edited is not None:
        raise UserError(f"{run}: expected a run with a single text source and without data.edits")
    if translator.marks:
        raise UserError(f"{run}: augment does not support multilingual runs; use translate --to and combine the files")
    return translator


def _translated(translator: "Translator", path: Path, beam: int | None) -> Iterator[tuple[str, str]]:
    """Yield each line with its translation. Lines that are blank, or were not read whole, are left out, as are those
    whose translation is blank; the number of each is reported.
    """
    from dragoman.configuration.components import Spec
    from dragoman.search.table import in_place_of

    search = in_place_of(translator.search, Spec("greedy")) if beam == 1 else None
    left = Counter[str]()
    for portion in portions(_worded(read_lines(path, LONGEST_TEXT), left), PORTION):
        translations = translator.translate(
            portion.lines, beam_size=None if search else beam, search=search, details=False
        )
        for line, translation in zip(portion.lines, translations, strict=True):
            if translation.left_out:
                left[CUT] += 1
            elif (text := one_line(translation.text)).strip():
                yield line, text
            else:
                left[UNTRANSLATED] += 1
    _tell(left, path)


def _worded(lines: Iterable[str], left: Counter[str]) -> Iterator[str]:
    """Yield the lines that are not blank, and count the others."""
    for line in lines:
        if line.strip():
            yield line
        else:
            left[BLANK] += 1


def _whole(rows: Iterable[tuple[str, ...]], path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows that were read whole and have no blank text, with their numbers; report how many are not so."""
    left = Counter[str]()
    for number, row in enumerate(rows):
        if max(map(len, row)) > LONGEST_TEXT:
            left[CUT] += 1
        elif not all(text.strip() for text in row):
            left[BLANK] += 1
        else:
            yield number, row
    _tell(left, path)


def _tell(left: Counter[str], path: Path) -> None:
    """Report how many lines were left out, and why."""
    for why, count in left.items():
        tell(f"{shown(path)}: {count:,} {'line is' if count == 1 else 'lines are'} {why}, and left out")


def _write(
    prefix: Path, names: tuple[str, str], pairs: Iterable[tuple[str, str]], read: Sequence[Path], *runs: Path
) -> None:
    """Write the corpus PREFIX.SOURCE and PREFIX.TARGET once all pairs are there, and report their number. Raises
    UserError if this would replace a file that is `read`.
    """
    if names[0] == names[1]:
        raise UserError(f"{prefix}: source and target are both called '{names[0]}'; use different names")
    for name in names:
        if Path(name).name != name:
            raise UserError(f"{name}: expected the suffix of a file, such as en")
    paths = [Path(f"{prefix}.{name}") for name in names]
    outputs.check([("--output", path) for path in paths], read, runs)
    count = 0
    with outputs.new_files(*paths) as files:
        for pair in pairs:
            for file, text in zip(files, pair, strict=True):
                file.write(text + "\n")
            count += 1
        if not count:
            raise UserError(f"{prefix}: no pairs to write")
    tell(f"{paths[0]}, {paths[1]}: {count:,} pair{'s' * (count != 1)}. Add {prefix} to data.train")
