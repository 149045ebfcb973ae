"""Several pairs of languages in one store."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.configuration.components import Spec
from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import Example
from dragoman.data import learning, preparation
from dragoman.data.dataset import Dataset
from dragoman.data.vocabulary import EOS
from dragoman.text.mark import Mark
from dragoman.text.pipeline import TextPipeline
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS

LINES = {"en": ["the cat", "a dog", "", "cats"], "de": ["die Katze", "ein Hund", "leer", "Katzen"], "cs": ["kočka"] * 4}
TOKENIZERS: list[dict[str, Any]] = [{"kind": "word"}, {"kind": "bpe", "vocab_size": 300, "dropout": 0.5}]


def configuration(folder: Path) -> DataConfig:
    """English and German both ways, English to Czech, and Czech to German without training."""
    for name, lines in LINES.items():
        (folder / f"train.{name}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        (folder / f"dev.{name}").write_text("".join(f"{line}\n" for line in lines[:2]), "utf-8")
    both = {"train": str(folder / "train"), "dev": str(folder / "dev")}
    pairs = [{"source": source, "target": target, **both} for source, target in (("en", "de"), ("de", "en"))]
    pairs += [{"source": "en", "target": "cs", **both}, {"source": "cs", "target": "de", "dev": both["dev"]}]
    return DataConfig.model_validate({"pairs": pairs})


def prepared(folder: Path, unit: dict[str, Any]) -> Dataset:
    side = {"tokenizer": unit}
    text = TextConfig.model_validate({"source": side, "target": side})
    return Dataset.prepare(configuration(folder), text, 1, folder / "run")


@pytest.mark.spec("E1")
@pytest.mark.parametrize("unit", TOKENIZERS, ids=["word", "sampled"])
def test_sources_begin_with_the_mark_of_their_target(tmp_path: Path, unit: dict[str, Any]) -> None:
    data = prepared(tmp_path, unit)
    (source,), target = data.sources, data.target
    assert data.train.notes["parts"] == [3, 3, 3]  # in turn, without the empty line
    assert (data.report.pairs, data.report.kept) == (12, 9)
    batch = data.batch(np.arange(9), 0)
    marks = source.vocabulary.marked(batch.sources[0].ids[:, 0].tolist())
    assert marks == [Mark("<2de>")] * 3 + [Mark("<2en>")] * 3 + [Mark("<2cs>")] * 3
    assert source.vocabulary == target.vocabulary
    texts = []
    for language, sentences in ((source, batch.sources[0]), (target, batch.target)):
        rows = [ids[mask].tolist() for ids, mask in zip(sentences.ids, sentences.mask, strict=True)]
        assert all(row[-1] == EOS for row in rows)
        spelled = [
            [symbol for symbol in language.vocabulary.marked(row[:-1]) if isinstance(symbol, str)] for row in rows
        ]
        texts.append(list(map(language.text.decode, spelled)))
    kept = (0, 1, 3)
    english, german, czech = ([LINES[name][row] for row in kept] for name in ("en", "de", "cs"))
    assert texts == [english + german + english, german + english + czech]


def test_development_examples_are_by_pair(tmp_path: Path) -> None:
    data = prepared(tmp_path, TOKENIZERS[0])
    assert [len(examples) for examples in data.development] == [2, 2, 2, 2]
    assert data.development[3] == [Example(("kočka",), "die Katze"), Example(("kočka",), "ein Hund")]
    assert len(data.dev) == 8


def test_files_of_several_pairs_are_learned_from_once(tmp_path: Path) -> None:
    pipeline = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("word"))
    lines = learning.InventoryTexts(configuration(tmp_path), (pipeline, pipeline))
    both = [text for pair in zip(LINES["en"], LINES["de"], strict=True) for text in pair]
    assert list(lines) == [*both, *LINES["cs"]]
    assert len(lines) == 12
    more = [str(tmp_path / name) for name in ("train", "dev")]
    german, _, czech, _ = lines.data.pairs
    data = DataConfig(pairs=(german, czech.model_copy(update={"train": more})))
    beside = zip(LINES["en"][:2], LINES["cs"], strict=False)
    assert list(learning.InventoryTexts(data, (pipeline, pipeline))) == [
        *[*both, *LINES["cs"]],
        *(text for pair in beside for text in pair),  # of another file
    ]
    copied = german.model_copy(update={"target": german.source})
    for pairs in ((copied, german), (german, copied)):  # in either order
        read_lines = list(learning.InventoryTexts(DataConfig(pairs=pairs), (pipeline, pipeline)))
        assert sorted(read_lines) == sorted(both)


def test_protected_spans_of_a_file_of_several_pairs_are_those_of_each_pair(tmp_path: Path) -> None:
    data = configuration(tmp_path)
    for name, line in (("en", "5 cats"), ("de", "fünf Katzen"), ("cs", "5 koček")):
        (tmp_path / f"train.{name}").write_text(f"{line}\n", "utf-8")
    pipeline = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("word"))
    lines = learning.InventoryTexts(data, (pipeline, pipeline), Protection.named(["numbers"]))
    assert list(lines) == ["5 cats", "fünf Katzen", f"{MARKS[0]} koček"]


def test_what_is_prepared_does_not_depend_on_what_is_not_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = configuration(tmp_path)
    text = TextConfig.model_validate({"source": {"tokenizer": "word"}, "target": {"tokenizer": "word"}})
    preparation.prepare(data, text, 1, tmp_path / "run")
    monkeypatch.setattr(preparation, "learn_inventories", lambda *_: pytest.fail("is prepared already"))
    other = data.model_copy(update={"temperature": 5.0, "weights": (1.0, 2.0), "pairs": data.pairs[:3]})
    preparation.prepare(other, text, 1, tmp_path / "run")
