"""`dragoman features`: arrays of features from images."""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import Conflicts
from dragoman.cli.options import Threads, command
from dragoman.cli.streams import tell
from dragoman.errors import UserError


class FeaturesOptions(NamedTuple):
    """Arguments and options of `dragoman features`."""

    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of images.")]
    output: Annotated[Path, typer.Option("--output", "-o", callback=outputs.named, help="Output file (.npy).")]
    model: Annotated[str, typer.Option(metavar="timm:NAME", help="Network, such as timm:vgg16 or timm:resnet50.")]
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Weights of the network (.safetensors, .pth). Default: downloaded."),
    ] = None
    layer: Annotated[
        Literal["regions", "global"],
        typer.Option(help="Features to extract: regions of a feature map, or one vector per image."),
    ] = "regions"
    stage: Annotated[
        int,
        typer.Option(metavar="N", help="Index of the feature map: -1 is the last one, -2 the one before it."),
        Conflicts("--layer global", because="the vector of a whole image does not come from a feature map"),
    ] = -1
    list_: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="File of image names, one per line. Default: all images, sorted."),
    ] = None
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Batch size.")] = 32
    threads: Threads = None


@command(epilog="Example: dragoman features images --model timm:resnet50 -o train.image.npy")
def features(options: FeaturesOptions) -> None:
    """Extract image features with a pretrained network, as a source for `data.features`."""
    from rich.console import Console
    from rich.progress import track

    from dragoman import devices
    from dragoman.configuration.config import DeviceConfig
    from dragoman.corpus.images import Network, extract, images

    target, names = options.output, options.list_
    if target.suffix != ".npy":
        raise UserError(f"{target}: expected the name of a .npy file")
    paths = images(options.folder, names)
    outputs.check([("--output", target)], [names, options.weights, *paths])
    device = devices.choose(DeviceConfig()).torch_device
    network = Network(options.model, options.weights, device, layer=options.layer, stage=options.stage)
    batches = [paths[first : first + options.batch] for first in range(0, len(paths), options.batch)]
    console = Console(stderr=True)
    shape = extract(network, paths, track(batches, f"{len(paths):,} images", console=console), target)
    *regions, size = shape[1:]
    shape_text = f"{regions[0]:,} regions of {size:,} numbers" if regions else f"{size:,} numbers"
    missing = f" ({paths.count(None):,} lines without)" if None in paths else ""
    order = f"{shape_text} each, in the order of {names or 'their names'}"
    tell(f"{target}: {len(paths) - paths.count(None):,} images{missing}, {order}")
