"""A folder with a run of each kind that options are for, and with the files that they name."""

import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from typer.testing import CliRunner

from dragoman.cli import app
from dragoman.cli.streams import OutputStream
from dragoman.evaluation.human import blinding
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.serving.client_limits import Keys
from dragoman.serving.corrections import Correction, Corrections, TranslationRecord
from dragoman.training import checks, session
from tests import toy, written
from tests.interop import test_huggingface, test_marian

QUICK = {"training.epochs": "1", "training.batch": "{size: 40}"}
SHIFT = {
    "model.attention": "{score: uniform, terms: shift}",
    "model.encoder": "{kind: rnn, size: 12, direction: forward}",
    "model.bridge": "zero",
    "model.decoder": "{kind: rnn, size: 24, readout: deep, attend: after}",
    "training.objective": "segment",
    "training.metric": "loss",
}
RUNS: dict[str, dict[str, str]] = {
    "toy": {},
    "edit": {"data.source": "mt", "data.edits": "mt", "text.shared_vocabulary": "true", "training.metric": "loss"},
    "both": {
        "data.source": "[en, mt]",
        "data.edits": "mt",
        "text.shared_vocabulary": "true",
        "training.metric": "loss",
    },
    "image": {"data.source": "[en, image]", "data.features": "image", "training.metric": "loss"},
    "recall": {"data.translation_memory": "{kind: nearest, threshold: 0.3}", "training.metric": "loss"},
    "shift": SHIFT,
    "unknown": {"text.target.tokenizer": "{kind: word, vocab_size: 1}", "training.metric": "loss"},
    "early": {"data.dev": "more"},
    "back": {"data.source": "fr", "data.target": "en"},
}


def furnish(folder: Path) -> Path:
    """Make the folder."""
    _texts(folder)
    _models(folder)
    with chdir(folder):
        for name, options in RUNS.items():
            own = {} if name == "toy" else QUICK
            session.train(checks.load_config("toy.yaml", {"run": f"runs/{name}", **own, **options}), quiet=True)
        _languages(folder / "lang")
        shutil.copy("runs/toy/checkpoints/step-00000005.safetensors", "runs/toy/first.safetensors")
        shutil.copytree("runs/toy", "runs/first")
        shutil.copy("runs/first/first.safetensors", "runs/first/model.safetensors")
        for name in ("both", "edit", "many", "image", "recall"):
            _change(Path("runs", name), "other")
        shutil.copytree("runs/toy", "runs/sure")
        _type("calibrate", "runs/sure", "--source=train.en", "--reference=train.fr", "--threads=1")
        _type("shortlist", "runs/toy")
        _type("tune", "runs/toy", "--source=dev.en", "--reference=dev.fr", "--n-best=4", "-o", "weights.yaml")
        _own_criteria()
        _begin()
    _corrections(folder)
    return folder


