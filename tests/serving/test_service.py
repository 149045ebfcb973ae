"""Texts, models and the ways between languages."""

import asyncio
import os
import re
import shutil
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.corpus.features import FeatureSource
from dragoman.corpus.translation_memory import Match
from dragoman.documents.html import Page
from dragoman.documents.translated import TranslatedSentence
from dragoman.errors import UserError
from dragoman.search.decoding import Deadline
from dragoman.serving import models
from dragoman.serving.corrections import Correction, Corrections
from dragoman.serving.models import Routes, ServedModel, names_of
from dragoman.serving.registry import Glossaries
from dragoman.serving.request_options import RequestOptions, TranslationItem
from dragoman.serving.request_queue import Batcher, BusyError
from dragoman.serving.service import Service
from dragoman.text.glossary import Glossary, Term
from dragoman.translation.source_inputs import LONGEST
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.transforms.terms import LexicalConstraints
from dragoman.translation.translation import Translation
from tests.golden import Golden
from tests.serving.server import serving

pytest.importorskip("sentencex")


def slowly(model: ServedModel) -> Callable[[Sequence[TranslationItem], RequestOptions, Deadline], list[Translation]]:
    """The search of a model, which takes 0.4 s."""

    def search(items: Sequence[TranslationItem], options: RequestOptions, deadline: Deadline) -> list[Translation]:
        time.sleep(0.4)
        return model._search(items, options, deadline)

    return search


def translated(service: Service, *texts: str, **options: Any) -> list[str]:
    async def ask() -> list[str]:
        texts_out = [translation.text for translation in await service.translate(texts, "en", "fr", **options)]
        await service.close()
        return texts_out

    return asyncio.run(ask())


@pytest.mark.slow
def test_protected_spans_come_through(run: Path) -> None:
    """Wherever attention puts them; what has nothing else is not translated."""
    model = ServedModel.load(run)
    texts = ["one two [X1X] six", "[X1X][X2X] one", "[X1X]", "six one"]
    first, second, *rest = translated(Service([model]), *texts)
    assert sorted(first.split()) == sorted("deux un [X1X] six".split())
    assert second.replace(" ", "").count("[X1X][X2X]") == 1
    assert rest == ["[X1X]", "un six"]


def test_ways_between_languages(run: Path) -> None:
    def model(name: str, *pairs: tuple[str, str]) -> ServedModel:
        return ServedModel(name, dragoman.load(run), pairs)

    first, second, third = model("a", ("en", "fr")), model("b", ("fr", "de"), ("en", "fr")), model("c", ("fr", "en"))
    routes = Routes([first, second, third])
    assert routes.targets == {"en": ["de", "fr"], "fr": ["de", "en"]}
    assert [leg.model.name for leg in routes.find("en", "fr")] == ["a"]
    assert [leg.model.name for leg in routes.find("en", "de")] == ["a", "b"]
    assert routes.find("de", "en") == ()


def test_only_direct_translations_are_explained(run: Path) -> None:
    service = Service(
        [ServedModel(f"to {pair[1]}", dragoman.load(run), (pair,)) for pair in (("en", "fr"), ("fr", "de"))]
    )
    with pytest.raises(UserError, match=r"^en to de uses the pivot fr; only direct translations can be explained$"):
        asyncio.run(service.explain(TranslationItem("one"), "en", "de"))


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["runs/demo/run"], ["run"]),
        (["a/run", "b/run", "c"], ["a/run", "b/run", "c"]),
        (["x/a/run", "y/a/run/", "y/b/run"], ["x/a/run", "y/a/run", "b/run"]),
        (["a/run", "./a/run"], ["run", "run"]),
        (["/run", "/a/run"], ["/run", "a/run"]),
    ],
)
def test_runs_have_names_as_short_as_tells_them_apart(folders: list[str], names: list[str]) -> None:
    assert names_of(list(map(Path, folders))) == names


@pytest.mark.slow
def test_runs_in_folders_of_one_name_have_measures_of_their_own(run: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name / "run" for name in ("a", "b")]
    for folder in folders:
        shutil.copytree(run, folder)
    with serving(*folders) as address, urllib.request.urlopen(f"{address}/metrics", timeout=20) as answer:
        measures = answer.read().decode()
    assert {'{model="a/run"}', '{model="b/run"}'} <= set(re.findall(r"\{model=[^}]*\}", measures))


def test_a_run_that_is_renewed_keeps_its_name(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, folder := tmp_path / "run")
    model = ServedModel.load(folder, name="a/run")
    os.utime(folder / "model.safetensors")
    renewed = model.renewed()
    assert renewed
    assert renewed.name == "a/run"


