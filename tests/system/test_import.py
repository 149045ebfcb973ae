"""Runs of other programs' models: every command works on them as on one that was trained here."""

import io
import json
import re
import shlex
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from safetensors.torch import save_file

from dragoman.interop.g2p import TARGET
from tests import toy
from tests.interop import (
    huggingface_models,
    joeynmt_models,
    keras_models,
    luong_models,
    marian_models,
    test_bart,
    test_g2p,
    test_huggingface,
    test_joeynmt,
    test_luong_models,
    test_multilingual,
    test_nematus,
    test_subword_files,
    test_t5,
)
from tests.interop.marian_models import write_arrays, write_bin, write_npz
from tests.system.conftest import Shell
from tests.text import test_byte_level

pytestmark = pytest.mark.spec("J5", "J7", "J8", "J11")


def segmenter_of(shell: Shell) -> bytes:
    """A sentencepiece model of the corpus, as Marian trains it."""
    lines = [line for side in ("en", "fr") for line in (shell.folder / f"train.{side}").read_text("utf-8").splitlines()]
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=file,
        vocab_size=60,
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        minloglevel=2,
    )
    return file.getvalue()


def marian(folder: Path, segmenter: bytes, changed: marian_models.Options, *, bits: int = 0) -> None:
    """The files of a model with random weights."""
    count = sentencepiece.SentencePieceProcessor(model_proto=segmenter).vocab_size()
    recurrent = changed.get("type") == "s2s"
    options = {**(marian_models.S2S if recurrent else marian_models.TRANSFORMER), **changed}
    options |= {"dim-vocabs": [count, count], "tied-embeddings-all": True}
    arrays = (marian_models.recurrent_tensors if recurrent else marian_models.tensors)(options)
    (folder / "vocab.spm").write_bytes(segmenter)
    if bits:
        write_bin(folder / "model.bin", options, arrays, bits)
    else:
        write_npz(folder / "model.npz", options, arrays)


def huggingface(folder: Path, segmenter: bytes) -> None:
    folder.rmdir()
    _, _, arrays, vocabulary = test_huggingface.folder_of(folder, segmenter)
    save_file(test_huggingface.converted(arrays, len(vocabulary)), folder / "model.safetensors")


def m2m100(folder: Path, segmenter: bytes) -> None:
    """With pieces of the corpus as fairseq numbers them."""
    lines = [line for side in ("en", "fr") for line in (folder.parent / f"train.{side}").read_text("utf-8").split("\n")]
    test_multilingual.m2m100(folder, huggingface_models.learn_pieces(lines))


def mbart(folder: Path, segmenter: bytes) -> None:
    """With the code of the source behind its end."""
    lines = [line for side in ("en", "fr") for line in (folder.parent / f"train.{side}").read_text("utf-8").split("\n")]
    codes = ("en", "fr", "de")
    test_multilingual.mbart(folder, huggingface_models.learn_pieces(lines), codes, code_last=True)


def t5(folder: Path, segmenter: bytes) -> None:
    """Without the name of a task for this direction."""
    test_t5.make(folder, "second")


def bart(folder: Path, segmenter: bytes) -> None:
    """With pieces of bytes that spell the corpus."""
    pytest.importorskip("tokenizers", reason="needs the extra tokenizers")
    words = " ".join([*toy.WORDS, *toy.WORDS.values()])
    test_bart.make(folder, test_bart.text_files(test_byte_level.learn([words], 100)))


def keras(folder: Path, segmenter: bytes) -> None:
    """Of which most letters of the corpus are unknown."""
    pytest.importorskip("h5py", reason="needs the extra keras")
    keras_models.write(folder, keras_models.tensors())


def nematus(folder: Path, segmenter: bytes) -> None:
    folder.rmdir()
    test_nematus.folder_of(folder, test_nematus.PLAIN)


def joeynmt(options: dict[str, Any]) -> Callable[[Path, bytes], None]:
    def write(folder: Path, segmenter: bytes) -> None:
        joeynmt_models.write(folder, joeynmt_models.build(options))

    return write


def codes(folder: Path, segmenter: bytes) -> None:
    """With subwords of subword-nmt, between spaces."""
    test_subword_files.joeynmt(folder, test_subword_files.BETWEEN_SPACES, bpe_codes=test_subword_files.CODES)


