"""Pairs whose words a RUN aligns or, without one, counting which occur together: files,
options and links, and gold links to compare with.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts, Requires
from dragoman.cli.options import ColumnNames
from dragoman.cli.options import Columns as AnyColumns
from dragoman.cli.streams import tell
from dragoman.corpus.aligners import LONGEST, Find, Method, Symmetrization, WordPair
from dragoman.corpus.pharaoh import Gold, Links, read_gold, without_word_0
from dragoman.files.reading import shown

if TYPE_CHECKING:
    from dragoman.corpus.examples import Pair


OF_RUN = Requires("RUN")
OF_NO_RUN = Conflicts("RUN")


Pretokenizer: TypeAlias = Literal["punctuation", "whitespace"]
PairFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="[RUN] SOURCE [TARGET]",
        help="Folder of a trained run (optional), source sentences and their translations, one per "
        "line. Without RUN, SOURCE may be a bilingual file, or with --columns the prefix of two "
        "files.",
    ),
]
ByMethod = Annotated[
    Method | None,
    typer.Option(
        help="Without RUN: alignment model to train on the pairs (default hmm). mask_align, a neural "
        "model, is more accurate and slower."
    ),
    OF_NO_RUN,
]
Symmetrized = Annotated[
    Symmetrization | None,
    typer.Option(
        help="Without RUN: symmetrization heuristic that merges both directions, or a single direction "
        "(default grow_diag_final_and)."
    ),
    OF_NO_RUN,
]
MorePairs = Annotated[
    str | None,
    typer.Option(
        metavar="CORPUS", help="Without RUN: additional training pairs, a prefix or file; they are not aligned."
    ),
    OF_NO_RUN,
]
Columns = Annotated[AnyColumns, OF_NO_RUN]
TokenizedBy = Annotated[
    Pretokenizer | None,
    typer.Option(help="Without RUN: word boundaries, as in text.source.pretokenizer (default punctuation)."),
    OF_NO_RUN,
]


def by_run(files: Sequence[Path]) -> bool:
    """Whether a RUN aligns."""
    if len(files) > 3:
        raise typer.BadParameter("expected at most RUN, SOURCE and TARGET")
    return len(files) == 3


def corpora(
    files: list[Path],
    columns: ColumnNames | None,
    more: str | None,
    output: Path | None,
    read: Sequence[Path | None] = (),
) -> "tuple[Iterator[Pair], Iterator[Pair]]":
    """The pairs to align, and `more` to learn from. UserError if the output is one of their files, or is `read`."""
    from dragoman.corpus import formats
    from dragoman.corpus.examples import corpus_files, parallel, read_pairs
    from dragoman.corpus.formats import corpora as named_corpora
    from dragoman.corpus.formats import side_by_side

    names: tuple[str, ...] = columns or ()
    own: list[Path]
    if len(files) == 2 and not formats.of_one_language(*files):
        source, target = own = files
        pairs = parallel(source, target)
        names = names or (side_by_side(source, target).names if more else ())
    else:
        places, names, _ = named_corpora(files, names)
        pairs, own = read_pairs(places, *names), corpus_files(places, *names)
    also = read_pairs(more, *names) if more else iter(())
    own = [*own, *(corpus_files(more, *names) if more else [])]
    outputs.check([("--output", output)], (*own, *read))
    return pairs, also


def _by_network() -> "Find":
    """What finds the places of words by a network, with the threads of the command."""
    from dragoman import devices
    from dragoman.configuration.config import DeviceConfig
    from dragoman.training.aligning import find

    devices.use_threads(DeviceConfig())
    return find


def links(
    pairs: Sequence[WordPair], also: Sequence[WordPair], method: Method | None, symmetrization: Symmetrization | None
) -> Iterator[Links]:
    """Yield the links of each pair, by a model that is trained on all of them."""
    from dragoman import threads
    from dragoman.cli.progress_bar import passes
    from dragoman.corpus import aligners

    method, symmetrization = method or Method.hmm, symmetrization or Symmetrization.grow_diag_final_and
    find = _by_network() if method is Method.mask_align else None
    with passes(aligners.passes(method, symmetrization)) as passed:
        links_of_pairs = aligners.links(
            pairs,
            also,
            method=method,
            symmetrization=symmetrization,
            processes=threads.decide(0, 1),
            passed=passed,
            find=find,
        )
    long = sum(max(pair.counts) > LONGEST for pair in pairs)
    if long:
        tell(f"{long:,} pairs were not aligned: a sentence has more than {LONGEST} words")
    return links_of_pairs


def read_gold_links(path: Path | None, *, one_based: bool) -> list[Gold]:
    """Return the links of `--gold`, none if it is not given. Tell if they seem to count words from 1."""
    links = read_gold(path, one_based=one_based) if path else []
    if path:
        tell_if_from_1(path, links, "--one-based")
    return links


def tell_if_from_1(path: Path, gold: Sequence[Gold], option: str) -> None:
    """Warn if links that should count words from 0 have no word 0, and name the option for links that count from 1."""
    if without_word_0(gold):
        tell(f"{shown(path)}: no link has a word 0; if words are counted from 1, add {option}")
