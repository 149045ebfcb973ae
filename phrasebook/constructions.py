"""The table of constructions."""

from __future__ import annotations

from collections.abc import Callable

from phrasebook import (
    descriptions,
    facts,
    places,
    questions,
    relative,
    requests,
    statements,
    subordinate,
    times,
)
from phrasebook.draw import Draw
from phrasebook.grammar import Phrase

CONSTRUCTIONS: dict[str, Callable[[Draw], Phrase]] = {
    "statement": statements.statement,
    "intransitive": statements.intransitive,
    "adjectives": statements.adjectives,
    "manner": statements.manner,
    "negation": statements.negation,
    "habit": statements.habit,
    "fronted_time": statements.fronted_time,
    "modal": statements.modal,
    "separable": statements.separable,
    "clitic": statements.clitic,
    "taking_up": statements.taking_up,
    "dative": statements.dative,
    "double_clitic": statements.double_clitic,
    "copula": descriptions.copula,
    "comparison": descriptions.compared,
    "possession": descriptions.possession,
    "profession": descriptions.profession,
    "location": places.location,
    "placing": places.placing,
    "existence": places.existence,
    "state": descriptions.state,
    "liking": descriptions.liking,
    "yes_no": questions.yes_no,
    "open_question": questions.open_question,
    "indirect": questions.indirect,
    "coordination": subordinate.coordination,
    "meanwhile": subordinate.meanwhile,
    "because": subordinate.because,
    "reported": subordinate.reported,
    "condition": subordinate.condition,
    "subject_relative": relative.subject_relative,
    "object_relative": relative.object_relative,
    "purpose": relative.purpose,
    "enjoying": relative.enjoying,
    "quantity": facts.quantity,
    "time_of_day": times.time_of_day,
    "date": times.date,
    "birth": times.birth,
    "price": facts.price,
    "age": facts.age,
    "naming": facts.naming,
    "residence": facts.residence,
    "weather": times.weather,
    "passive": facts.passive,
    "request": requests.request,
    "gift": requests.gift,
    "prohibition": requests.prohibition,
}