def opennmt(folder: Path, segmenter: bytes) -> None:
    """Whose sources end without a symbol."""
    test_luong_models.opennmt(folder / "model.pt")


def fairseq(folder: Path, segmenter: bytes) -> None:
    test_luong_models.fairseq(folder)


def g2p(folder: Path, segmenter: bytes) -> None:
    """From letters to phones."""
    write_arrays(folder / "model.npz", test_g2p.arrays())


SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
MODELS: dict[str, Callable[[Path, bytes], None]] = {
    "transformer": lambda folder, segmenter: marian(folder, segmenter, {}),
    "ssru": lambda folder, segmenter: marian(folder, segmenter, SSRU, bits=8),
    "s2s": lambda folder, segmenter: marian(folder, segmenter, {"type": "s2s"}),
    "deep": lambda folder, segmenter: marian(
        folder, segmenter, {"type": "s2s", "enc-depth": 2, "enc-cell-depth": 2, "dec-cell-base-depth": 3, "skip": True}
    ),
    "huggingface": huggingface,
    "m2m100": m2m100,
    "mbart": mbart,
    "t5": t5,
    "bart": bart,
    "keras": keras,
    "nematus": nematus,
    "joeynmt": joeynmt(test_joeynmt.PLAIN),
    "joeynmt-transformer": joeynmt({**test_joeynmt.PLAIN_TRANSFORMER, "tied_softmax": False}),
    "codes": codes,
    "opennmt": opennmt,
    "fairseq": fairseq,
    "g2p": g2p,
}
SUFFIXES = (".npz", ".bin", ".safetensors", ".ckpt", ".pt", ".keras")  # of files with weights
# Programs for which a run can be exported
EVERYWHERE = frozenset({"marian", "huggingface", "argos", "ctranslate2"})
EXPORTS = {
    **dict.fromkeys(MODELS, frozenset[str]()),
    **dict.fromkeys(("transformer", "huggingface"), EVERYWHERE),
    **dict.fromkeys(("ssru", "s2s", "deep", "nematus"), frozenset({"marian"})),
    "joeynmt-transformer": frozenset({"ctranslate2"}),
}
# The symbols of models whose vocabulary is not learned from the corpus, on both sides or on the target's.
OF_WORDS = dict.fromkeys(("nematus", "joeynmt", "joeynmt-transformer", "opennmt", "fairseq"), ("en", "fr"))
OWN = {**dict.fromkeys(OF_WORDS, luong_models.WORDS), "g2p": list(TARGET[4:])}


def speak(folder: Path, symbols: list[str], sides: tuple[str, ...]) -> None:
    """Write the corpora in these symbols."""
    numbers = {word: number for words in (toy.WORDS, toy.WORDS.values()) for number, word in enumerate(words)}
    for side in sides:
        for path in folder.glob(f"*.{side}"):
            lines = path.read_text("utf-8").splitlines()
            spoken = [" ".join(symbols[numbers[word]] for word in line.split()) for line in lines]
            path.write_text("".join(f"{line}\n" for line in spoken), "utf-8")


@pytest.fixture(params=["ssru", *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS if name != "ssru")])
def imported(request: pytest.FixtureRequest, shell: Shell) -> Shell:
    """A folder with the corpora of `shell` and the run `runs/parent`, imported from the files of a model."""
    (shell.folder / "model").mkdir()
    MODELS[request.param](shell.folder / "model", segmenter_of(shell))
    if request.param in OWN:
        speak(shell.folder, OWN[request.param], OF_WORDS.get(request.param, ("fr",)))
    outcome = shell("import", "model", "--source", "en", "--target", "fr", "--license", "MIT", "-o", "runs/parent")
    assert outcome.code == 0, outcome
    return shell


def works(shell: Shell, *words: str | Path, stdin: str = "") -> str:
    outcome = shell(*words, stdin=stdin)
    assert outcome.code == 0, (words, outcome)
    return outcome.out