def _texts(folder: Path) -> None:
    toy.corpus(folder, train=80, longest=5)
    for name, count, seed in (("test", 6, 3), ("more", 80, 4), ("few", 12, 5)):
        toy.write(folder, name, toy.pairs(count, seed))
    for part in ("train", "dev", "test", "more"):
        targets = (folder / f"{part}.fr").read_text("utf-8")
        (folder / f"{part}.mt").write_text(targets.replace("deux", "trois").replace("six un", "un"), "utf-8")
        (folder / f"{part}.ht").write_text(targets.replace("cinq", "Cinq"), "utf-8")
        count = len(targets.splitlines())
        images = np.random.default_rng(count).normal(size=(count, 2, 3)).astype(np.float32)
        np.save(folder / f"{part}.image.npy", images)
        np.save(folder / f"{part}.dark.npy", -images)
    places = "data: {source: en, target: fr, train: train, dev: dev}\nrun: runs/toy"
    config = toy.CONFIG.replace("data: {source: en, target: fr}", places)
    (folder / "toy.yaml").write_text(config, "utf-8")
    rows = [(source, target, target.upper()) for source, target in toy.pairs(60, 6)]
    rows += [("one two three", "one two three", "x"), ("_File of one", "_un", "x"), ("one", "one", "x")]
    (folder / "three.tsv").write_text("\n".join("\t".join(row) for row in [("en", "fr", "de"), *rows]) + "\n", "utf-8")
    varied = "three\ttrois\nthree one\tun trois\none three\ttres un\none\tun\n"
    (folder / "varied.tsv").write_text(f"en\tfr\n{varied}", "utf-8")
    entries = [(f'msgid "{source}"\nmsgstr "{target}"\n') for source, target in [*toy.pairs(3, 9), ("one two", "")]]
    header = 'msgid ""\nmsgstr "Language: fr\\nContent-Type: text/plain; charset=UTF-8\\n"\n'
    (folder / "messages.po").write_text("\n".join([header, *entries]), "utf-8")
    numbered = [f"{word} {number}\t{number} {word}\n" for word in toy.WORDS for number in range(4)]
    (folder / "numbered.tsv").write_text("".join(["en\tfr\n", *numbered]), "utf-8")
    (folder / "links").write_text("0-0\n" * 80, "utf-8")
    (folder / "from1").write_text("1-1\n" * 80, "utf-8")
    (folder / "terms.tsv").write_text("one\tsix\ntwo\tcinq\n", "utf-8")
    (folder / "words.tsv").write_text("".join(f"{word}\tsept\t1\t1\n" for word in toy.WORDS), "utf-8")
    (folder / "names").write_text("one\n", "utf-8")
    (folder / "begin").write_text("trois trois trois\n" * 6, "utf-8")
    (folder / "unknown.en").write_text("one seven 8\n", "utf-8")
    toy.write(folder, "solo", [("one two three four", "quatre trois deux un")])
    toy.write(folder, "punctuated", [(one.replace(" ", ", "), two.replace(" ", ", ")) for one, two in toy.pairs(80, 8)])
    (folder / "tags.tsv").write_text("tag\n" + "a\nb\n" * 40, "utf-8")
    (folder / "labeled.tsv").write_text("un deux\ta\ntrois\tb\n" * 10, "utf-8")
    (folder / "labels").write_text("a\nb\n" * 40, "utf-8")
    (folder / "others").write_text("b\nb\na\n" * 26 + "a\na\n", "utf-8")
    (folder / "turned.tsv").write_text("un\tb\ndeux trois\ta\n" * 10, "utf-8")
    (folder / "tabbed.tsv").write_text("one two six\tsix deux un\n" * 6, "utf-8")
    (folder / "six").write_text("0-0\n" * 6, "utf-8")
    (folder / "one").write_text("1-2\n" * 6, "utf-8")
    (folder / "keys").touch()
    catalogues = folder / "share/locale/de/LC_MESSAGES"
    catalogues.mkdir(parents=True)
    for number, (name, count) in enumerate({"first": 60, "second": 30}.items()):
        messages = {(f"{name} {source}", target) for source, target in toy.pairs(count, number)}
        (catalogues / f"{name}.mo").write_bytes(written.mo(sorted(messages)))
    (folder / "pictures").mkdir()
    for name in ("a.png", "b.png"):
        (folder / "pictures" / name).write_bytes(b"")
    (folder / "listed").write_text("b.png\n", "utf-8")
    _judgments(folder)


def _judgments(folder: Path) -> None:
    """The key of a page with two systems, and what an annotator saved on it."""
    sources = [str(number) for number in range(30)]
    systems = {name: [f"{name} {number}" for number in sources] for name in ("old", "new")}
    key = blinding.blind(sources, systems, ["fluency"], [], sentences=None, seed=1)
    (folder / "page.key.json").write_text(key.model_dump_json(), "utf-8")
    judgments = {
        item.id: {output.id: {"fluency": 1 + (number + len(output.systems[0])) % 5} for output in item.outputs}
        for number, item in enumerate(key.items)
    }
    saved = {"version": 1, "page": key.page, "annotator": "Anna", "judgments": judgments}
    (folder / "anna.json").write_text(json.dumps(saved), "utf-8")


