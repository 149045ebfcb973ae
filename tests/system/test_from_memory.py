"""`dragoman train --corrections` and `dragoman gate`: what they refuse, and post-editing from corrections."""

import json
import os
import re
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from dragoman.corpus.examples import read_texts
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.serving.corrections import Correction, Corrections
from dragoman.training import checks, mixing, session
from dragoman.translation import comparison as gate
from dragoman.translation.comparison import Comparison
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

LEARN = ("train", "--corrections", "db", "--finetune", "runs/toy", "--training.epochs=1")


@pytest.fixture
def corrected(copied: Shell) -> Shell:
    """Beside a trained run a database of corrections."""
    keep(copied.folder / "db", toy.pairs(40, 8), machine="un deux")
    return copied


def keep(
    path: Path, pairs: list[tuple[str, str]], machine: str = "", languages: tuple[str, str] = ("en", "fr")
) -> None:
    kept = Corrections(path)
    for source, target in pairs:
        kept.add(languages, Correction(source, target, machine))
    kept.close()


@pytest.mark.slow
def test_corpora_keep_the_shares_that_they_are_drawn_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = toy.corpus(tmp_path)
    toy.write(tmp_path, "small", toy.pairs(12, 5, 3))
    toy.write(corpus, "dev", toy.pairs(40, 2, 3))
    options = {"data.train": [str(corpus / "train"), "small"], "data.temperature": 2.0, "training.epochs": 1}
    session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    corrected_pairs = [
        mixing.CorrectedSentence(f"{source} six", "", f"{target} six") for source, target in toy.pairs(20, 1)
    ]
    corrections, large, small = mixing.configure("run", corrected_pairs, {}).config.data.weights
    assert corrections == mixing.CORRECTED
    sizes = (len((corpus / "train.en").read_text("utf-8").splitlines()), 12)
    assert large / small == pytest.approx((sizes[0] / sizes[1]) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "train --corrections db",
        "train --corrections db --finetune runs/toy --seeds 2",
        "train --corrections db --finetune runs/toy train",
        "train --corrections none --finetune runs/toy",
        "train --corrections others --finetune runs/toy",
        "train --corrections lines --finetune runs/toy",
        "train --corrections db --finetune runs/toy --run runs/toy",
        "gate runs/toy --against runs/toy --source dev.en --reference dev.fr",
        "train",
        "train --finetune runs/toy",
    ],
)
def test_what_cannot_be_is_told(words: str, corrected: Shell, golden: Golden) -> None:
    keep(corrected.folder / "others", [("eins", "un")], languages=("de", "fr"))
    keep(corrected.folder / "lines", [("one\ntwo", "un")])
    with patch.dict(os.environ, COLUMNS="200"):
        outcome = corrected(*words.split())
    assert outcome.code in (1, 2)
    assert "Traceback" not in outcome.err
    golden(outcome.err.splitlines()[-2 if outcome.code == 2 else -1].strip("│ "))
    assert not (corrected.folder / "runs/toy-corrections").exists()


@pytest.mark.slow
def test_a_run_of_other_languages_is_not_compared(corrected: Shell) -> None:
    turned = corrected(
        "train", "toy.yaml", "--data.source=fr", "--data.target=en", "--training.steps=1", "--run=runs/back"
    )
    assert turned.code == 0, turned.err
    message = corrected.fails(
        "gate", "runs/back", "--against", "runs/toy", "--source", "train.en", "--reference", "train.fr"
    )
    assert message == "runs/back: translates other languages than runs/toy, so they cannot be compared"
    assert not (corrected.folder / "runs/back/gate.json").exists()


@pytest.mark.slow
def test_a_run_that_was_not_compared_does_not_serve(corrected: Shell, golden: Golden) -> None:
    golden(corrected.fails(*LEARN))
    toy.write(corrected.folder, "dev", toy.pairs(60, 2, 3))
    corrected(*LEARN)
    new = Run.load(corrected.folder / "runs/toy-corrections")
    Comparison.read(new.folder.gate)
    new.folder.gate.unlink()
    golden(corrected.fails("serve", "runs/toy-corrections", "--port", "0"))
    gate.check(Run.load(corrected.folder / "runs/toy"), lambda: "")
    new.folder.gate.write_text("{}")
    golden(corrected.fails("serve", "runs/toy-corrections", "--port", "0"))
    keep(corrected.folder / "db", [("six six", "six")])
    (corrected.folder / "runs/toy-corrections/checkpoints/last.safetensors").unlink()
    (corrected.folder / "runs/toy-corrections/model.safetensors").unlink()
    golden(corrected.fails(*LEARN))


def test_runs_are_not_compared_by_nothing(corrected: Shell, golden: Golden) -> None:
    toy.write(corrected.folder, "held", toy.pairs(60, 2, 3))
    words = ("gate", "runs/toy", "--against", "old", "--source", "held.en", "--reference", "held.fr")
    shutil.copytree(corrected.folder / "runs/toy", corrected.folder / "old")
    path = corrected.folder / "old/config.yaml"
    text = re.sub(r"(?ms)^metrics:.*?(?=^\w|\Z)", "metrics: []\n", path.read_text("utf-8"))
    path.write_text(re.sub(r"(?m)^  metric: .*$", "  metric: loss", text), "utf-8")
    golden(corrected.fails(*words))
    assert not (corrected.folder / "runs/toy/gate.json").exists()


@pytest.mark.slow
def test_a_post_editor_learns_from_what_a_model_had_made(corrected: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corrected.folder)
    for part, count in (("train", 80), ("dev", 60)):
        toy.write(corrected.folder, part, toy.pairs(count, 2, 3))
        texts = Path(f"{part}.fr").read_text("utf-8")
        Path(f"{part}.mt").write_text(texts.replace("deux", "trois"), "utf-8")
    options = {"run": "runs/edit", "data.source": ["en", "mt"], "data.edits": "mt", "text.shared_vocabulary": True}
    options |= {"training.metric": "loss", "model.combination": "hierarchical", "training.epochs": 1}
    session.train(
        checks.load_config("toy.yaml", {key: json.dumps(value) for key, value in options.items()}), quiet=True
    )
    corrections = [
        mixing.CorrectedSentence("one two", "un deux", "deux un"),
        mixing.CorrectedSentence("six", "", "six"),
    ]
    with pytest.raises(UserError, match="1 correction is too few to train on; expected corrections of at least 2 "):
        mixing.configure("runs/edit", corrections, {})
    corrections += [
        mixing.CorrectedSentence(f"{source} six", f"six {target}", f"{target} six")
        for source, target in toy.pairs(20, 1)
    ]
    config = mixing.configure("runs/edit", corrections, {}).config
    assert config.data.edits == "mt"
    rows = list(read_texts(config.data.train[0], ("en", "mt", "fr")))
    assert all(machine != correction for _, machine, correction in rows)
    assert len(set(rows) & {tuple(value) for value in corrections}) == len(rows) > 10
