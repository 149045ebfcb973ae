"""How explanations agree with gold links: the parts of the table, measured once each."""

import json
from pathlib import Path

import pytest

from benchmarks import explanations, provenance
from dragoman import demo
from dragoman.configuration.components import Spec
from dragoman.text.pipeline import TextPipeline

SMALL = "model: {embedding: {size: 8}, encoder: {kind: rnn, size: 8}, decoder: {kind: rnn, size: 8}}"
TINY = f"text: {{source: {{tokenizer: word}}, target: {{tokenizer: word}}}}\n{SMALL}\ntraining: {{steps: 2}}\n"


def test_minimal_pairs_differ_in_one_word(tmp_path: Path) -> None:
    lines = {
        "en": ["He sees the cat.", "He sees the dog.", "He sees the cow.", "She sees the cat.", "The dog.", "The cat."],
        "fr": ["Il voit le chat.", "Il voit le chien.", "Il voit la vache.", "Elle le voit.", "Le chien.", "Le chat."],
    }
    for name, texts in lines.items():
        (tmp_path / f"test.{name}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    pipeline = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("word"))
    (minimal_pair,) = explanations.minimal_pairs(tmp_path, pipeline)
    assert minimal_pair == ("He sees the dog.", "Il voit le chien.", "Il voit le chat.", 3, ("dog", "cat"))


@pytest.mark.slow
def test_the_table_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "SIZES", dict.fromkeys(demo.SIZES, 30))
    monkeypatch.setattr(explanations, "DRAWN", 300)
    (tmp_path / "tiny.yaml").write_text(TINY, "utf-8")
    monkeypatch.setattr(explanations, "SENTENCES", 5)
    monkeypatch.setattr(explanations, "PAIRS", 3)
    packaged = (tmp_path / "tiny.yaml").read_text("utf-8")
    monkeypatch.setattr(demo, "write_config", lambda texts, run: _config(texts, run, packaged))
    arguments = ["--folder", str(tmp_path / "table")]
    assert explanations.main(arguments) == 0
    output = capsys.readouterr().out
    for way in explanations.WAYS:
        assert f"| `{way.replace('|', chr(92) + '|')}` |" in output
    assert "names the word that differs, of 3" in output
    for name in ("test", "compositional", "minimal"):
        assert provenance.origin(tmp_path / f"table/{name}.json") is not None
    pairs = json.loads((tmp_path / "table/minimal.json").read_text("utf-8"))["result"]["named"]
    assert all(set(pair["named"]) == {"attention", "gradient", "erasure"} for pair in pairs)
    monkeypatch.setattr(explanations, "trained", None)
    assert explanations.main(arguments) == 0
    assert capsys.readouterr().out == output


def _config(texts: Path, run: Path, packaged: str) -> Path:
    """A configuration beside the corpus, as the demo has it."""
    data = {"source": "en", "target": "fr", "train": str(texts / "train"), "dev": str(texts / "dev")}
    texts.parent.mkdir(parents=True, exist_ok=True)
    path = texts.parent / "config.yaml"
    path.write_text(f"{packaged}run: {json.dumps(str(run))}\ndata: {json.dumps(data)}\n", "utf-8")
    return path
