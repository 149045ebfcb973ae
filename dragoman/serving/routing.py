"""Translate along a route: by one model, or through other languages by several in turn."""

from collections.abc import Sequence
from dataclasses import replace

from dragoman.documents.document_segment import PROTECTED
from dragoman.documents.translated import TranslatedSentence
from dragoman.serving.models import Hop
from dragoman.serving.registry import Glossaries
from dragoman.serving.request_options import RequestOptions, TranslationItem
from dragoman.text.glossary import Glossary


async def translate_along(
    route: Sequence[Hop], items: Sequence[TranslationItem], options: RequestOptions, glossaries: Glossaries
) -> list[TranslatedSentence]:
    """Translate by each model of a route in turn. Where there are several, each sentence has only the terms that
    occur in it: others could be words of the text between.
    """
    terms = options.constraints.glossary
    if len(route) < 2 or not terms:
        return await _in_turn(route, items, options, glossaries)
    groups, sentences = dict[Glossary, list[int]](), dict[int, TranslatedSentence]()
    for number, item in enumerate(items):
        groups.setdefault(terms.within([str(item.text)]), []).append(number)
    for glossary, numbers in groups.items():
        own = replace(options, constraints=options.constraints._replace(glossary=glossary))
        done = await _in_turn(route, [items[number] for number in numbers], own, glossaries)
        sentences |= dict(zip(numbers, done, strict=True))
    return [sentences[number] for number in range(len(items))]


async def _in_turn(
    route: Sequence[Hop], items: Sequence[TranslationItem], options: RequestOptions, glossaries: Glossaries
) -> list[TranslatedSentence]:
    """Translate by each model of a route in turn. Further translations and prefixes are of the last one. Terms of
    the request stay as they are in the text between.
    """
    read = [item._replace(prefix="") for item in items]
    between: list[TranslatedSentence | None] = [None] * len(items)
    kept = options.constraints._replace(glossary=options.constraints.glossary.untranslated)
    for hop in route[:-1]:
        new = await _by(hop, read, replace(options, alternatives=0, diverse=False, constraints=kept), glossaries)
        between = [sentence._replace(read=before) for sentence, before in zip(new, between, strict=True)]
        read = [TranslationItem(sentence.text) for sentence in between if sentence]
    ready = [text._replace(prefix=item.prefix) for text, item in zip(read, items, strict=True)]
    translated = await _by(route[-1], ready, options, glossaries)
    return [sentence._replace(read=before) for sentence, before in zip(translated, between, strict=True)]


async def _by(
    hop: Hop, items: Sequence[TranslationItem], options: RequestOptions, glossaries: Glossaries
) -> list[TranslatedSentence]:
    """Translate by one model, with the terms of its languages. Translations with constraints are not remembered."""
    options = replace(options, remembered=not options.constraints)
    translations = await hop.model.translate(items, constrained(hop, options, glossaries))
    return [
        TranslatedSentence(
            translation.text, translation, alternatives=tuple(other.text for other in translation.alternatives)
        )
        for translation in translations
    ]


def constrained(hop: Hop, options: RequestOptions, glossaries: Glossaries) -> RequestOptions:
    """The options of one model: its target language and terms, and what is protected in every text."""
    direction, constraints = hop.direction, options.constraints._replace(protection=PROTECTED)
    if isinstance(direction.source, str):
        terms = glossaries.of((direction.source, direction.target), constraints.glossary)
        constraints = constraints._replace(glossary=terms)
    return replace(options, to=direction.to, constraints=constraints)
