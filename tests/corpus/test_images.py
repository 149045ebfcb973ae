"""What a frozen network makes of images."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from dragoman.corpus.images import Network, images, library
from dragoman.errors import UserError
from tests.golden import Golden
from tests.system.conftest import Shell
from tests.system.interrupted import stand_in_operators

pytestmark = pytest.mark.skipif(find_spec("timm") is None, reason="needs the extra `images`")
CPU = torch.device("cpu")


@pytest.fixture(scope="module", autouse=True)
def operators() -> Iterator[None]:
    library = stand_in_operators()
    yield
    del library  # with which its declarations go


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four images of other sizes, and the weights of small networks that were never trained."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("images")
    (folder / "seen").mkdir()
    generator = np.random.default_rng(0)
    for number, name in enumerate(("b.png", "a.jpg", "d.png", "c.gif")):
        pixels = generator.integers(0, 255, (100 + 40 * number, 200, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "seen" / name)
    (folder / "seen" / "notes.txt").write_text("no image", "utf-8")
    for name in ("test_resnet", "test_vit"):
        save_file(network(name).state_dict(), folder / f"{name}.safetensors")
        torch.save({"state_dict": network(name).state_dict()}, folder / f"{name}.pth")
    return folder


def network(name: str) -> Any:
    timm, _ = library()
    torch.manual_seed(1)
    model: torch.nn.Module = timm.create_model(name, pretrained=False)
    return model.eval()


def prepared(path: Path, size: int = 160) -> torch.Tensor:
    """The preprocessing that test_resnet was published with, step by step: the shorter side is 160 / 0.95 pixels, the
    middle is cut out, and colors are between -1 and 1.
    """
    from PIL import Image

    with Image.open(path) as image:
        short = int(size / 0.95)
        width, height = (int(short * side / min(image.size)) for side in image.size)
        resized = image.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
        left, top = round((resized.width - size) / 2), round((resized.height - size) / 2)
        cut = resized.crop((left, top, left + size, top + size))
    return (torch.from_numpy(np.asarray(cut).copy()).float().permute(2, 0, 1) / 255 - 0.5) / 0.5


def seen(place: Path) -> list[Path]:
    """The images, none of which is missing."""
    return [path for path in images(place / "seen", None) if path is not None]


@pytest.mark.slow
@pytest.mark.spec("C11")
def test_regions_are_the_places_of_the_last_map(place: Path) -> None:
    paths = seen(place)
    assert [path.name for path in paths] == ["a.jpg", "b.png", "c.gif", "d.png"]
    frozen = Network("timm:test_resnet", place / "test_resnet.safetensors", CPU)
    regions = frozen(paths)
    with torch.inference_mode():
        maps = network("test_resnet").forward_features(torch.stack([prepared(path) for path in paths]))
    assert regions.shape == (4, 25, 96)
    for row in range(5):
        for column in range(5):
            expected = maps[:, :, row, column].numpy()
            np.testing.assert_allclose(regions[:, 5 * row + column], expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(frozen(paths[2:3])[0], regions[2], rtol=1e-3, atol=1e-4)  # whatever else is in the batch


@pytest.mark.slow
@pytest.mark.spec("C11")
def test_global_is_the_vector_before_the_classifier(place: Path) -> None:
    paths = seen(place)
    vectors = Network("timm:test_resnet", place / "test_resnet.pth", CPU, layer="global")(paths)
    regions = Network("timm:test_resnet", place / "test_resnet.pth", CPU)(paths)
    np.testing.assert_allclose(vectors, regions.mean(1), rtol=1e-4, atol=1e-5)  # a ResNet pools


@pytest.mark.slow
@pytest.mark.spec("C11")
def test_another_stage_and_a_network_of_patches(place: Path, golden: Golden) -> None:
    paths = seen(place)[:1]
    before = Network("timm:test_resnet", place / "test_resnet.safetensors", CPU, stage=-2)(paths)
    assert before.shape == (1, 100, 192)
    patches = Network("timm:test_vit", place / "test_vit.safetensors", CPU)(paths)
    assert patches.shape == (1, 100, 64)  # without the token of the class
    with pytest.raises(UserError, match=r"^--stage -9:") as raised:
        Network("timm:test_resnet", place / "test_resnet.safetensors", CPU, stage=-9)(paths)
    golden(str(raised.value))


@pytest.mark.spec("C11", "C12")
def test_vgg_has_the_regions_and_the_vector_of_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    """196 regions of 512 numbers before the last pooling (LH), 4,096 of its last full layer (Calixto et al. 2017); with
    neither numbers nor weights, of which there are 138 million.
    """
    with torch.device("meta") as nowhere:
        vgg, pixels = network("vgg16"), torch.zeros(2, 3, 224, 224)
    monkeypatch.setattr("dragoman.corpus.images._loaded", lambda *_: vgg)
    regions = Network("timm:vgg16", None, nowhere, stage=-2)._regions(pixels)
    whole = Network("timm:vgg16", None, nowhere, layer="global")._global(pixels)
    assert (regions.shape, whole.shape) == ((2, 196, 512), (2, 4096))


@pytest.mark.spec("C11")
@pytest.mark.slow
def test_the_command_writes_an_array_in_the_order_of_the_list(place: Path) -> None:
    shell = Shell(place)
    shell.write("list", "d.png\na.jpg\nd.png\n")
    rest = ("--model", "timm:test_resnet", "--weights", "test_resnet.safetensors")
    done = shell("features", "seen", "-o", "out.npy", *rest, "--list", "list", "--batch", "2")
    assert done.code == 0, done.err
    assert "out.npy: 3 images, 25 regions of 96 numbers each, in the order of list" in done.err
    written = np.load(place / "out.npy", mmap_mode="r")
    assert (written.shape, written.dtype) == ((3, 25, 96), np.float32)
    frozen = Network("timm:test_resnet", place / "test_resnet.safetensors", CPU)
    np.testing.assert_allclose(written[1], frozen([place / "seen" / "a.jpg"])[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(written[0], written[2], rtol=1e-3, atol=1e-4)
    shell.write("list", "\n \nd.png\n\na.jpg\n")  # two in the first batch
    done = shell("features", "seen", "-o", "some.npy", *rest, "--list", "list", "--batch", "2")
    assert "some.npy: 2 images (3 lines without), 25 regions of 96 numbers each" in done.err
    listed = np.load(place / "some.npy")
    assert not listed[[0, 1, 3]].any()
    np.testing.assert_allclose(listed[[2, 4]], written[:2], rtol=1e-3, atol=1e-4)
    assert shell("features", "seen", "-o", "all.npy", *rest, "--layer", "global").code == 0
    assert np.load(place / "all.npy").shape == (4, 96)


@pytest.mark.slow
def test_what_is_wrong_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(place)
    options = ("--model", "timm:test_resnet", "--weights", "test_resnet.safetensors")
    seen = ("features", "seen", "-o", "bad.npy")
    assert "did you mean 'vgg16'" in shell.fails(*seen, "--model", "timm:vgg166")
    assert shell.fails(*seen, "--model", "vgg16").startswith("--model vgg16: unknown network, expected timm:NAME")
    assert shell.fails(*seen, *options[:3], "nowhere.pth") == "nowhere.pth: no such file"
    other = ("--weights", "test_vit.safetensors")
    assert shell.fails(*seen, *options[:2], *other).startswith(
        "test_vit.safetensors: not the weights of timm:test_resnet"
    )
    shell.write("broken.pth", "nothing")
    assert shell.fails(*seen, *options[:3], "broken.pth").startswith("broken.pth: not the weights of timm:test_resnet")
    assert shell.fails("features", "nowhere", "-o", "bad.npy", *options) == "nowhere: no such folder"
    assert shell.fails("features", ".", "-o", "bad.npy", *options) == ".: no images"
    assert shell.fails("features", "seen", "-o", "bad.txt", *options) == "bad.txt: expected the name of a .npy file"
    shell.write("list", "\n")
    assert shell.fails(*seen, *options, "--list", "list") == "list: no images"
    shell.write("list", "a.jpg\nz.jpg\n")
    assert shell.fails(*seen, *options, "--list", "list") == "list:2: seen/z.jpg: no such file"
    shell.write("list", "a.jpg\nnotes.txt\n")
    outcome = shell(*seen, *options, "--list", "list", "--batch", "1")
    assert outcome.code == 1
    assert "seen/notes.txt: cannot be read as an image" in outcome.err
    broken = bytearray((place / "seen" / "b.png").read_bytes())
    broken[40:60] = bytes(20)
    (place / "bad").mkdir()
    (place / "bad" / "broken.png").write_bytes(broken)
    assert "bad/broken.png: cannot be read as an image" in shell("features", "bad", "-o", "bad.npy", *options).err
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 10)
    assert "seen/a.jpg: cannot be read as an image (Image size" in shell(*seen, *options).err
    monkeypatch.undo()
    assert shell.refuses(*seen, *options, "--layer", "global", "--stage", "-2").startswith(
        "usage: --stage cannot be com"
    )
    assert not (place / "bad.npy").exists()  # nor a part of it
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("timm.create_model", refuse)
    message = shell.fails(*seen, *options[:2])
    assert message.startswith("timm:test_resnet: its weights cannot be downloaded (offline); pass a weight file with")
    monkeypatch.setattr("dragoman.corpus.images.import_module", missing)
    assert "pip install -c constraints.txt -e '.[images]'" in shell.fails(*seen, *options)


def test_a_torchvision_for_another_torch_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.corpus.images.import_module", unfit)
    message = Shell(place).fails("features", "seen", "-o", "bad.npy", "--model", "timm:test_resnet")
    assert message.startswith("torchvision does not fit this torch (operator torchvision::nms does not exist); install")


def unfit(name: str) -> None:
    raise RuntimeError("operator torchvision::nms does not exist")


def refuse(*_: object, **__: object) -> None:
    raise OSError("offline")


def missing(name: str) -> None:
    raise ModuleNotFoundError(f"No module named '{name}'", name=name)
