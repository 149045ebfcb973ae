"""Image features from a frozen network (Libovicky and Helcl 2017, 4.1; Calixto and Liu 2017)."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from torch import Tensor

from dragoman.configuration.messages import nearest
from dragoman.errors import UserError, missing_library
from dragoman.files.reading import read_lines
from dragoman.files.writing import write_atomically

Layer = Literal["regions", "global"]
LIBRARY = "timm:"
SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}


class Network:
    """A frozen network of timm, with its own preprocessing, that maps images to features.

    With layer `regions`, the features are the positions of a feature map, row by row: the last map, or the one at
    `stage` (-2 is the one before the last). With `global`, they are the vector before the classifier. Without a file of
    `weights` (.safetensors, .pth), timm downloads the published ones. UserError if timm or the weights are missing, or
    the weights do not fit.
    """

    def __init__(
        self, name: str, weights: Path | None, device: torch.device, *, layer: Layer = "regions", stage: int = -1
    ) -> None:
        timm, self._pillow = library()
        kind = name.removeprefix(LIBRARY)
        if kind == name or not timm.is_model(kind):
            near = nearest(kind, timm.list_models()) if kind != name else f"expected {LIBRARY}NAME"
            raise UserError(f"--model {name}: unknown network, {near}")
        self.name = name
        self._network = _loaded(timm, kind, weights).eval().requires_grad_(False).to(device)
        settings = timm.data.resolve_data_config({}, model=self._network)
        self._transform = timm.data.create_transform(**settings, is_training=False)
        self._layer, self._stage, self._device = layer, stage, device

    @torch.inference_mode()
    def __call__(self, paths: Sequence[Path]) -> npt.NDArray[np.float32]:
        """The features of these images: (images, regions, size), or (images, size) with layer `global`."""
        images = torch.stack([self._image(path) for path in paths]).to(self._device)
        features = self._regions(images) if self._layer == "regions" else self._global(images)
        numbers: npt.NDArray[np.float32] = features.float().cpu().numpy()
        return numbers

    def _image(self, path: Path) -> Tensor:
        try:
            with self._pillow.open(path) as image:
                return cast(Tensor, self._transform(image.convert("RGB")))
        except (OSError, SyntaxError, ValueError, self._pillow.DecompressionBombError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"{path}: cannot be read as an image ({reason})") from error

    def _regions(self, images: Tensor) -> Tensor:
        try:
            (maps,) = self._network.forward_intermediates(
                images, indices=[self._stage], norm=True, output_fmt="NCHW", intermediates_only=True
            )
        except AttributeError as error:
            raise UserError(f"--model {self.name}: has no feature map; use --layer global") from error
        except (AssertionError, IndexError, ValueError) as error:
            raise UserError(f"--stage {self._stage}: {self.name} has no such feature map") from error
        return cast(Tensor, maps.flatten(2).transpose(1, 2))

    def _global(self, images: Tensor) -> Tensor:
        return cast(Tensor, self._network.forward_head(self._network.forward_features(images), pre_logits=True))


def extract(
    network: Network, paths: Sequence[Path | None], batches: Iterable[Sequence[Path | None]], target: Path
) -> tuple[int, ...]:
    """Write the features of these images, zeros for missing ones, as one array to a .npy file; return its shape.
    `batches` are the same images in batches.
    """
    shape = network([path for path in paths if path][:1]).shape[1:]
    with write_atomically(target, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(paths), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for batch in batches:
            numbers = np.zeros((len(batch), *shape), "<f4")
            if there := [number for number, path in enumerate(batch) if path]:
                numbers[there] = network([path for path in batch if path])
            file.write(numbers.tobytes())
    return len(paths), *shape


def images(folder: Path, names: Path | None) -> list[Path | None]:
    """The images of a folder: those listed in the file `names`, one per line (None for a blank line), or without it all
    images, sorted by name. UserError if there are none, or one is missing.
    """
    paths: list[Path | None]
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    if names is None:
        paths = [*sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)]
    else:
        paths = [folder / name.strip() if name.strip() else None for name in read_lines(names)]
        for number, path in enumerate(paths, start=1):
            if path and not path.is_file():
                raise UserError(f"{names}:{number}: {path}: no such file")
    if not any(paths):
        raise UserError(f"{names or folder}: no images")
    return paths


def _loaded(timm: Any, kind: str, weights: Path | None) -> Any:
    """Create the network and load its weights."""
    try:
        if weights is None:
            return timm.create_model(kind, pretrained=True)
        network = timm.create_model(kind, pretrained=False)
        timm.models.load_checkpoint(network, str(weights), weights_only=True)
    except FileNotFoundError as error:
        if weights is not None:
            raise UserError(f"{weights}: no such file") from None
        raise UserError(_unreachable(kind, error)) from error
    except (OSError, RuntimeError, ValueError, KeyError, EOFError, UnpicklingError, SafetensorError) as error:
        if weights is None:
            raise UserError(_unreachable(kind, error)) from error
        raise UserError(f"{weights}: not the weights of {LIBRARY}{kind} ({_reason(error)})") from error
    return network


def _unreachable(kind: str, error: Exception) -> str:
    return f"{LIBRARY}{kind}: its weights cannot be downloaded ({_reason(error)}); pass a weight file with --weights"


def _reason(error: Exception) -> str:
    """The first line of an error."""
    return str(error).partition("\n")[0] or type(error).__name__


def library() -> tuple[Any, Any]:
    """Import timm and Pillow's `Image`. Raises a UserError that names the extra if one is not installed, and one if
    torchvision, which timm imports, does not fit torch.
    """
    try:
        return import_module("timm"), import_module("PIL.Image")
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "images") from error
    except RuntimeError as error:
        raise UserError(
            f"torchvision does not fit this torch ({_reason(error)}); install both from one index"
        ) from error
