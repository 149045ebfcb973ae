"""`calibrate`, the confidence of translations, and lines that are left empty for the want of it."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from dragoman.training import session
from dragoman.translation.calibration import Calibration
from tests import toy
from tests.forms import results
from tests.golden import Golden
from tests.system.conftest import Shell

CALIBRATE = ("calibrate", "runs/toy", "--source=train.en", "--reference=train.fr")
TRANSLATE = ("translate", "runs/toy", "test.en")


@pytest.fixture
def calibrated(copied: Shell) -> Shell:
    assert copied(*CALIBRATE).code == 0
    return copied


def test_calibrating_tells_the_loss_and_the_error_before_and_after(calibrated: Shell) -> None:
    """And again in place of what was found before, which it tells."""
    outcome = calibrated(*CALIBRATE)
    assert outcome.code == 0, outcome.err
    calibration = Calibration.read(calibrated.folder / "runs/toy/calibration.json")
    counts, head, before, after = outcome.lines
    assert counts == f"{calibration.symbols:,} symbols of 80 sentences"
    assert head.split()[:2] == ["temperature", "-log"]
    assert before.split() == ["1.0000", f"{calibration.before.loss:.4f}", f"{100 * calibration.before.error:.2f}"]
    assert after.split() == [
        f"{calibration.temperature:.4f}",
        f"{calibration.after.loss:.4f}",
        f"{100 * calibration.after.error:.2f}",
    ]
    assert calibration.after.loss < calibration.before.loss
    end = f"temperature {calibration.temperature:.4f} for model.safetensors"
    assert outcome.err.endswith(f"{end}, in place of {calibration.temperature:.4f} for model.safetensors\n")


@pytest.mark.slow
def test_the_weights_that_are_named_are_measured(copied: Shell) -> None:
    """As if they were the run's own."""
    run = copied.folder / "runs/toy"
    shutil.copy(run / "checkpoints/step-00000005.safetensors", run / "first.safetensors")
    named = copied(*CALIBRATE, "--weights=first")
    stored = Calibration.read(run / "calibration.json")
    assert stored.weights == "first.safetensors"
    assert named.out != copied(*CALIBRATE).out
    shutil.copy(run / "first.safetensors", run / "model.safetensors")
    assert named.out == copied(*CALIBRATE).out
    assert Calibration.read(run / "calibration.json") == stored.model_copy(update={"weights": "model.safetensors"})


def test_translations_of_other_sources_are_told(copied: Shell) -> None:
    copied.write("test.one", "one\n" * 30)
    copied.write("test.six", "six six six six six six\n" * 30)
    message = "assigns these translations no more than chance probability; check that they match the sources"
    outcome = copied("calibrate", "runs/toy", "--source=test.one", "--reference=test.six")
    assert (outcome.code, message in outcome.err) == (0, True)
    assert message not in copied(*CALIBRATE).err


def test_translations_have_a_confidence_then(calibrated: Shell) -> None:
    """Of each word, and of the whole; texts and log-probabilities stay."""
    records = results(calibrated(*TRANSLATE, "--json", "--n-best=2").lines)
    (calibrated.folder / "runs/toy/calibration.json").unlink()
    plain = results(calibrated(*TRANSLATE, "--json", "--n-best=2").lines)
    for one, other in zip(records, plain, strict=True):
        assert one.translation.text == other.translation.text
        assert other.translation.confidence is None
        assert "confidence" not in other.json()
        for hypothesis in one.translation.n_best:
            confidence, steps = hypothesis.confidence, [step.calibrated for step in hypothesis.steps]
            assert confidence is not None
            assert 0 <= confidence.sentence <= 1
            assert len(confidence.words) == len(hypothesis.words)
            assert None not in steps
            end = math.exp(hypothesis.steps[-1].calibrated or 0.0)
            assert confidence.sentence == pytest.approx(np.mean([*confidence.words, end]))
        assert one.translation.steps[0].log_prob == pytest.approx(other.translation.steps[0].log_prob, abs=1e-4)


