"""Pairs whose words a RUN aligns or, without one, counting which occur together: files, options and links."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli import outputs
from dragoman.cli.options import column_names
from dragoman.cli.streams import tell
from dragoman.corpus.aligners import LONGEST, Method, Symmetrisation, Words
from dragoman.corpus.pharaoh import Links

if TYPE_CHECKING:
    from dragoman.corpus.aligners import Find
    from dragoman.corpus.examples import Pair

OF_NO_RUN = {name: f"--{name}" for name in ("method", "symmetrise", "also", "columns", "tokeniser")}


class Tokenisers(StrEnum):
    """Values of `--tokeniser`."""

    punctuation = "punctuation"
    whitespace = "whitespace"


PairFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="[RUN] SOURCE [TARGET]",
        help="Folder of a trained run, or none; sentences, one per line; their translations. Without RUN, SOURCE "
        "alone may be a file with both languages, or with --columns the prefix of two.",
    ),
]
ByMethod = Annotated[
    Method | None,
    typer.Option(
        help="Without RUN: the alignment model to train on these pairs; hmm if not given. mask_align, a network, makes "
        "fewer errors and takes longer."
    ),
]
Symmetrised = Annotated[
    Symmetrisation | None,
    typer.Option(
        help="Without RUN: how the links of both directions become one alignment, or the direction to take alone; "
        "grow_diag_final_and if not given."
    ),
]
MorePairs = Annotated[
    str | None,
    typer.Option(metavar="CORPUS", help="Without RUN: more pairs to learn from, a prefix or file; not aligned."),
]
Columns = Annotated[
    str | None, typer.Option(metavar="SOURCE,TARGET", help="Without RUN: languages or columns of a corpus: en,de.")
]
TokenisedBy = Annotated[
    Tokenisers | None, typer.Option(help="Without RUN: what separates words, as `text` has it; punctuation.")
]


def by_run(options: Any, of_a_run: Mapping[str, str]) -> bool:
    """Whether a RUN aligns. Raises BadParameter for an option, by its name in the code, that goes with the other."""
    if len(options.files) > 3:
        raise typer.BadParameter("expected at most RUN, SOURCE and TARGET")
    found = len(options.files) == 3
    for name, option in (OF_NO_RUN if found else of_a_run).items():
        if getattr(options, name) != options._field_defaults[name]:
            raise typer.BadParameter(f"{option} is for aligning {'without' if found else 'by'} a RUN")
    return found


def corpora(
    files: list[Path], columns: str | None, more: str | None, output: Path | None, read: Sequence[Path | None] = ()
) -> "tuple[Iterator[Pair], Iterator[Pair]]":
    """The pairs to align, and `more` to learn from. UserError if the output is one of their files, or is `read`."""
    from dragoman.corpus import formats
    from dragoman.corpus.corpora import corpora as named_corpora
    from dragoman.corpus.corpora import side_by_side
    from dragoman.corpus.examples import corpus_files, parallel, read_pairs

    names = column_names(columns)
    own: list[Path]
    if len(files) == 2 and not formats.of_one_language(*files):
        source, target = own = files
        given = parallel(source, target)
        names = names or (side_by_side(source, target).names if more else ())
    else:
        places, names, _ = named_corpora(files, names)
        given, own = read_pairs(places, *names), corpus_files(places, *names)
    also = read_pairs(more, *names) if more else iter(())
    own = [*own, *(corpus_files(more, *names) if more else [])]
    outputs.check([("--output", output)], (*own, *read))
    return given, also


def _by_network() -> "Find":
    """What finds the places of words by a network, with the threads of the command."""
    from dragoman import devices
    from dragoman.configuration.config import DeviceConfig
    from dragoman.training.aligning import find

    devices.use_threads(DeviceConfig())
    return find


def links(
    pairs: Sequence[Words], also: Sequence[Words], method: Method | None, symmetrisation: Symmetrisation | None
) -> Iterator[Links]:
    """Yield the links of each pair, by a model that is trained on all of them."""
    from dragoman import threads
    from dragoman.cli.progress import passes
    from dragoman.corpus import aligners

    method, symmetrisation = method or Method.hmm, symmetrisation or Symmetrisation.grow_diag_final_and
    find = _by_network() if method is Method.mask_align else None
    with passes(aligners.passes(method, symmetrisation)) as passed:
        found = aligners.links(
            pairs,
            also,
            method=method,
            symmetrisation=symmetrisation,
            processes=threads.decide(0, 1),
            passed=passed,
            find=find,
        )
    long = sum(max(pair.counts) > LONGEST for pair in pairs)
    if long:
        tell(f"{long:,} pairs have no links: a sentence has more than {LONGEST} words")
    return found
