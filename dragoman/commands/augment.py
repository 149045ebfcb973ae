"""`dragoman augment`: more training pairs from what there is."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import typer

from dragoman.commands.lines import one_line, one_stream, portions
from dragoman.components import Spec
from dragoman.data.corpus import parallel
from dragoman.errors import UserError
from dragoman.files import read_lines, write_atomically
from dragoman.text.noise import Noise
from dragoman.translator import Translator, load

PORTION = 256  # lines that are translated together, at most


def back(run: Path, target: Path, prefix: Path, tag: str, beam: int | None) -> None:
    """Pairs of tagged translations and the texts that they are of: `run` translates from the target language."""
    translator = _of_one_source(run)
    names = translator.target.name, translator.source.name
    found = ((tagged(tag, source), text) for text, source in _translated(translator, target, beam))
    _write(prefix, names, found)


def forward(run: Path, source: Path, prefix: Path, tag: str, beam: int | None) -> None:
    """Pairs of tagged texts and their translations."""
    translator = _of_one_source(run)
    names = translator.source.name, translator.target.name
    _write(prefix, names, ((tagged(tag, text), found) for text, found in _translated(translator, source, beam)))


def copy(text: Path, prefix: Path, names: tuple[str, str], tag: str) -> None:
    """Pairs of target texts with themselves as sources."""
    _write(prefix, names, ((tagged(tag, line), line) for line in read_lines(text) if line.strip()))


def noise(source: Path, target: Path, prefix: Path, names: tuple[str, str], tag: str, noise: Noise, seed: int) -> None:
    """Pairs whose sources are noisy."""
    one_stream(source, target)
    pairs = enumerate(parallel(source, target))
    _write(prefix, names, ((tagged(tag, noise(pair.source, (seed, number))), pair.target) for number, pair in pairs))


def tagged(tag: str, text: str) -> str:
    """The text behind a word that says where it comes from (Caswell et al. 2019)."""
    return f"{tag} {text}" if tag else text


def _of_one_source(run: Path) -> Translator:
    translator = load(run)
    if len(translator.sources) > 1:
        raise UserError(f"{run}: has several sources, and one text is to be translated")
    return translator


def _translated(translator: Translator, path: Path, beam: int | None) -> Iterator[tuple[str, str]]:
    """Each line that is not blank with its translation, unless that is blank."""
    search = Spec("greedy") if beam == 1 else None
    full = (line for line in read_lines(path) if line.strip())
    for portion in portions(full, PORTION):
        found = translator.translate(portion.lines, beam_size=None if search else beam, search=search)
        texts = [one_line(each.text) for each in found]
        yield from ((line, text) for line, text in zip(portion.lines, texts, strict=True) if text.strip())


def _write(prefix: Path, names: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> None:
    """The corpus PREFIX.SOURCE and PREFIX.TARGET, when all pairs are there; tell how many."""
    if names[0] == names[1]:
        raise UserError(f"{prefix}: source and target are both called '{names[0]}'; they would be one file")
    paths = [prefix.with_name(f"{prefix.name}.{name}") for name in names]
    count = 0
    with ExitStack() as stack:
        files = [stack.enter_context(write_atomically(path)) for path in paths]
        for pair in pairs:
            for file, text in zip(files, pair, strict=True):
                file.write(text + "\n")
            count += 1
    typer.echo(f"{paths[0]}, {paths[1]}: {count:,} pairs. Add {prefix} to data.train", err=True)