@pytest.mark.slow
def test_lines_below_the_least_confidence_are_empty(calibrated: Shell) -> None:
    """As many lines as before, told by number on standard error and in JSON; what was withheld is there."""
    whole, records = calibrated(*TRANSLATE).lines, results(calibrated(*TRANSLATE, "--json").lines)
    sure = [record.translation.confidence.sentence for record in records if record.translation.confidence]
    least = f"--min-confidence={sum(sorted(sure)[3:5]) / 2}"
    outcome = calibrated(*TRANSLATE, least)
    assert outcome.code == 0
    empty = [number for number, record in enumerate(sure) if record <= sorted(sure)[3]]
    assert outcome.lines == ["" if number in empty else line for number, line in enumerate(whole)]
    reported = re.findall(r"^test\.en:(\d+): left empty, its confidence is (0\.\d{3})$", outcome.err, re.MULTILINE)
    assert reported == [(str(number + 1), f"{sure[number]:.3f}") for number in empty]
    assert "test.en: 4 of 6 lines were left empty: confidence is below 0." in outcome.err
    for number, line in enumerate(calibrated(*TRANSLATE, least, "--json", "--n-best=2").lines):
        value = json.loads(line)
        assert value["text"] == outcome.lines[number]
        assert value.get("withheld") == (whole[number] if number in empty else None)
        assert value["words"] == records[number].translation.words
        assert len(value["alternatives"]) == 1
    (read, *_) = results([json.dumps(value, ensure_ascii=False, separators=(",", ":"))])
    assert read.translation.withheld == value.get("withheld")
    aligned = calibrated(*TRANSLATE, least, "--alignments").lines
    assert [line == " ||| " for line in aligned] == [number in empty for number in range(6)]
    assert calibrated(*TRANSLATE, "--min-confidence=0").lines == whole
    assert calibrated(*TRANSLATE, "--min-confidence=1").lines == [""] * 6


@pytest.mark.slow
def test_a_blank_line_is_no_lack_of_confidence(calibrated: Shell) -> None:
    outcome = calibrated("translate", "runs/toy", "--min-confidence=1", stdin="\none two\n")
    assert outcome.lines == ["", ""]
    assert "<stdin>:2: left empty" in outcome.err
    assert "<stdin>:1:" not in outcome.err
    assert "1 of 2 lines" in outcome.err


@pytest.mark.slow
def test_a_message_of_which_it_is_not_sure_stays_untranslated(calibrated: Shell) -> None:
    pytest.importorskip("polib")
    calibrated.write("fr.po", 'msgid "one"\nmsgstr "un"\n\nmsgid "two three"\nmsgstr ""\n')
    outcome = calibrated("translate", "runs/toy", "fr.po", "-o", "filled.po", "--min-confidence=1")
    assert outcome.code == 0, outcome.err
    assert "0 of 1 texts" in outcome.err
    assert "fr.po: 'two three': left empty, its confidence is 0." in outcome.err
    assert 'msgid "two three"\nmsgstr ""' in (calibrated.folder / "filled.po").read_text("utf-8")


@pytest.mark.slow
def test_other_weights_have_no_confidence(calibrated: Shell, golden: Golden) -> None:
    """Such as those of a training that went on, until they are calibrated."""
    words = (*TRANSLATE, "--weights=model-last")
    assert "confidence" not in json.loads(calibrated(*words, "--json").lines[0])
    golden(calibrated.fails(*words, "--min-confidence=0.5"))
    assert calibrated(*CALIBRATE, "--weights=model-last").code == 0
    assert "confidence" in json.loads(calibrated(*words, "--json").lines[0])


def test_calibrating_leaves_files_of_others_alone(copied: Shell, golden: Golden) -> None:
    copied.write("runs/toy/calibration.json", "mine\n")
    golden(copied.fails(*CALIBRATE))
    assert (copied.folder / "runs/toy/calibration.json").read_text("utf-8") == "mine\n"
    golden(copied.fails(*TRANSLATE))


@pytest.mark.parametrize(
    "options",
    [
        ("--min-confidence=0.5",),
        ("runs/toy", "--min-confidence=0.5"),
        ("--min-confidence=0.5", "--n-best=2"),
        ("--min-confidence=0.5", "--wait=2"),
    ],
)
def test_what_does_not_go_with_it_is_told(options: tuple[str, ...], trained: Shell, golden: Golden) -> None:
    golden(trained.refuses("translate", "runs/toy", *options, stdin="one\n"))


@pytest.mark.parametrize(
    "words",
    [
        ("runs/toy", "--source=test.en", "--reference=dev.fr"),
        ("runs/toy", "--source=test.en", "--reference=blank"),
        ("runs/none", "--source=test.en", "--reference=test.fr"),
    ],
)
def test_what_cannot_calibrate_is_told(words: tuple[str, ...], copied: Shell, golden: Golden) -> None:
    copied.write("blank", "\n" * 6)
    golden(copied.fails("calibrate", *words))
    assert not (copied.folder / "runs/toy/calibration.json").exists()


@pytest.mark.slow
def test_words_that_are_spelled_have_no_temperature(tmp_path: Path, golden: Golden) -> None:
    folder = toy.corpus(tmp_path)
    options = {"model.output": {"kind": "hybrid", "size": 8, "characters": 4}, "training.epochs": 1}
    session.train(toy.config(folder, folder / "run", options), quiet=True)
    golden(Shell(folder).fails("calibrate", "run", "--source=dev.en", "--reference=dev.fr"))
