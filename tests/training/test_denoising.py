"""Denoising pretraining: the loss of a text given itself with masks, and what is then translated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dragoman
from dragoman.configuration.config import Config
from dragoman.data.batch import Batch, pad_tokens
from dragoman.data.denoising import MASK, mask_text, noise
from dragoman.data.language import Language
from dragoman.data.surfaces import UnknownWordNeeds
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import checks, session
from dragoman.training.gradients import compute_gradients
from dragoman.training.training import Training
from dragoman.training.validation import measure_likelihood
from dragoman.translation.result import Result
from tests import toy
from tests.golden import Golden

Assembled = Callable[[Config], Training]
Made = Callable[..., Config]

ALONE = {"data.source": "fr", "data.noise": {"kind": "infilling", "share": 0.4, "length": 2}}


def test_the_loss_is_that_of_the_text_given_the_masked_one(make_config: Made, assembled: Assembled) -> None:
    """`- sum_t log P(y_t | y_<t, noisy y)`, and its gradient reaches the vector of the mask."""
    run = assembled(make_config(ALONE))
    hides, rows = noise(run.config.data), np.arange(7)
    assert hides
    (mask,) = run.data.target.vocabulary.ids([MASK])
    texts = [run.data.train.columns["target"][int(row)].tolist() for row in rows]
    places = [hides(len(text) - 1, f"3:2:noise:{row}") for row, text in zip(rows, texts, strict=True)]
    pairs = zip(places, texts, strict=True)
    noisy = [[*(mask if place is None else text[place] for place in left), EOS] for left, text in pairs]
    wanted = Batch((pad_tokens(noisy),), pad_tokens(texts), rows)
    batch_of_two = run.data.batch(rows, 2)
    run.model.eval()
    loss = run.objective(run.model, batch_of_two)
    alone = (Batch((pad_tokens([one]),), pad_tokens([text]), rows[:1]) for one, text in zip(noisy, texts, strict=True))
    scored = [run.model.score(batch) for batch in alone]
    by_hand = -sum(float(scored.log_probs.detach().sum()) for scored in scored)
    assert loss.total.item() == pytest.approx(by_hand, rel=1e-5)
    assert run.objective(run.model, wanted).total.item() == pytest.approx(by_hand, rel=1e-5)
    compute_gradients(run, [batch_of_two])
    embedding = run.model.source_encoders[0].embedding
    assert embedding
    gradient = embedding.get_parameter("table").grad
    assert gradient is not None
    assert gradient[mask].abs().sum() > 0
    above = run.model.target_embedding.get_parameter("table").grad
    assert above is not None
    assert above[mask].abs().sum() == 0, "which is never written"


def test_development_texts_have_masks_too_and_always_the_same(make_config: Made, assembled: Assembled) -> None:
    run = assembled(make_config(ALONE))
    first, again = run.validator(run.model), run.validator(run.model)
    assert first.values == again.values
    hides, language = noise(run.config.data), run.data.target
    assert hides
    encoded = [language.text.encode(example.target) for example in run.data.dev]
    noisy = [mask_text(hides, text, f"3:dev:{' '.join(text)}") for text in encoded]
    assert any(MASK in text for text in noisy)
    sources, targets = ([[*language.vocabulary.ids(text), EOS] for text in side] for side in (noisy, encoded))
    pairs = zip(sources, targets, strict=True)
    batches = [Batch((pad_tokens([source]),), pad_tokens([target]), np.arange(1)) for source, target in pairs]
    assert first.values["loss"] == pytest.approx(measure_likelihood(run.model, batches).loss, rel=1e-4)
    for translation, symbols in zip(first.translations, noisy, strict=True):
        assert translation.source_words == [str(symbol) for symbol in symbols if symbol != MASK]
        assert translation.attention.shape[1] == len(translation.source_words)
        assert Result.from_line(Result(translation, "").line())


@pytest.mark.slow
def test_it_resumes_to_the_same_weights(make_config: Made, tmp_path: Path) -> None:
    options = {**ALONE, "training.epochs": 3, "training.steps": None}
    whole = session.train(make_config({**options, "run": str(tmp_path / "whole")}), quiet=True)
    session.train(make_config({**options, "training.steps": 6}), quiet=True)
    parts = session.train(make_config(options), quiet=True)
    last = "model-last.safetensors"
    assert (whole.path / last).read_bytes() == (parts.path / last).read_bytes()
    assert dragoman.load(parts.path).translate(["un deux"])[0].source_words == ["un", "deux"], "a user's text has none"


@pytest.mark.slow
@pytest.mark.parametrize("symbols", [False, True])
def test_a_translator_starts_from_it(make_config: Made, assembled: Assembled, tmp_path: Path, symbols: bool) -> None:
    """From texts of both languages, each its own pair; the translator has neither marks nor masks."""
    words = {"tokenizer": "word", "pretokenizer": "whitespace"}
    text = {"text.shared_vocabulary": True, "text.source": words, "text.target": words}
    toy.write(tmp_path, "mono", toy.pairs(40, 4, 3))
    pairs = [
        {"source": name, "target": name, "train": str(tmp_path / "mono"), "dev": str(tmp_path / "mono")}
        for name in ("en", "fr")
    ]
    folder = toy.corpus(tmp_path / "corpus")
    data = f"data: {{pairs: {toy._yaml(pairs)}, noise: infilling}}"
    config = toy.CONFIG.replace("data: {source: en, target: fr}", data)
    (folder / "both.yaml").write_text(config, "utf-8")
    options = {**text, "run": str(tmp_path / "both"), "training.epochs": 1}
    both = checks.load_config(folder / "both.yaml", {key: toy._yaml(value) for key, value in options.items()})
    old = Run.load(session.train(both, quiet=True).path)
    start = {**text, "training.init_from": str(old.folder.path), "data.train": str(folder / "train")}
    run = assembled(make_config({**start, "text.vocabulary_from": str(old.folder.path) if symbols else None}))
    source = run.data.sources[0]
    assert isinstance(source, Language)
    assert len(source.vocabulary) == len(old.target.vocabulary) - 3, "two languages and a mask"
    table, old_table = (model.source_encoders[0].embedding for model in (run.model, old.model()))
    assert table
    assert old_table
    for word in (*toy.WORDS, *toy.WORDS.values()):
        row, old_row = (language.vocabulary.ids([word])[0] for language in (source, old.target))
        assert torch.equal(table.get_parameter("table")[row], old_table.get_parameter("table")[old_row])


@pytest.mark.parametrize(
    "options",
    [
        {"data.noise": "infilling"},
        {**ALONE, "data.noise": {"kind": "infilling", "share": 1}},
        {**ALONE, "data.noise": "masking"},
        {**ALONE, "training.objective": "agreement"},
        {**ALONE, "data.edits": "fr", "text.shared_vocabulary": True},
        {**ALONE, "data.dev": "dev.tsv"},
        {"data.source": "fr"},
    ],
)
def test_noise_that_cannot_work_is_told(make_config: Made, options: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        make_config(options)
    golden(str(raised.value))


def test_words_that_are_hidden_cannot_be_said(
    make_config: Made, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr("dragoman.model.build.unknown_word_needs", lambda model: UnknownWordNeeds(extended=True))
    with pytest.raises(UserError) as raised:
        make_config(ALONE)
    golden(str(raised.value))
