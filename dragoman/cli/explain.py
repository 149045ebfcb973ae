"""`dragoman explain`: why a translation is as it is, and why it is not another one."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts, Requires
from dragoman.cli.options import Beam, MemoryPlace, Search, Threads, To, Weights, command
from dragoman.cli.streams import is_typed, portions, tell
from dragoman.cli.translate_options import Schema
from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT
from dragoman.text.normalizer import printable

if TYPE_CHECKING:
    from dragoman.corpus.features import Given
    from dragoman.translation.explanation.explanation import Explanation
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator

STDIN = Path("-")
SENTENCES = 32  # that are explained together
NEAREST = 3
MAPS = ("attention", "gradient", "erasure", "contrast")


class ExplainOptions(NamedTuple):
    """Arguments and options of `dragoman explain`."""

    words: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [SENTENCE...]",
            help="Folders of trained runs, and one sentence per source. Default: lines of standard input.",
        ),
    ]
    target: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Explain this translation instead of the model's."),
        Requires("a SENTENCE"),
        Conflicts("--search", "--beam", "--tree", because="the translation is given"),
    ] = None
    contrast: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Explain why the model does not produce this translation."),
        Requires("a SENTENCE"),
    ] = None
    show: Annotated[bool, typer.Option("--show", help="Draw the attribution map of each method.")] = False
    tree: Annotated[bool, typer.Option("--tree", help="Draw the search tree of hypotheses.")] = False
    nearest: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of similar training pairs to show (default 3, if the training data are available).",
        ),
    ] = None
    export: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MAP=FILE",
            help="Write the maps attention, gradient, erasure or contrast as .svg, .json or .csv. May be repeated.",
        ),
        Requires("a SENTENCE"),
    ] = None
    json: Annotated[
        bool,
        typer.Option("--json", help="Write one JSON object per sentence with the translation and its explanation."),
        Conflicts("--show", "--tree", because="it writes everything"),
    ] = False
    schema: Schema = False
    search: Search = None
    beam: Beam = None
    to: To = None
    weights: Weights = None
    translation_memory: MemoryPlace = None
    threads: Threads = None

    @property
    def a_sentence(self) -> bool:
        return bool(_split(self.words)[1])


@command(epilog="Example: dragoman explain runs/en-de 'the red house' --contrast 'das Haus'")
def explain(options: ExplainOptions) -> None:
    """Attribute each target word to source words by attention, gradients and erasure."""
    runs, sentence = _split(options.words)
    exports = _exports(options)
    from dragoman.cli import sources
    from dragoman.translation.loading import load

    outputs.check([("--export", path) for _, path in exports], [], runs)
    translator = load(runs, weights=options.weights, translation_memory=options.translation_memory)
    if sentence:
        text = "\t".join(sentence)
        inputs = (
            sources.text_of(text, Path("SENTENCE"), 1, translator)
            if len(sentence) == 1
            else _check_sources(sentence, translator)
        )
        (translation,) = _explained(translator, [inputs], options)
        _write(translation, options)
        for name, path in exports:
            _export(translation, name, path)
        return
    lines = sources.texts(STDIN, translator)
    for portion in portions(lines, SENTENCES, typed=is_typed(STDIN)):
        for number, translation in enumerate(_explained(translator, portion.lines, options)):
            if not options.json and (portion.first, number) != (1, 0):
                typer.echo()
            _write(translation, options)


def _split(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Split RUN... [SENTENCE...]: runs are the folders that come first. A sentence may be too long for a name."""
    count = next((number for number, word in enumerate(words) if number and not os.path.isdir(word)), len(words))
    sentence = [] if list(words[count:]) == ["-"] else list(words[count:])
    for word in sentence:
        if os.path.isfile(word):
            raise UserError(f"{word}: is a file; pass its lines on standard input: < {word}")
    return [Path(word) for word in words[:count]], sentence


def _check_sources(sentence: Sequence[str], translator: "Translator") -> "tuple[Given, ...]":
    """Return a text for each source. Raises UserError for another number of them."""
    names = [source.name for source in translator.user_sources]
    if len(sentence) != len(names):
        wanted = f"one sentence for each of {', '.join(names)}" if len(names) > 1 else "one sentence, in quotes"
        raise UserError(f"expected {wanted}, found {len(sentence)}")
    return tuple(sentence)