def _languages(folder: Path) -> None:
    """A run of three languages."""
    words: dict[str, Any] = {"pretokenizer": "whitespace", "tokenizer": "word"}
    settings = {
        "run": "runs/many",
        "data": {"pairs": toy.languages(folder), "temperature": 5},
        "text": {"shared_vocabulary": True, "source": words, "target": words},
    }
    texts = {key: toy._yaml(value) for key, value in settings.items()}
    session.train(checks.load_config(folder / "toy.yaml", {**texts, **QUICK}), quiet=True)


def _change(run: Path, name: str) -> None:
    """Other weights of a run: those from before its last step cannot be told from them in a text, so larger ones."""
    tensors, note = read_tensors(run / "model.safetensors")
    write_tensors(run / f"{name}.safetensors", {key: value.flip(0) for key, value in tensors.items()}, note)


def _own_criteria() -> None:
    """N-best lists of the development and the test set with a figure of a user's own, and weights that have it."""
    for name in ("dev", "test"):
        listed = _type("translate", "runs/toy", f"{name}.en", "--beam=4", "--n-best=4")
        for number, end in enumerate(("own", "turned")):
            lines = []
            for row in listed.splitlines():
                line, text, figures, score = row.split(" ||| ")
                figure = (-1) ** number * text.split().count("un")
                lines.append(f"{line} ||| {text} ||| {figures} Own= {figure} ||| {score}\n")
            Path(f"{name}.{end}").write_text("".join(lines), "utf-8")
    text = Path("weights.yaml").read_text("utf-8")
    Path("own.yaml").write_text(text.replace("weights:\n", "weights:\n  Own: 5.0\n"), "utf-8")


def _begin() -> None:
    """Outputs of commands that were interrupted."""
    for calls, words in (
        (6, ("translate", "runs/toy", "more.en", "-o", "begun", "--batch-lines=4")),
        (2, ("postedit", "runs/edit", "--translation=more.mt", "-o", "edited")),
    ):
        with patch.object(OutputStream, "write", _until(calls)):
            _type(*words, code=130)
        assert Path(f"{words[words.index('-o') + 1]}.partial").exists()


def _until(calls: int) -> Callable[[OutputStream, Iterable[str]], None]:
    """What writes lines until it is called so often: then comes Ctrl-C."""
    write, left = OutputStream.write, calls

    def write_or_stop(output: OutputStream, lines: Iterable[str]) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        write(output, lines)

    return write_or_stop


def _type(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words), prog_name="dragoman", env={"OMP_NUM_THREADS": "1"})
    assert result.exit_code == code, result.stderr
    return result.stdout


def _corrections(folder: Path) -> None:
    """A database of corrections in two directions, by two users, and of translations."""
    kept = Corrections(folder / "kept.sqlite")
    for number, (source, target) in enumerate(toy.pairs(150, 7)):
        kept.add(("en", "fr"), Correction(source, target, "un", ("ann", "ben")[number % 2]))
    kept.close()
    kept = Corrections(folder / "both.sqlite")
    kept.add(("en", "fr"), Correction("one", "une", "un", "ann"))
    kept.add(("de", "fr"), Correction("eins", "une", "un", "ben"))
    kept.add(("en", "de"), Correction("one", "eins", "ein", "ben"))
    kept.note(("en", "fr"), [TranslationRecord("two", "deux", "m")])
    kept.close()
    Keys.make("ann", folder / "mine")


def _models(folder: Path) -> None:
    """Models of other programs: one of Marian, one with two vocabularies to choose from, and one of Hugging Face."""
    test_marian.folder_of(folder / "marian", test_marian.PLAIN)
    several = test_marian.folder_of(folder / "marians", test_marian.PLAIN)
    for name in ("vocab.a.yml", "vocab.b.yml"):
        shutil.copy(several / "vocab.yml", several / name)
    test_huggingface.folder_of(folder / "huggingface", test_huggingface.trained_segmenter())
