"""Texts with images, from the configuration to translations, in every command."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import session
from tests import toy
from tests.forms import results
from tests.golden import Golden
from tests.system.conftest import Shell

SIZE, REGIONS = 5, 3


def images(count: int, seed: int) -> Any:
    """Arrays (count, regions, size); every fifth is all zeros, which stands for a missing image."""
    features = np.random.default_rng(seed).normal(size=(count, REGIONS, SIZE)).astype(np.float32)
    features[4::5] = 0
    return features


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English, an image, and French; every fourth sentence has no English."""
    folder = toy.corpus(tmp_path_factory.mktemp("corpus"), train=60)
    for number, part in enumerate(("train", "dev")):
        path = folder / f"{part}.en"
        lines = path.read_text("utf-8").splitlines()
        np.save(folder / f"{part}.image.npy", images(len(lines), number))
        path.write_text("".join(f"{'' if n % 4 == 3 else line}\n" for n, line in enumerate(lines)), "utf-8")
    return folder


WITH_IMAGE: dict[str, Any] = {"data.source": ["en", "image"], "data.features": "image"}
SENTINEL = {"model.combination": {"kind": "hierarchical", "sentinel": True}}


@pytest.fixture(scope="module")
def seen(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with a run of a text and an image, away from what it was trained on, and what to translate with it."""
    folder = tmp_path_factory.mktemp("seen")
    options = {**WITH_IMAGE, **SENTINEL, "training.source_dropout": 0.2, "training.metric": "loss"}
    session.train(toy.config(corpus, corpus / "run", options), quiet=True)
    shutil.copytree(corpus / "run", folder / "run", ignore=shutil.ignore_patterns("data", "checkpoints"))
    shell = Shell(folder)
    shell.write("test.en", "one two\n\nsix\n")
    shell.write("test.fr", "deux un\ntrois\nsix\n")
    np.save(folder / "test.image.npy", images(3, 7))
    for number, image in enumerate(images(3, 7)):
        np.save(folder / f"{number}.npy", image)
    shell.write("both.tsv", "one two\t0.npy\n\t1.npy\nsix\t2.npy\n")
    return shell


NAMED = ("--source", "en=test.en", "--source", "image=test.image.npy")


@pytest.mark.slow
@pytest.mark.spec("C10")
def test_a_run_knows_the_size_of_its_images(seen: Shell) -> None:
    assert json.loads((seen.folder / "run" / "source.image.json").read_text("utf-8")) == {"size": SIZE}
    assert [source.name for source in Run.load(seen.folder / "run").sources] == ["en", "image"]
    card = (seen.folder / "run" / "README.md").read_text("utf-8")
    assert "# en and image to fr" in card
    assert "| regions | image: 5 numbers; projection" in card


@pytest.mark.spec("C10")
def test_texts_are_translated_with_arrays(seen: Shell, golden: Golden) -> None:
    translator = dragoman.load(seen.folder / "run")
    one, other, last = images(3, 7)
    texts: list[Any] = [
        ("one two", one),
        ("", other),
        ("six", ""),
        ("", np.zeros((2, SIZE))),
        ("one two", seen.folder / "0.npy"),
        ("one two", last[0]),
    ]
    translations = translator.translate(texts, n_best=2)
    assert [len(translation.n_best) for translation in translations] == [2, 2, 2, 1, 2, 2]
    tokens = [[source.words for source in translation.sources] for translation in translations]
    regions = ["1", "2", "3"]
    words = ["one", "two"]
    assert tokens == [[words, regions], [[], regions], [["six"], []], [[], []], [words, regions], [words, ["1"]]]
    for translation in translations:
        shapes = [source.attention.shape for source in translation.sources]
        assert (
            shapes == [(len(translation.words), len(source.words)) for source in translation.sources]
            or not translation.words
        )
        np.testing.assert_allclose(sum(translation.shares.values()), np.ones(len(translation.words)), atol=1e-5)
        np.testing.assert_allclose(translation.sources[1].attention.sum(-1), translation.shares["image"], atol=1e-6)
    assert (translations[3].text, translations[3].words) == ("", [])
    assert translations[4].log_prob == pytest.approx(translations[0].log_prob, abs=1e-4)
    assert (translations[0].sources[1].text, translations[4].sources[1].text) == ("", str(seen.folder / "0.npy"))
    (alone,) = translator.translate(texts[:1])
    assert (alone.text, alone.log_prob) == (translations[0].text, pytest.approx(translations[0].log_prob, abs=1e-4))
    (scored,) = translator.score(texts[:1], [translations[0].text])
    assert scored.log_prob == pytest.approx(translations[0].log_prob, abs=1e-4)
    np.testing.assert_allclose(scored.sources[1].attention, translations[0].sources[1].attention, atol=1e-4)
    assert translations[0].attention_matrix.columns == [
        "[en]",
        *words,
        "[image]",
        "[sentinel]",
    ]  # regions are too many to be drawn
    with pytest.raises(UserError, match=r"^image:") as raised:
        translator.translate([("one", np.ones((2, 4)))])
    golden(str(raised.value))
    with pytest.raises(TypeError, match="en: expected a text, found ndarray"):
        translator.translate([(one, one)])


@pytest.mark.spec("C10")
@pytest.mark.slow
def test_arrays_come_by_name_or_in_columns(seen: Shell) -> None:
    named = seen("translate", "run", *NAMED)
    assert named.code == 0, named.err
    assert len(named.lines) == 3
    assert seen("translate", "run", "both.tsv") == named
    only = seen("translate", "run", "--source", "image=test.image.npy")
    assert only.lines[1] == named.lines[1]
    without = seen("translate", "run", "--source", "en=test.en")
    assert without.lines[1] == ""  # neither text nor image
    lines = seen("translate", "run", *NAMED, "--alignments").lines
    assert all(line.count(" ||| ") == 2 for line in lines)
    translations = [record.translation for record in results(seen("translate", "run", *NAMED, "--json").lines)]
    assert [record.text for record in translations] == named.lines
    text, image = translations[0].sources
    assert (text.name, text.words, text.regions) == ("en", ["one", "two"], False)
    assert (image.name, image.words, image.regions) == ("image", ["1", "2", "3"], True)
    assert image.attention.shape == (len(translations[0].words), 3)
    assert seen("translate", "run", *NAMED, "--show").code == 0


@pytest.mark.spec("C10")
@pytest.mark.slow
def test_commands_that_look_at_a_run(seen: Shell, corpus: Path) -> None:
    columns = seen("score", "run", "both.tsv", "test.fr")
    assert columns.code == 0, columns.err
    arrays = ("--source", "image=test.image.npy")
    assert seen("score", "run", "test.en", "test.fr", *arrays) == columns
    assert [line.count("|||") for line in seen("align", "run", "test.en", "test.fr", *arrays).lines] == [1, 1, 1]
    evaluated = seen("evaluate", "--run", "run", *NAMED, "test.fr")
    assert evaluated.code == 0, evaluated.err
    assert "Perplexity" in evaluated.out
    info = seen("info", "run").out
    assert "en and image to fr" in info
    assert "image: 5 numbers; projection" in info
    assert seen("report", "run").code == 0
    seen.write("shown.tsv", "one two\t0.npy\tdeux un\n")
    assert seen("report", "run", "--sentences", "shown.tsv", "-o", "page.html").code == 0
    assert "[image]" in (seen.folder / "page.html").read_text("utf-8")
    here = Shell(corpus)
    here.write("gold", "0-0\n" * 8)
    assert here.fails("report", "run", "--gold", "gold").startswith(
        "--gold requires a run with a single text source; run"
    )
    changes = [f"--{key}={json.dumps(value)}" for key, value in {**WITH_IMAGE, **SENTINEL}.items()]
    places = ["--data.train=train", "--data.dev=dev"]
    output = here("debug", "data", "toy.yaml", *places, *changes).out
    assert "data.train: train, en and fr\n" in output
    assert "data.dev: dev.image.npy\nregions: mean 2.6, median 3" in output
    assert "numbers: 5 in a region, mean" in output
    assert "without regions, or zeros alone: 1 (line 5)" in output
    debugged = here("debug", "config", "toy.yaml", *places, *changes)
    assert debugged.code == 0, debugged.err
    assert "2,048 numbers per region of image (assumed)" in debugged.out


@pytest.mark.slow
def test_what_is_wrong_with_arrays_is_told(seen: Shell, golden: Golden) -> None:
    np.save(seen.folder / "short.npy", np.ones((2, REGIONS, SIZE)))
    en = ("--source", "en=test.en")
    fault = "expected one per line"
    short = ("--source", "image=short.npy")
    assert seen.fails("translate", "run", *en, *short) == f"short.npy has 2 arrays, test.en has 3 lines; {fault}"
    assert seen.fails("score", "run", "test.en", "test.fr", *short).startswith("short.npy has 2 arrays, test.en has 3")
    np.save(seen.folder / "wide.npy", np.ones((3, REGIONS, SIZE + 1)))
    wide = ("--source", "image=wide.npy")
    for command in (("translate", "run", *en), ("score", "run", "test.en", "test.fr")):
        assert seen.fails(*command, *wide) == "wide.npy: 6 numbers in a region, this run has 5"
    message = seen.fails("translate", "run", *en, "--source", "image=test.fr")
    assert message == "test.fr: expected the name of an array file (.npy, .npz, .safetensors)"
    assert seen.fails("translate", "run", stdin="one\tnone.npy\n") == "none.npy: no such file"
    assert seen.fails("translate", "run", "test.en") == (
        "test.en:1: expected 2 columns separated by tabs (en, image), found 1"
    )
    assert seen.fails("score", "run", "test.en", "test.fr", *en).startswith("--source en=test.en: is a text source")
    assert seen.fails("augment", "forward", "run", "test.en", "-o", "x").startswith(
        "run: expected a run with a single text source"
    )
    with pytest.raises(UserError) as raised:
        _ = dragoman.load(seen.folder / "run").source
    golden(str(raised.value))
    assert seen.fails("postedit", "run", "--translation", "test.en").startswith("run: has a source of numbers (en, im")
    assert seen.fails("translate", "run", "both.tsv", "--shortlist", "3,3").startswith("run: shortlists require")
    assert seen.fails("translate", "run", "both.tsv", "--wait", "2").startswith(
        "simultaneous translation requires a single source"
    )
    assert seen.fails("shortlist", "run").startswith("run: a shortlist requires a run with a single text source")


def test_a_run_with_images_is_not_exported(seen: Shell) -> None:
    pytest.importorskip("onnxscript")
    assert seen.fails("export", "run", "--onnx").startswith("run: ONNX graphs are of models of one text")


@pytest.mark.spec("C12")
def test_a_vector_starts_the_decoder_and_gets_no_attention(corpus: Path, tmp_path: Path) -> None:
    folder = toy.corpus(tmp_path / "corpus")
    for number, part in enumerate(("train", "dev")):
        np.save(folder / f"{part}.image.npy", images(60 if part == "train" else 8, number)[:, 0])
    options = {**WITH_IMAGE, "model.initial_state_only": "image", "training.epochs": 1, "training.metric": "loss"}
    translator = dragoman.load(session.train(toy.config(folder, tmp_path / "run", options), quiet=True).path)
    vector = images(1, 7)[0, 0]
    translations, other = translator.translate([("one two", vector), ("one two", 30 * vector)])
    assert translations.log_prob != pytest.approx(other.log_prob, abs=1e-5)
    assert [source.words for source in translations.sources] == [["one", "two"], []]
    assert translations.sources[1].attention.shape == (len(translations.words), 0)
    np.testing.assert_allclose(translations.shares["en"], np.ones(len(translations.words)), atol=1e-5)
    assert translations.attention_matrix.columns == ["[en]", "one", "two", "[image]"]


@pytest.mark.spec("C10")
@pytest.mark.slow
def test_images_alone_are_captioned(corpus: Path, tmp_path: Path) -> None:
    options = {"data.source": "image", "data.features": "image", "training.epochs": 1, "training.metric": "loss"}
    folder = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    translator = dragoman.load(folder.path)
    one, other, _ = images(3, 7)
    translations = translator.translate([one, other, ""])
    assert [translation.sources[0].words for translation in translations] == [["1", "2", "3"], ["1", "2", "3"], []]
    assert translations[2].text == ""
    shell = Shell(tmp_path)
    np.save(tmp_path / "some.npy", images(3, 7))
    assert shell("translate", "run", "--source", "image=some.npy").lines[:2] == [
        translation.text for translation in translations[:2]
    ]
    np.save(tmp_path / "one.npy", one)
    assert shell("translate", "run", "--alignments", stdin="one.npy\n").lines[0].startswith(translations[0].text)
    assert shell("report", "run").code == 0
    blank, zeros = translator.score(["", np.zeros((1, SIZE))], ["un", "un"])  # as the end of a text without words
    assert np.isfinite(blank.log_prob)
    assert blank.log_prob == pytest.approx(zeros.log_prob, abs=1e-5)  # rows of one product may round differently


@pytest.mark.spec("C10")
@pytest.mark.slow
def test_a_killed_training_with_images_goes_on_to_the_same_weights(corpus: Path) -> None:
    shell = Shell(corpus)
    changes = [f"--{key}={json.dumps(value)}" for key, value in {**WITH_IMAGE, "training.source_dropout": 0.2}.items()]
    words = ("train", "toy.yaml", "--data.train=train", "--data.dev=dev", "--training.save_every=2", *changes)
    assert shell(*words, "--run=whole").code == 0
    assert shell.kill("step", 3, *words, "--run=killed").code < 0
    assert shell(*words, "--run=killed").code == 0
    one, other = ((corpus / name / "model-last.safetensors").read_bytes() for name in ("whole", "killed"))
    assert one == other


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"data.features": "picture"}, "data.features.0: 'picture' is not in data.source: en, image"),
    ({"data.features": ["image", "image"]}, "data.features.1: 'image' is listed twice"),
    ({"data.train": "train.tsv"}, "data.train: data.features require PREFIX files; train.tsv is a table"),
    ({"model.initial_state_only": "en"}, "model.initial_state_only.0: 'en' is not in data.features"),
    (
        {"data.source": "image", "model.initial_state_only": "image"},
        "model.initial_state_only: no source is left to attend to (use model.attention.score: none)",
    ),
    (
        {"data.source": "image", "data.alignments": True, "training.penalties": "supervised"},
        "data.alignments: word alignments cannot be combined with data.features",
    ),
    (
        {"data.source": "image", "training.objective": "agreement"},
        "training.objective: 'agreement' trains both directions and cannot be combined with data.features",
    ),
    (
        {"data.source": "image", "search": {"kind": "beam", "coverage_penalty": 0.2}},
        "search.coverage_penalty: requires a text source; data.features are numeric",
    ),
    (
        {"data.source": "image", "model.embedding.tie": "languages", "text.shared_vocabulary": True},
        "model.embedding.tie: 'languages' requires a text source",
    ),
    (
        {"data.edits": "image", "text.shared_vocabulary": True},
        "data.features.0: 'image' is a text (data.edits)",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_does_not_go_with_images_is_refused(
    corpus: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as raised:
        toy.config(corpus, tmp_path / "run", {**WITH_IMAGE, **options})
    assert message in str(raised.value)


def test_an_array_that_is_not_finite_stops_training_at_its_line(corpus: Path, tmp_path: Path, golden: Golden) -> None:
    shutil.copytree(corpus, tmp_path / "corpus", ignore=shutil.ignore_patterns("run*"))
    whole = images(60, 0)
    whole[7, 1, 2] = np.nan
    np.save(tmp_path / "corpus" / "train.image.npy", whole)
    with pytest.raises(UserError, match=r"train\.image\.npy:8:") as raised:
        session.train(toy.config(tmp_path / "corpus", tmp_path / "run", WITH_IMAGE), quiet=True)
    golden(str(raised.value))
    assert not (tmp_path / "run").exists()
