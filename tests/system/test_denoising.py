"""Pretraining on texts of one language by the commands, and the translator that starts from it."""

import pytest

from tests.system.conftest import Shell

SMALL = ("--training.epochs=1", "--text.shared_vocabulary=true")


@pytest.mark.slow
def test_from_texts_to_a_translator(copied: Shell) -> None:
    """A file of one language is all that there is."""
    for name in ("train", "dev"):
        copied.write(f"mono-{name}.fr", (copied.folder / f"{name}.fr").read_bytes())
    data = "--data.source=fr", "--data.target=fr", "--data.train=mono-train", "--data.dev=mono-dev"
    noise = "--data.noise=infilling"
    assert copied("debug", "data", "toy.yaml", *data, noise).code == 0
    outcome = copied("train", "toy.yaml", "--run=runs/denoised", *data, noise, *SMALL)
    assert outcome.code == 0, outcome.err
    assert (copied.folder / "runs" / "denoised" / "report.html").is_file()
    outcome = copied("translate", "runs/denoised", stdin="un deux\n")
    assert (outcome.code, outcome.out.count("\n")) == (0, 1)
    start = "--training.init_from=runs/denoised", "--text.vocabulary_from=runs/denoised"
    outcome = copied("train", "toy.yaml", "--run=runs/started", *start, *SMALL)
    assert outcome.code == 0, outcome.err
    assert "begins with runs/denoised/model.safetensors" in outcome.err
    assert copied("translate", "runs/started", stdin="one two\n").code == 0
