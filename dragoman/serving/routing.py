"""Translate along a route: by one model, or through other languages by several in turn."""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.documents.kept import PROTECTED
from dragoman.documents.translated import Sentence
from dragoman.serving.batching import Item, SharedOptions
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.models import Leg
from dragoman.text.glossary import Glossary
from dragoman.translation.lexical import UNCONSTRAINED, LexicalConstraints


class RequestOptions(NamedTuple):
    """What is asked of a translation: further ones (`diverse`: which begin with other words), terms, until when it has
    to be there (`time.monotonic`), how it begins, and whether attention has to be known, of corrections too.
    """

    alternatives: int = 0
    diverse: bool = False
    constraints: LexicalConstraints = UNCONSTRAINED
    until: float = math.inf
    prefix: str = ""
    attention: bool = False


DEFAULTS = RequestOptions()


async def translate_along(
    route: Sequence[Leg], items: Sequence[Item], options: RequestOptions, glossaries: Glossaries
) -> list[Sentence]:
    """Translate by each model of a route in turn. Where there are several, each sentence has only the terms that
    occur in it: others could be words of the text between.
    """
    terms = options.constraints.glossary
    if len(route) < 2 or not terms:
        return await _in_turn(route, items, options, glossaries)
    groups, found = dict[Glossary, list[int]](), dict[int, Sentence]()
    for number, item in enumerate(items):
        groups.setdefault(terms.within([str(item.text)]), []).append(number)
    for glossary, numbers in groups.items():
        own = options._replace(constraints=options.constraints._replace(glossary=glossary))
        done = await _in_turn(route, [items[number] for number in numbers], own, glossaries)
        found |= dict(zip(numbers, done, strict=True))
    return [found[number] for number in range(len(items))]


async def _in_turn(
    route: Sequence[Leg], items: Sequence[Item], options: RequestOptions, glossaries: Glossaries
) -> list[Sentence]:
    """Translate by each model of a route in turn. Further translations and prefixes are of the last one. Terms of
    the request stay as they are in the text between.
    """
    read = [item._replace(prefix="") for item in items]
    between: list[Sentence | None] = [None] * len(items)
    for leg in route[:-1]:
        kept = options.constraints._replace(glossary=options.constraints.glossary.kept)
        shared = SharedOptions(leg.direction.to, constraints=kept, remembered=not kept)
        new = await _by(leg, read, shared, options.until, glossaries)
        between = [each._replace(read=before) for each, before in zip(new, between, strict=True)]
        read = [Item(each.text) for each in between if each]
    last = route[-1]
    shared = SharedOptions(
        last.direction.to,
        1 + options.alternatives,
        options.constraints,
        options.diverse,
        remembered=not options.constraints,
    )
    ready = [each._replace(prefix=item.prefix) for each, item in zip(read, items, strict=True)]
    found = await _by(last, ready, shared, options.until, glossaries)
    return [each._replace(read=before) for each, before in zip(found, between, strict=True)]


async def _by(
    leg: Leg, items: Sequence[Item], shared: SharedOptions, until: float, glossaries: Glossaries
) -> list[Sentence]:
    """Translate by one model, with the terms of its languages."""
    found = await leg.model.translate(items, constrained(leg, shared, glossaries), until - time.monotonic())
    return [Sentence(each.text, each, others=tuple(other.text for other in each.alternatives)) for each in found]


def constrained(leg: Leg, shared: SharedOptions, glossaries: Glossaries) -> SharedOptions:
    """The same with the terms of a model's languages, and with what is protected in every text."""
    constraints = shared.constraints._replace(protection=PROTECTED)
    if isinstance(leg.direction.source, str):
        terms = glossaries.of((leg.direction.source, leg.direction.target), constraints.glossary)
        constraints = constraints._replace(glossary=terms)
    return shared._replace(constraints=constraints)
