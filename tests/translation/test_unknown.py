"""`<unk>` in a translation becomes the source word attended to most, or what a dictionary has for it."""

import random
from collections.abc import Iterable
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

import pytest
from torch import Tensor

import dragoman
from dragoman.cli.translate_options import dictionary_files
from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.data.batch import SourceBatch
from dragoman.data.vocabulary import UNK
from dragoman.deployment import export
from dragoman.errors import UserError
from dragoman.model.embedding import EMBEDDINGS
from dragoman.model.output.table import OUTPUTS
from dragoman.model.predictor import Continuations, Prediction, Predictor
from dragoman.model.shapes import Int
from dragoman.run.run import Run
from dragoman.text.words import TOKENIZERS
from dragoman.training import session
from dragoman.translation.result import Result
from dragoman.translation.transforms.unknown_words import UnknownWords
from dragoman.translation.translation import Replacement, Translation
from dragoman.translation.translator import Translator
from tests import toy
from tests.golden import Golden

pytestmark = pytest.mark.slow

FEW = {"kind": "word", "vocab_size": 3}  # half of the French words
LEARNED: dict[str, Any] = {
    "training.epochs": None,
    "training.steps": 200,
    "training.validate_every": 200,
    "training.schedule": {"kind": "cosine", "steps": 200},
    "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
    "text.target.tokenizer": FEW,
}
ONE_STEP = {"training.epochs": None, "training.steps": 1, "text.target.tokenizer": FEW}
CHARACTERS = {"text.source.tokenizer": "character", "text.target.tokenizer": "character"}
JOINT = {"text.shared_vocabulary": True, "text.source.tokenizer": FEW}
HEADS = {"kind": "self_attention", "size": 8, "heads": 2, "layers": 2}


def units(kind: str) -> dict[str, Any]:
    """Options of a unit; one of subwords has as many as this corpus has room for."""
    unit = (
        {"kind": kind, "vocab_size": 276}
        if "vocab_size" in components.options(TOKENIZERS[kind]) and kind != "word"
        else kind
    )
    return {"text.source.tokenizer": unit, "text.target.tokenizer": unit}


OTHERS: dict[str, dict[str, Any]] = {
    "words": {},
    "characters": CHARACTERS,
    "subwords": {**toy.SUBWORDS},
    **{f"unit {kind}": units(kind) for kind, tokenizer in TOKENIZERS.items() if tokenizer.learns},
    **{f"output {kind}": {"model.output": kind} for kind in OUTPUTS},
    **{f"read by {kind}": {"model.embedding.source": kind} for kind in EMBEDDINGS},
    "no attention": {"model.attention.score": "none"},
    "hard": {"model.attention.normalizer": "hard", "training.objective": "marginal"},
    "sparse": {"model.attention.normalizer": "sparsemax"},
    "heads": {"model.encoder": HEADS, "model.bridge": "none", "model.decoder": HEADS},
    "two sources": {"data.source": ["en", "mt"], "model.combination": {"kind": "flat", "sentinel": True}},
    "one by one": {"data.source": ["en", "mt"]},
    "joined": {"data.source": ["en", "mt"], "data.concatenate_sources": True, **JOINT},
    "post-editing": {"data.source": ["mt", "en"], "data.edits": "mt", **JOINT},
}
SPELLS = "output hybrid"  # what others write `<unk>` for
TEXTS = [source for source, _ in toy.pairs(12, 5)]
HOSTILE = [
    "",
    " ",
    "🎉 👩\u200d👩\u200d👧 🏳️\u200d🌈!",
    "我喜歡貓。",
    random.Random(1).randbytes(60).decode("utf-8", "replace"),
    random.Random(2).randbytes(60).decode("latin-1"),
    "a" * 500,
    "\u200d\u0301\ufeff",
    "one\u2028two\ttwo",
    "…",
    "\ud800 three",
]


