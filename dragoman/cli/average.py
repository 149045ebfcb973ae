"""`dragoman average`: the mean of several weights of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts
from dragoman.cli.options import RunPath, Threads, command
from dragoman.cli.streams import tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.run.run import Run


class AverageOptions(NamedTuple):
    """Arguments and options of `dragoman average`."""

    run: RunPath
    output: Annotated[Path, typer.Option("--output", "-o", callback=outputs.named, help="Weight file to write.")]
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="Weight files to average."),
        Conflicts("--last", "--best"),
    ] = None
    last: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Average the last N saved checkpoints."),
        Conflicts("--best"),
    ] = None
    best: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Average the N best checkpoints. Default: all saved ones.")
    ] = None
    threads: Threads = None


@command(epilog="Example: dragoman average runs/en-de --last 3 -o runs/en-de/mean.safetensors")
def average(options: AverageOptions) -> None:
    """Average checkpoints of a run."""
    output = options.output
    from dragoman import devices
    from dragoman.model.weights import average_weights, load_weights, write_tensors
    from dragoman.run.run import Run

    outputs.check([("--output", output)], options.files or (), [options.run])
    loaded = Run.load(options.run)
    devices.use_threads(loaded.config.device)
    model = loaded.model()
    paths = options.files or _choose_weights(loaded, options.last, options.best)
    tensors = average_weights(paths)
    load_weights(model, tensors, paths[0])  # fails if they belong to another run
    names = [path.name if path.parent == paths[0].parent else str(path) for path in paths]
    write_tensors(output, tensors, {"mean of": names})
    tell(f"{output}: the mean of {', '.join(names)}")


def _choose_weights(run: "Run", last: int | None, best: int | None) -> list[Path]:
    """Return the weights of validations that are still there, `training.average_checkpoints.count` if all are."""
    from dragoman.training import checkpoint
    from dragoman.training.checkpoint import Selection

    folder = run.folder
    state = folder.main.last_state
    ranked = Selection(folder, run.config.training).there(checkpoint.progress(state)) if state.is_file() else []
    if not ranked:
        raise UserError(f"{folder.path}: contains no saved checkpoints; name FILES")
    wanted = last or best or len(ranked)
    if wanted > len(ranked):
        raise UserError(
            f"{folder.path}: {wanted} checkpoints requested, {len(ranked)} saved "
            "(see training.average_checkpoints.count)"
        )
    steps = sorted(ranked)[-wanted:] if last else ranked[:wanted]
    return [folder.checkpoint(step) for step in steps]
