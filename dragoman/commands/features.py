"""`dragoman features`: images as numbers."""

from pathlib import Path

from rich.console import Console
from rich.progress import track

from dragoman import devices
from dragoman.commands import outputs
from dragoman.commands.lines import tell
from dragoman.configuration.config import DeviceConfig
from dragoman.corpus.images import Layer, Network, extract, images
from dragoman.errors import UserError


def features(
    folder: Path,
    target: Path,
    model: str,
    weights: Path | None,
    layer: Layer,
    stage: int,
    names: Path | None,
    batch: int,
) -> None:
    """Write what a frozen network makes of images, an array for each, and tell of what shape."""
    if target.suffix != ".npy":
        raise UserError(f"{target}: expected the name of a .npy file")
    if layer == "global" and stage != -1:
        raise UserError("--stage: chooses a feature map, and --layer global takes none; leave out one")
    paths = images(folder, names)
    outputs.check([("--output", target)], [names, weights, *paths])
    network = Network(model, weights, devices.choose(DeviceConfig()).torch_device, layer=layer, stage=stage)
    batches = [paths[first : first + batch] for first in range(0, len(paths), batch)]
    console = Console(stderr=True)
    shape = extract(network, paths, track(batches, f"{len(paths):,} images", console=console), target)
    *regions, size = shape[1:]
    told = f"{regions[0]:,} regions of {size:,} numbers" if regions else f"{size:,} numbers"
    missing = f" ({paths.count(None):,} lines without)" if None in paths else ""
    order = f"{told} each, in the order of {names or 'their names'}"
    tell(f"{target}: {len(paths) - paths.count(None):,} images{missing}, {order}")