@final
class Craving(Predictor[Any]):
    """A predictor that finds `<unk>` most probable after every other symbol."""

    def __init__(self, model: Predictor[Any]) -> None:
        self.start_id = model.start_id
        self.model = model

    def begin(self, sources: tuple[SourceBatch, ...]) -> Any:
        return self.model.begin(sources)

    def predict(self, symbols: Int[Tensor, "R"], state: Any) -> Prediction[Any]:
        step = self.model.predict(symbols, state)
        (column,) = (step.symbols == UNK).nonzero()[:, 0].tolist()
        step.log_probs[symbols != UNK, column] = 1.0
        return step

    def reorder(self, state: Any, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> Any:
        return self.model.reorder(state, rows, sentences)

    def replace_candidates(self, candidates: Continuations, step: Prediction[Any]) -> Continuations:
        return self.model.replace_candidates(candidates, step)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = toy.corpus(tmp_path_factory.mktemp("unknown"), train=160, longest=5)
    for part in ("train", "dev"):
        (corpus / f"{part}.mt").write_text((corpus / f"{part}.fr").read_text("utf-8").replace("un", "uno"), "utf-8")
    (corpus / "words.tsv").write_text(
        "".join(f"{source_word}\t{word}\n" for source_word, word in toy.WORDS.items()), "utf-8"
    )
    return corpus


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """A run that knows half of the French words, and has learned which words are none of them."""
    return session.train(toy.config(folder, folder / "run", LEARNED), quiet=True).path


@pytest.fixture(scope="module")
def other_runs(folder: Path) -> dict[str, Path]:
    """Runs of other kinds that have learned nothing; made when they are asked for."""

    class Runs(dict[str, Path]):
        def __missing__(self, name: str) -> Path:
            path = folder / name.replace(" ", "-")
            options = {**ONE_STEP, **OTHERS[name]}
            self[name] = session.train(toy.config(folder, path, options), quiet=True).path
            return self[name]

    return Runs()


def craving(*runs: Path, **options: Any) -> Translator:
    translator = dragoman.load(list(runs), **options)
    translator.generator.predictor = Craving(translator.generator.predictor or translator.scorer)
    return translator


def texts(translations: Iterable[Translation]) -> list[str]:
    return [translation.text for translation in translations]


# --- which word it is


@pytest.mark.spec("D2")
def test_a_run_that_reads_lower_case_copies_words_in_their_own(folder: Path) -> None:
    options = {**LEARNED, "text.source.lowercase": True}
    translator = dragoman.load(session.train(toy.config(folder, folder / "lower", options), quiet=True).path)
    sources = [text.title() for text in TEXTS]
    copied = [
        (translation.words[replaced.word], text.split()[replaced.source_word])
        for text, translation in zip(sources, translator.translate(sources), strict=True)
        for replaced in translation.replaced
    ]
    assert copied
    assert all(word == copied for word, copied in copied)


# --- every search


@pytest.mark.spec("D2")
@pytest.mark.parametrize("search", [Spec("greedy"), Spec("beam", {"size": 4})], ids=["greedy", "beam"])
@pytest.mark.parametrize("way", ["alone", "ensemble", "int8", "onnx"])
def test_it_is_the_most_attended_source_word_in_every_search(search: Spec, way: str, run: Path) -> None:
    """That of the attention which the translation with `<unk>` itself has; with n-best lists and prefixes, too."""
    options: dict[str, Any] = {}
    if way == "onnx":
        if find_spec("onnxscript") is None:
            pytest.skip("needs the extra `onnx`")
        if not (run / "onnx").is_dir():
            export.write(Run.load(run))
    if way in ("int8", "onnx"):
        options["engine"] = way
    runs = [run, run] if way == "ensemble" else [run]
    plain = dragoman.load(runs, replace_unk=False, **options)
    copies = dragoman.load(runs, **options)
    wanted = plain.translate(TEXTS, search=search)
    assert sum("<unk>" in alternative.text for alternative in wanted) > 6
    for one, translation in zip(wanted, copies.translate(TEXTS, search=search), strict=True):
        best = one.attention.argmax(1)
        unknown = [number for number, word in enumerate(one.words) if word == "<unk>"]
        words = [one.source_words[best[n]] if n in unknown else word for n, word in enumerate(one.words)]
        assert (translation.words, translation.text) == (words, " ".join(words))
        assert translation.replaced == tuple(Replacement(n, "en", best[n], dictionary=False) for n in unknown)
        assert [step.symbol for step in translation.steps] == [
            step.symbol for step in one.steps
        ]  # they say what was found
        assert translation.log_prob == one.log_prob
    if search.kind == "beam":
        (several,) = copies.translate(TEXTS[2:3], search=search, n_best=3)
        assert len({alternative.text for alternative in several.n_best}) == len(several.n_best) == 3
        assert not any("<unk>" in alternative.text for alternative in several.n_best)
    (begun,) = copies.translate(["four six one"], search=search, prefix=["six"])
    assert begun.text.split()[0] == "six"
    assert "<unk>" not in begun.text


@pytest.mark.spec("D3")
@pytest.mark.parametrize("name", ["run", "ensemble"])
def test_a_dictionary_translates_it(name: str, run: Path, folder: Path) -> None:
    """So a model that knows three words is right about six."""
    runs = [run, run] if name == "ensemble" else [run]
    translations = dragoman.load(runs, dictionary=folder / "words.tsv").translate(TEXTS)
    wanted = [target for _, target in toy.pairs(12, 5)]
    assert sum(one == other for one, other in zip(texts(translations), wanted, strict=True)) >= 8
    assert all(replacement.dictionary for one in translations for replacement in one.replaced)


@pytest.mark.spec("D3")
def test_the_best_of_all_dictionaries_is_taken_and_the_last_overrides(run: Path, tmp_path: Path) -> None:
    for name, lines in {
        "one": "one\teins\t0.4\none\tun\t0.6\none\tuna\t0.6\nfive\tcinq\n",
        "two": "one\tEINS\n",
    }.items():
        (tmp_path / f"{name}.tsv").write_text(lines, "utf-8")
    text = "one one five"
    (plain,) = dragoman.load(run).translate([text])
    assert set(plain.words) == {"one", "five"}
    for files, words in (
        (["one"], {"one": "un", "five": "cinq"}),
        (["one", "two"], {"one": "EINS", "five": "cinq"}),
        (["two"], {"one": "EINS", "five": "five"}),
    ):
        (translation,) = dragoman.load(run, dictionary=[tmp_path / f"{name}.tsv" for name in files]).translate([text])
        assert translation.words == [words[word] for word in plain.words]
        assert [replacement.dictionary for replacement in translation.replaced] == [
            words[word] != word for word in plain.words
        ]


@pytest.mark.spec("D3")
def test_a_dictionary_in_the_run_folder_needs_no_option(run: Path, folder: Path, tmp_path: Path) -> None:
    own = run / "dictionary.tsv"
    own.write_text((folder / "words.tsv").read_text("utf-8"), "utf-8")
    (tmp_path / "mine.tsv").write_text("four\tVIER\n", "utf-8")
    try:
        (translation,) = dragoman.load(run).translate(["four"])
        (other,) = dragoman.load(run, dictionary=[f"en={tmp_path / 'mine.tsv'}"]).translate(["four"])
        assert (set(translation.words), set(other.words)) == ({"quatre"}, {"VIER"})
    finally:
        own.unlink()


def test_the_name_of_a_dictionary_may_have_an_equals_sign(run: Path, tmp_path: Path) -> None:
    (tmp_path / "en=words").mkdir()
    for name in ("en=words/mine.tsv", "en=mine.tsv"):
        (tmp_path / name).write_text("four\tVIER\n", "utf-8")
        with chdir(tmp_path):
            (translation,) = dragoman.load(run, dictionary=name).translate(["four"])
            assert dictionary_files([name]) == [Path(name)]
        assert set(translation.words) == {"VIER"}


def test_a_dictionary_of_nothing_is_refused(run: Path, folder: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        dragoman.load(run, dictionary=folder / "words.tsv", replace_unk=False)
    golden(str(raised.value).removeprefix(f"{folder}/"))


@pytest.mark.spec("D2")
@pytest.mark.parametrize("wait", [1, 2, 1000])
def test_while_the_source_arrives_it_is_the_most_attended_word_so_far(wait: int, run: Path, folder: Path) -> None:
    translator = dragoman.load(run, dictionary=folder / "words.tsv")
    copies, plain = dragoman.load(run), dragoman.load(run, replace_unk=False)
    for text in TEXTS:
        read = text.split()
        raw = list(plain.simultaneous(read, wait=wait))
        copied = list(copies.simultaneous(read, wait=wait))
        assert [word.read for word in copied] == [word.read for word in raw]
        for one, other in zip(raw, copied, strict=True):
            assert other.text == one.text if one.text != "<unk>" else other.text in read[: other.read]
        written = [word.text for word in translator.simultaneous(read, wait=wait)]
        translated = [word.text if raw[n].text != "<unk>" else toy.WORDS[word.text] for n, word in enumerate(copied)]
        assert written == translated
        if wait == 1000:
            (whole,) = copies.translate([text], search=Spec("greedy"))
            assert [word.text for word in copied] == whole.words


def test_a_streamed_replacement_of_several_words_is_one(run: Path, tmp_path: Path) -> None:
    (tmp_path / "long.tsv").write_text("".join(f"{word}\tles {word}\n" for word in toy.WORDS), "utf-8")
    translator = dragoman.load(run, dictionary=tmp_path / "long.tsv")
    for text in TEXTS[:4]:
        (whole,) = translator.translate([text], search=Spec("greedy"))
        spoken = [word.text for word in translator.simultaneous(text.split(), wait=1000)]
        assert spoken == whole.words
        assert " ".join(spoken) == whole.text


def test_given_targets_and_prefixes_are_not_replaced(run: Path) -> None:
    translator = dragoman.load(run)
    (scored,) = translator.score(["one two"], ["quatre <unk> un"])
    assert scored.text == "quatre <unk> un"
    assert scored.translation.replaced == ()


# --- every model


@pytest.mark.spec("D2")
@pytest.mark.parametrize("name", OTHERS)
def test_no_model_writes_unk(name: str, other_runs: dict[str, Path]) -> None:
    """Whatever it reads, though nothing is more probable; and in the places where it writes `<unk>` if it may."""
    translator, plain = craving(other_runs[name]), craving(other_runs[name], replace_unk=False)
    inputs: list[Any] = [*HOSTILE, *TEXTS[:2]]
    if len(translator.sources) > 1:
        inputs = [*((text, TEXTS[n % 12]) for n, text in enumerate(inputs)), ("one", ""), ("", "")]
    for search in (Spec("greedy"), Spec("beam", {"size": 2})):
        written = plain.translate(inputs, search=search)
        translations = translator.translate(inputs, search=search)
        assert any("<unk>" in text for text in texts(written)) == (name != SPELLS)
        assert not any("<unk>" in text for text in texts(translations))
        for one in translations:
            assert not any("<unk>" in word for word in one.words)
            for replacement in one.replaced:
                seen = next(source for source in one.sources if source.name == replacement.source)
                assert seen.words[replacement.source_word] in one.words[replacement.word]
            assert Result.from_line(Result(one).line()).translation.replaced == one.replaced
        assert any(one.replaced for one in translations) == (name not in ("no attention", SPELLS))
        assert [one.replaced for one in written] == [()] * len(inputs)


@pytest.mark.spec("D2")
@pytest.mark.parametrize("search", ["sample", "diverse", "exhaustive"])
@pytest.mark.parametrize("name", ["words", "characters", "output pointer", SPELLS])
def test_no_search_writes_unk(name: str, search: str, other_runs: dict[str, Path]) -> None:
    longest = {"length_ratio": 0.0, "length_margin": 3} if search == "exhaustive" else {}
    load = dragoman.load if search == "exhaustive" else craving  # which proves nothing of what is no probability
    for translation in load(other_runs[name]).translate([*HOSTILE, *TEXTS[:2]], search=Spec(search, longest)):
        for one in (translation, *translation.alternatives):
            assert "<unk>" not in one.text
            assert "<unk>" not in one.words


@pytest.mark.parametrize("name", ["words", "characters"])
def test_a_prefix_stays_as_it_is(name: str, other_runs: dict[str, Path]) -> None:
    """A word that begins in it, too."""
    (translation,) = craving(other_runs[name]).translate(
        ["one two"], prefix=["deux tr" if name == "characters" else "deux"]
    )
    assert translation.text.startswith("deux tr" if name == "characters" else "deux")
    assert translation.replaced
    assert "<unk>" not in translation.text


def test_words_with_characters_that_are_unknown_are_replaced_as_a_whole(other_runs: dict[str, Path]) -> None:
    translator = craving(other_runs["characters"])
    for one in translator.translate(TEXTS):
        for replacement in one.replaced:
            assert one.words[replacement.word] == one.source_words[replacement.source_word]
        assert one.text.split() == [word for word in one.words if word.strip()]


def test_sentences_without_a_word_have_no_unk_alone(other_runs: dict[str, Path]) -> None:
    """In one batch with others that do have words."""
    translator = craving(other_runs["no attention"])
    assert all(step.symbol != "<unk>" for step in translator.translate(["one two"])[0].steps)
    assert any(step.symbol == "<unk>" for step in craving(other_runs["words"]).translate(["one two"])[0].steps)


def test_a_run_that_leaves_unk_says_so_in_its_configuration(folder: Path, tmp_path: Path) -> None:
    options = {**ONE_STEP, "replace_unk": False}
    run = session.train(toy.config(folder, tmp_path / "run", options), quiet=True)
    assert "<unk>" in craving(run.path).translate(["one"])[0].text
    assert "<unk>" not in craving(run.path, replace_unk=True).translate(["one"])[0].text


def test_a_dictionary_is_for_words_that_are_attended_to(
    other_runs: dict[str, Path], folder: Path, golden: Golden
) -> None:
    with pytest.raises(UserError, match=r"words\.tsv: a dictionary requires attention to words") as raised:
        dragoman.load(other_runs["no attention"], dictionary=folder / "words.tsv")
    golden(str(raised.value).replace(str(folder), "FOLDER"))


@pytest.mark.spec("D3")
def test_a_dictionary_is_of_the_source_that_is_another_language(other_runs: dict[str, Path], folder: Path) -> None:
    for name in ("two sources", "post-editing"):
        for option, wanted in (((folder / "words.tsv"), "en"), (f"mt={folder / 'words.tsv'}", "mt")):
            translator = dragoman.load(other_runs[name], dictionary=option)
            unknown_words = translator.processor.transform(UnknownWords)
            assert unknown_words is not None
            assert list(unknown_words.dictionaries) == [wanted]


def test_a_text_that_spells_unk_is_text(run: Path) -> None:
    """It is copied like any other."""
    (translation,) = craving(run).translate(["unk"])
    assert translation.replaced
    assert {translation.words[replacement.word] for replacement in translation.replaced} == {"unk"}
    (translation,) = craving(run).translate(["<unk>"])
    assert {translation.words[replacement.word] for replacement in translation.replaced} <= {"<", "unk", ">"}