@pytest.mark.slow
def test_a_language_between(run: Path) -> None:
    to, back = (
        ServedModel("to", dragoman.load(run), [("en", "es")]),
        ServedModel("back", dragoman.load(run), [("es", "fr")]),
    )
    (text,) = translated(Service([to, back]), "one two")
    direct = dragoman.load(run)
    (first,) = direct.translate(["one two"])
    assert text == direct.translate([first.text])[0].text


@pytest.mark.slow
def test_terms_of_a_request_are_those_of_its_text_by_way_of_another_language(run: Path) -> None:
    """They stand as they are in the text between, where no other word is one."""

    async def ask(*terms: Term) -> TranslatedSentence:
        to, back = (
            ServedModel("to", dragoman.load(run), [("en", "es")]),
            ServedModel("back", dragoman.load(run), [("es", "fr")]),
        )
        service, options = Service([to, back]), RequestOptions(constraints=LexicalConstraints(Glossary(terms)))
        first, other = await service.translate(["one Two", "un"], "en", "fr", options)
        await service.close()
        assert other.sentences[0].read
        return first.sentences[0]

    texts = asyncio.run(ask(Term("two", ("zwei",)), Term("un", ("never",))))
    assert texts.read
    assert texts.read.text.split().count("Two") == 1
    assert texts.text.lower().split().count("zwei") == 1
    assert "never" not in texts.text
    kept = asyncio.run(ask(Term("two")))
    assert kept.text.split().count("Two") == 1


@pytest.mark.slow
def test_tags_go_where_their_words_went_by_way_of_another_language(run: Path) -> None:
    """The words that a model links with those that another one has linked with the words of the text."""
    to, back = (
        ServedModel("to", dragoman.load(run), [("en", "es")]),
        ServedModel("back", dragoman.load(run), [("es", "fr")]),
    )
    text = "<p>one two <b>three</b> six</p>"
    (first,), translator = to.translator.translate(["one two three six"]), back.translator
    (second,) = translator.translate([first.text])
    (middle,) = (there for here, there in first.alignment if here == 2)
    (last,) = (there for here, there in second.alignment if here == middle)
    words = [f"<b>{word}</b>" if number == last else word for number, word in enumerate(second.words)]
    assert html(Service([to, back]), text) == f"<p>{' '.join(words)}</p>"


@pytest.mark.slow
def test_tags_go_where_their_words_went_in_a_correction(run: Path, tmp_path: Path) -> None:
    """As the model would attend that writes it; in proportion if the model is too busy to tell."""

    def service() -> Service:
        return Service([ServedModel.load(run)], corrections=Corrections(tmp_path / "db"))

    asyncio.run(corrected(service(), "one two three", "trois deux six un"))
    assert html(service(), "<p>one two <b>three</b></p>") == "<p><b>trois</b> deux six un</p>"
    busy = service()
    busy.routes.models[0].batcher.stop()
    assert html(busy, "<p>one two <b>three</b></p>") == "<p>trois deux<b></b> six un</p>"
    long = f"trois deux {'un ' * 400}".strip()  # whose attention would take time
    asyncio.run(corrected(service(), "one two three", long))
    assert html(service(), "<p>one two <b>three</b></p>").index("<b></b>") > len(long) / 2


async def corrected(service: Service, source: str, better: str) -> None:
    await service.correct("en", "fr", Correction(source, better))
    await service.close()


def html(service: Service, text: str) -> str:
    """The translation of a page."""

    async def ask() -> str:
        page = Page(text)
        translations = await service.translate(
            [line.text for line in page.lines], "en", "fr", RequestOptions(attention=True)
        )
        await service.close()
        return page.text(translations)

    return asyncio.run(ask())


def test_only_calibrated_models_withhold_what_they_doubt(run: Path) -> None:
    with pytest.raises(UserError, match="run: --min-confidence needs a calibrated run"):
        Service([ServedModel.load(run)], least=0.5)


def test_of_two_models_both_have_to_be_sure_and_corrections_are_given(run: Path) -> None:
    translator, sentences = dragoman.load(run), list[TranslatedSentence]()
    own = translator.processor.transforms
    for temperature in (0.1, 20.0, None):
        translator.processor.transforms = own if temperature is None else (*own, ConfidenceCalibration(temperature))
        (translation,) = translator.translate(["one two"])
        sentences.append(TranslatedSentence(translation.text, translation))
    sure, unsure, unknown = sentences
    assert sure.trusted(0.5) == sure
    assert sure.whole is not None
    assert unsure.whole is not None
    both = sure._replace(
        alternatives=("deux", "six"), whole=replace(sure.whole, alternatives=(unsure.whole, sure.whole))
    )
    kept = both.trusted(0.5)
    assert (kept.alternatives, kept.whole and len(kept.whole.alternatives)) == (("six",), 1)
    assert unsure.trusted(0.5).withheld
    assert unsure.trusted(0.5).text == ""
    assert not unknown.trusted(0.5).withheld
    assert not sure._replace(read=sure).trusted(0.5).withheld
    assert sure._replace(read=unsure).trusted(0.5).withheld
    assert unknown._replace(read=unsure).trusted(0.5).text == ""
    assert TranslatedSentence("...", None, read=unsure).trusted(0.5).text == ""
    assert not unsure._replace(match=Match("un", 1.0, "one")).trusted(0.5).withheld