@pytest.mark.slow
def test_every_command_works_on_a_run_that_was_imported(imported: Shell) -> None:
    run, folder = "runs/parent", imported.folder
    texts = (folder / "test.en").read_text("utf-8")
    lines = len(texts.splitlines())
    plain = works(imported, "translate", run, "test.en")
    assert len(plain.splitlines()) == lines
    for options in (
        ["--search", "greedy"],
        ["--beam", "3", "--n-best", "2"],
        ["--search", "beam"],
        ["--search", "{kind: diverse, size: 4, groups: 2}"],
        ["--search", "{kind: sample, seed: 1}"],
        ["--search", "{kind: exhaustive, length_ratio: 0, length_margin: 1}"],
        ["--mbr", "chrf"],
        ["--json"],
        ["--alignments"],
        ["--engine", "int8"],
    ):
        assert works(imported, "translate", run, "test.en", *options)
    records = [json.loads(line) for line in works(imported, "score", run, "test.en", "test.fr", "--json").splitlines()]
    assert all(record["log_prob"] < 0 for record in records)
    assert len(works(imported, "align", run, "test.en", "test.fr").splitlines()) == lines
    assert "attention" in works(imported, "explain", run, stdin=texts.splitlines()[0])
    assert "imported from" in works(imported, "info", run)
    assert works(imported, "report", run)
    assert works(imported, "evaluate", "test.fr", "--run", run, "--source", "test.en")
    assert works(imported, "calibrate", run, "--source", "train.en", "--reference", "train.fr")
    if "score: none" in (folder / run / "config.yaml").read_text("utf-8"):
        assert "requires a run with attention" in imported.fails("dictionary", run, "train.en", "train.fr")
    else:
        assert works(imported, "dictionary", run, "train.en", "train.fr")
    works(imported, "shortlist", run, "train.en", "train.fr")
    works(imported, "translate", run, "test.en", "--shortlist", "20,5")
    works(imported, "average", run, f"{run}/model.safetensors", "-o", f"{run}/mean.safetensors")
    assert works(imported, "translate", run, "test.en", "--weights", "mean.safetensors") == plain
    tuned = ["train", "--finetune", run, "train", "--run", "runs/mine", "--training.epochs", "1"]
    works(imported, *tuned)
    works(imported, "train", "runs/mine/config.yaml", "--training.epochs", "2")  # goes on
    assert len(works(imported, "translate", "runs/mine", "test.en").splitlines()) == lines
    config = (folder / "runs/mine/config.yaml").read_text("utf-8").replace("run: runs/mine", "run: runs/small")
    imported.write("small.yaml", config)
    works(imported, "distil", run, "small.yaml", "--training.epochs", "1")
    assert len(works(imported, "translate", "runs/small", "test.en").splitlines()) == lines
    decision = imported("gate", "runs/mine", "--against", run, "--source", "train.en", "--reference", "train.fr")
    assert decision.code == 0 or "is worse than runs/parent" in decision.err  # random weights: one is better by chance


@pytest.mark.slow
def test_an_imported_run_is_exported(imported: Shell) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    run = "runs/parent"
    plain = works(imported, "translate", run, "test.en", "--search", "greedy")
    works(imported, "export", run, "--onnx")
    assert works(imported, "translate", run, "test.en", "--engine", "onnx", "--search", "greedy") == plain


@pytest.mark.slow
def test_an_imported_run_is_exported_for_other_programs(imported: Shell, request: pytest.FixtureRequest) -> None:
    """What comes back is the same run; what another program does not have is refused."""
    run = "runs/parent"
    plain = works(imported, "translate", run, "test.en", "--search", "greedy")
    exports = EXPORTS[request.node.callspec.params["imported"]]
    for name in sorted(EVERYWHERE):
        if name in ("argos", "ctranslate2") and find_spec("ctranslate2") is None:
            continue
        output = [] if name == "ctranslate2" else ["-o", f"out.{name}"]
        outcome = imported("export", run, f"--{name}", *output)
        assert outcome.code == (0 if name in exports else 1), outcome
        assert (imported.folder / f"out.{name}").exists() == (name in exports and bool(output))
    for name in exports & {"marian", "huggingface"}:
        works(imported, "import", f"out.{name}", "--source", "en", "--target", "fr", "-o", f"runs/{name}")
        assert works(imported, "translate", f"runs/{name}", "test.en", "--search", "greedy") == plain
    if "ctranslate2" in exports and find_spec("ctranslate2"):
        options = ["--engine", "ctranslate2", "--search", "greedy"]
        assert works(imported, "translate", run, "test.en", *options) == plain


