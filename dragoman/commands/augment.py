"""`dragoman augment`: more training pairs from what there is."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from dragoman.commands import outputs
from dragoman.commands.lines import PORTION, one_line, one_stream, portions, tell
from dragoman.configuration.components import Spec
from dragoman.corpus.examples import parallel
from dragoman.data.source import only_text
from dragoman.errors import UserError
from dragoman.files import LONGEST_TEXT, read_lines, shown, write_atomically
from dragoman.text.noise import Noise
from dragoman.translation.loading import load
from dragoman.translation.translator import Translator


def back(run: Path, target: Path, prefix: Path, tag: str, beam: int | None) -> None:
    """Pairs of tagged translations and the texts that they are of: `run` translates from the target language."""
    translator = _of_one_source(run)
    names = translator.target.name, translator.source.name
    found = ((tagged(tag, source), text) for text, source in _translated(translator, target, beam))
    _write(prefix, names, found, (target,), run)


def forward(run: Path, source: Path, prefix: Path, tag: str, beam: int | None) -> None:
    """Pairs of tagged texts and their translations."""
    translator = _of_one_source(run)
    names = translator.source.name, translator.target.name
    pairs = ((tagged(tag, text), found) for text, found in _translated(translator, source, beam))
    _write(prefix, names, pairs, (source,), run)


def copy(text: Path, prefix: Path, names: tuple[str, str], tag: str) -> None:
    """Pairs of target texts with themselves as sources."""
    lines = _whole(((line,) for line in read_lines(text, LONGEST_TEXT)), text)
    _write(prefix, names, ((tagged(tag, line), line) for _, (line,) in lines if line.strip()), (text,))


def noise(source: Path, target: Path, prefix: Path, names: tuple[str, str], tag: str, noise: Noise, seed: int) -> None:
    """Pairs whose sources are noisy."""
    one_stream(source, target)
    pairs = _whole(parallel(source, target), source)
    full = ((number, pair) for number, pair in pairs if all(text.strip() for text in pair))
    found = ((tagged(tag, noise(pair[0], (seed, number))), pair[1]) for number, pair in full)
    _write(prefix, names, found, (source, target))


def tagged(tag: str, text: str) -> str:
    """The text behind a word that says where it comes from (Caswell et al. 2019)."""
    return f"{tag} {text}" if tag else text


def _of_one_source(run: Path) -> Translator:
    translator = load(run)
    if not only_text(translator.sources) or translator.edited is not None:
        raise UserError(f"{run}: reads more than one text, numbers, or what it edits; one text is to be translated")
    if translator.marks:
        raise UserError(f"{run}: has several languages; use translate --to, and put the files side by side")
    return translator


def _translated(translator: Translator, path: Path, beam: int | None) -> Iterator[tuple[str, str]]:
    """Each line that is not blank with its translation, unless that is blank or not of the whole line; tell of how many
    it is not.
    """
    search = Spec("greedy") if beam == 1 else None
    full, cut = (line for line in read_lines(path, LONGEST_TEXT) if line.strip()), 0
    for portion in portions(full, PORTION):
        found = translator.translate(portion.lines, beam_size=None if search else beam, search=search)
        cut += sum(each.left_out > 0 for each in found)
        whole = (("" if each.left_out else one_line(each.text)) for each in found)
        yield from ((line, text) for line, text in zip(portion.lines, whole, strict=True) if text.strip())
    _tell(cut, path)


def _whole(rows: Iterable[tuple[str, ...]], path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Those that were read whole, by number; tell of how many were not."""
    cut = 0
    for number, row in enumerate(rows):
        if max(map(len, row)) > LONGEST_TEXT:
            cut += 1
        else:
            yield number, row
    _tell(cut, path)


def _tell(cut: int, path: Path) -> None:
    if cut:
        tell(f"{shown(path)}: {cut:,} lines are too long to be read whole, and left out")


def _write(
    prefix: Path, names: tuple[str, str], pairs: Iterable[tuple[str, str]], read: Sequence[Path], *runs: Path
) -> None:
    """The corpus PREFIX.SOURCE and PREFIX.TARGET, when all pairs are there; tell how many. UserError where that would
    replace what is `read`.
    """
    if names[0] == names[1]:
        raise UserError(f"{prefix}: source and target are both called '{names[0]}'; they would be one file")
    for name in names:
        if Path(name).name != name:
            raise UserError(f"{name}: expected the suffix of a file, such as en")
    paths = [Path(f"{prefix}.{name}") for name in names]
    outputs.check([("--output", path) for path in paths], read, runs)
    for path in paths:
        if path.exists():
            raise UserError(f"{path}: exists already; choose another --output, or remove it")
    count = 0
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(write_atomically(path)) for path in paths]
            for pair in pairs:
                for file, text in zip(files, pair, strict=True):
                    file.write(text + "\n")
                count += 1
    except BaseException:  # one of them may be there already, and is half a corpus
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    tell(f"{paths[0]}, {paths[1]}: {count:,} pairs. Add {prefix} to data.train")