@pytest.mark.slow
def test_two_models_share_the_time_of_a_request(run: Path) -> None:
    to, back = (
        ServedModel("to", dragoman.load(run), [("en", "es")]),
        ServedModel("back", dragoman.load(run), [("es", "fr")]),
    )
    for model in (to, back):
        model.batcher = Batcher(slowly(model))
    with pytest.raises(BusyError, match="in time"):
        translated(Service([to, back]), "one two", options=RequestOptions(until=time.monotonic() + 0.6))


@pytest.mark.slow
def test_what_was_translated_is_known(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, searched = ServedModel.load(run), list[str]()
    real = model.translator.translate

    def noted(texts: Sequence[str], **options: Any) -> list[Translation]:
        searched.extend(texts)
        return real(texts, **options)

    monkeypatch.setattr(model.translator, "translate", noted)
    service = Service([model])

    async def ask() -> None:
        for _ in range(2):
            await service.translate(["one two", "one two", "six"], "en", "fr")
        await service.close()

    asyncio.run(ask())
    assert searched == ["one two", "six"]


def test_what_was_translated_with_a_glossary_is_not_kept(run: Path) -> None:
    model = ServedModel.load(run)
    service, terms = (
        Service([model]),
        RequestOptions(constraints=LexicalConstraints(Glossary([Term("two", ("zwei",))]))),
    )
    assert "zwei" in translated(service, "one two", options=terms)[0]
    assert len(model.cache) == 0


@pytest.mark.slow
def test_glossaries_hold_for_all_and_are_read_again(run: Path, two: Path, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("two\tzwei\nsix\tsechs\n", "utf-8")
    model = ServedModel.load(run)

    async def test() -> list[list[str]]:
        service = Service([model], glossaries=Glossaries.named([f"en,fr={path}"]))
        own, translations = (
            RequestOptions(constraints=LexicalConstraints(Glossary([Term("two", ("due",))]))),
            list[list[str]](),
        )
        for text in (None, "two\tdos\n", "two", "broken\ttwo\ttimes\nbroken\n"):
            if text is not None:
                path.write_text(text, "utf-8")
                await service.registry.renew()
            for options in (RequestOptions(), own):
                translations.append(
                    [translation.text for translation in await service.translate(["one two six"], "en", "fr", options)]
                )
        await service.close()
        return translations

    assert asyncio.run(test()) == [
        ["sechs zwei un"],
        ["sechs due un"],
        ["six dos un"],
        ["six due un"],
        ["six two un"],
        ["six due un"],
        ["six two un"],  # an unreadable glossary is reported, and changes nothing
        ["six due un"],
    ]
    assert len(model.cache) == 3  # those of the glossary's requests alone
    path.write_text("en\tfr\ntwo\tzwei\n", "utf-8")
    assert Glossaries.named([f"en,fr={path}"]).of(("en", "fr"), Glossary()).terms == (Term("two", ("zwei",)),)
    path.write_text("two\n", "utf-8")
    refused = ["terms.tsv", "en,=terms.tsv", f"fr,en={path}", f"en,fr={tmp_path / 'none'}"]
    for number, text in enumerate(refused):
        with pytest.raises(UserError) as error:
            Service([model], glossaries=Glossaries.named([text]))
        golden(str(error.value).replace(str(tmp_path), "FOLDER"), str(number))


def test_a_run_that_reads_numbers_does_not_serve(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "Language", FeatureSource)
    with pytest.raises(UserError, match="run: reads en, and `serve` supports text sources only"):
        ServedModel.load(run)


def test_texts_are_measured_in_symbols_of_the_model(run: Path) -> None:
    """Of which an unknown character may be as many as a word, up to those that are read."""
    model = ServedModel.load(run)
    symbols = model.translator.user_sources[0].text.encode
    for text in ("one two three", "\u6211\u7684\u8001\u5e08" * 20, "x" * 5_000):
        assert model._symbols(TranslationItem(text)) == min(len(symbols(text)), LONGEST)
    item = TranslationItem("one", translation="un", contrast="deux six")
    assert model._symbols(item) == len(symbols("one")) + len(model.translator.target.text.encode("un")) + len(
        model.translator.target.text.encode("deux six")
    )
