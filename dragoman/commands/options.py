"""What several commands take."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Searches(StrEnum):
    """What `--search` takes."""

    greedy = "greedy"
    beam = "beam"


class Tokenisers(StrEnum):
    """How BLEU separates words."""

    v13a = "13a"
    intl = "intl"
    zh = "zh"
    char = "char"
    none = "none"


RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a trained run.")]
Configuration = Annotated[
    list[str],
    typer.Argument(metavar="CONFIG", help="YAML file; any of its keys as --section.key VALUE beside it."),
]
SourceFile = Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one a line.")]
TargetFile = Annotated[Path, typer.Argument(metavar="TARGET", help="Their translations, line by line.")]
Weights = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="model, model-best, model-last, or another file of the run."),
]