@pytest.mark.slow
def test_an_imported_run_is_served(imported: Shell) -> None:
    """Over HTTP, as the page and LibreTranslate's clients ask."""
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from starlette.testclient import TestClient

    from dragoman.serving.app import create
    from dragoman.serving.backend import Backend
    from dragoman.serving.client_limits import AccessControl, RequestLimits
    from dragoman.serving.models import ServedModel
    from dragoman.serving.prometheus import Metrics
    from dragoman.serving.service import Service

    limits = RequestLimits(body=10_000, characters=500, texts=5, alternatives=3)
    service = Service([ServedModel.load(imported.folder / "runs/parent")])
    backend = Backend(service, limits, AccessControl(limits, None, ()), Metrics())
    text = (imported.folder / "test.en").read_text("utf-8").splitlines()[0]
    wanted = works(imported, "translate", "runs/parent", stdin=f"{text}\n").removesuffix("\n")
    with TestClient(create(backend), raise_server_exceptions=False) as client:
        answer = client.post("/translate", json={"q": text, "source": "en", "target": "fr"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["translatedText"] == wanted


@pytest.mark.slow
def test_the_tutorial_is_followed_word_for_word(shell: Shell, repository: Path) -> None:
    """On local files: a folder of Hugging Face, and a catalog of which a third is not translated."""
    page = (repository / "docs" / "own-strings.md").read_text("utf-8")
    commands = [shlex.split(line)[1:] for line in re.findall(r"```bash\n(.*?)\n```", page)]
    assert [words[0] for words in commands] == ["import", "corpus", "train", "report", "translate", "serve"]
    (shell.folder / "opus-mt-en-de").mkdir()
    huggingface(shell.folder / "opus-mt-en-de", segmenter_of(shell))
    entries = [
        f'msgid "{source}"\nmsgstr "{"" if number % 3 == 0 else target}"\n'
        for number, (source, target) in enumerate(dict(toy.pairs(400, 1)).items())
    ]
    shell.write("mine.po", "\n".join(['msgid ""\nmsgstr "Language: de\\n"\n', *entries]))
    for words in commands[:-1]:
        short = ["--training.steps=3", "--dev", "20"]
        extra = {"train": short[:1], "corpus": short[1:]}.get(words[0], [])
        works(shell, *words, *extra)
    filled = (shell.folder / "mine.de.po").read_text("utf-8")
    assert len(re.findall('^msgid "[^"]', filled, re.MULTILINE)) == len(entries)
    assert not re.search('^msgid "[^"].*\nmsgstr ""\n(?!")', filled, re.MULTILINE)
    assert shell("serve", "--help").code == 0  # a service would not end


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--finetune", "runs/parent"], "pairs"),
        (["shortlist", "runs/parent"], "no prepared corpus; pass text files"),
        (["train", "runs/parent/config.yaml"], "data.train: required"),
    ],
)
def test_what_needs_training_data_says_so(words: list[str], message: str, imported: Shell) -> None:
    outcome = imported(*words)
    assert outcome.code in (1, 2)
    assert message in outcome.err


def test_a_damaged_model_ends_in_one_line_and_writes_nothing(imported: Shell) -> None:
    files = (imported.folder / "model").iterdir()
    model = next(path for path in files if path.suffix in SUFFIXES)
    model.write_bytes(model.read_bytes()[:-700])
    line = imported.fails("import", "model", "--source", "en", "--target", "fr", "-o", "runs/other")
    assert model.name in line
    assert not (imported.folder / "runs/other").exists()


def test_a_folder_that_is_there_is_left_alone(imported: Shell) -> None:
    before = {path: path.read_bytes() for path in (imported.folder / "runs/parent").iterdir()}
    assert "exists already" in imported.fails(
        "import", "model", "--source", "en", "--target", "fr", "-o", "runs/parent"
    )
    assert {path: path.read_bytes() for path in (imported.folder / "runs/parent").iterdir()} == before