def _exports(options: ExplainOptions) -> list[tuple[str, Path]]:
    """Return the maps to write, with their files. Raises BadParameter if one is not called as MAPS and FORMATS are."""
    files: list[tuple[str, Path]] = []
    for text in options.export or ():
        from dragoman.visualization import exports

        name, equals, path = text.partition("=")
        if not equals or name not in MAPS:
            raise typer.BadParameter(f"--export {text}: expected MAP=FILE, where MAP is one of {', '.join(MAPS)}")
        if name == "contrast" and options.contrast is None:
            raise typer.BadParameter(f"--export {text}: requires --contrast TEXT")
        exports.form(Path(path))
        file = outputs.named(Path(path))
        if file.resolve() in (other.resolve() for _, other in files):
            raise typer.BadParameter(f"--export {text}: {path} is already the output of another map")
        files.append((name, file))
    return files


def _explained(
    translator: "Translator", inputs: "Sequence[tuple[Given, ...]]", options: ExplainOptions
) -> "list[Translation]":
    """Return the translations of some lines with their explanations."""
    _check_lengths(translator, inputs, options)
    if options.target is None:
        from dragoman.cli import sources

        search = sources.search_of(translator, options.search, options.beam)
        translations = translator.translate(inputs, to=options.to, search=search, beam_size=options.beam)
    else:
        scored = translator.score(inputs, [options.target], to=options.to, confidence=True)
        translations = [pair.translation for pair in scored]
    contrasts = [] if options.contrast is None else [options.contrast]
    try:
        explanations = translator.explain(
            translations, contrasts, nearest=NEAREST if options.nearest is None else options.nearest
        )
    except UserError as error:
        if options.nearest is not None:
            raise
        tell(f"without similar training pairs: {error}")
        explanations = translator.explain(translations, contrasts)
    return [
        replace(translation, explanation=explanation)
        for translation, explanation in zip(translations, explanations, strict=True)
    ]


def _check_lengths(translator: "Translator", inputs: "Sequence[tuple[Given, ...]]", options: ExplainOptions) -> None:
    """Raises UserError for a longer text than a search reads: time and memory grow with the square of its length."""
    from dragoman.translation.source_inputs import LONGEST

    encode, texts = translator.target.text.encode, {"--target": options.target, "--contrast": options.contrast}
    long = [name for name, text in texts.items() if text and len(encode(text[:LONGEST_TEXT])) > LONGEST]
    if options.target is not None and any(map(translator.left_out, inputs)):  # a search would read its beginning
        long.append("SENTENCE")
    for name in long:
        raise UserError(f"{name}: too long to be explained, more than {LONGEST} symbols")


def _write(translation: "Translation", options: ExplainOptions) -> None:
    """Print a translation with its explanation."""
    from dragoman.translation.result import Result

    if options.json:
        typer.echo(Result(translation).line())
        return
    from rich.console import Console

    console = Console(highlight=False)
    for source in translation.sources:
        console.print(
            f"{source.label + ' ' if len(translation.sources) > 1 else ''}{printable(source.text)}", markup=False
        )
    sure = f"    confidence {translation.confidence.sentence:.2f}" if translation.confidence else ""
    console.print(f"{printable(translation.text)}    log P {translation.log_prob:.2f}{sure}\n", markup=False)
    assert translation.explanation is not None
    console.print(translation.explanation)
    for drawn in _draw(translation.explanation, options):
        console.print()
        console.print(drawn)


def _draw(explanation: "Explanation", options: ExplainOptions) -> "Iterator[object]":
    """Yield the maps, beams and contrasts that the options select."""
    from dragoman.translation.explanation.explanation import METHODS
    from dragoman.visualization import explained, heatmap

    for method in METHODS if options.show else ():
        seen = explanation.matrix(method)
        yield method
        yield heatmap.terminal(seen.attention, seen.columns, explanation.words, signed=method != "attention")
    if options.tree:
        yield explained.draw_search(explanation.beam)


def _export(translation: "Translation", name: str, path: Path) -> None:
    """Write a map."""
    from dragoman.translation.explanation.explanation import METHODS
    from dragoman.visualization import exports
    from dragoman.visualization.exports import WordMap

    explanation = translation.explanation
    assert explanation is not None
    method = next((known_method for known_method in METHODS if known_method == name), None)
    seen = explanation.contrast_matrix() if method is None else explanation.matrix(method)
    rows = ["gradient", "erasure"] if method is None else explanation.words
    exports.write(path, WordMap(seen.attention, seen.columns, rows, signed=method != "attention"))
