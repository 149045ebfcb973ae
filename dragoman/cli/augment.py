"""The commands `dragoman augment ...`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.commands.options import RunPath, SourceFile, TargetFile, Threads, prefix
from dragoman.text.normalise import Normaliser


def _word(text: str) -> str:
    """A tag as it can stand in a line."""
    return Normaliser(lowercase=False)(text).strip()


app = typer.Typer(no_args_is_help=True, help="Make more training pairs of what there is.")

Prefix = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="PREFIX", callback=prefix, help="Corpus to write: PREFIX.en and PREFIX.de."),
]
Texts = Annotated[Path, typer.Argument(metavar="TARGET", help="Texts in the target language, one a line.")]
Tag = Annotated[str, typer.Option(help="First word of each source; '' for none.", callback=_word)]
Width = Annotated[int | None, typer.Option(min=1, metavar="N", help="Width of the beam; 1 is greedy search.")]
Source = Annotated[str, typer.Option(help="Suffix of the sources.")]
Target = Annotated[str, typer.Option(help="Suffix of the targets.")]


@app.command()
def back(
    run: RunPath,
    target: Texts,
    output: Prefix,
    tag: Tag = "<bt>",
    beam: Width = None,
    threads: Threads = None,
) -> None:
    """Back-translation (Sennrich et al. 2016): RUN translates from the target language into sources for TARGET."""
    from dragoman.commands import augment

    augment.back(run, target, output, tag, beam)


@app.command()
def forward(
    run: RunPath,
    source: SourceFile,
    output: Prefix,
    tag: Tag = "<ft>",
    beam: Width = None,
    threads: Threads = None,
) -> None:
    """Forward translation (Zhang and Zong 2016): RUN translates SOURCE into targets."""
    from dragoman.commands import augment

    augment.forward(run, source, output, tag, beam)


@app.command()
def copy(
    text: Texts,
    output: Prefix,
    source_name: Source,
    target_name: Target,
    tag: Tag = "<copy>",
) -> None:
    """Copied texts (Currey et al. 2017): TARGET is its own source."""
    from dragoman.commands import augment

    augment.copy(text, output, (source_name, target_name), tag)


@app.command()
def noise(
    source: SourceFile,
    target: TargetFile,
    output: Prefix,
    source_name: Source,
    target_name: Target,
    drop: Annotated[float, typer.Option(min=0.0, max=1.0, help="Probability that a word is left out.")] = 0.1,
    blank: Annotated[float, typer.Option(min=0.0, max=1.0, help="Probability that a word becomes `_`.")] = 0.1,
    shuffle: Annotated[int, typer.Option(min=0, help="Places that a word moves at most.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the random choices.")] = 1,
    tag: Tag = "",
) -> None:
    """Noisy sources (Lample et al. 2018): words dropped, blanked and moved."""
    from dragoman.commands import augment
    from dragoman.text.noise import Noise

    augment.noise(source, target, output, (source_name, target_name), tag, Noise(drop, blank, shuffle), seed)
