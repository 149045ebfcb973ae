"""The constructions."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.phrasebook import descriptions, measures, questions, requests, statements, subordinate
from dragoman.phrasebook.draw import Draw
from dragoman.phrasebook.grammar import Phrase

CONSTRUCTIONS: dict[str, Callable[[Draw], Phrase]] = {
    "statement": statements.statement,
    "intransitive": statements.intransitive,
    "adjectives": statements.adjectives,
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
    "location": descriptions.location,
    "placing": descriptions.placing,
    "existence": descriptions.existence,
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
    "subject_relative": subordinate.subject_relative,
    "object_relative": subordinate.object_relative,
    "purpose": subordinate.purpose,
    "enjoying": subordinate.enjoying,
    "quantity": measures.quantity,
    "time_of_day": measures.time_of_day,
    "date": measures.date,
    "price": measures.price,
    "age": measures.age,
    "naming": measures.naming,
    "residence": measures.residence,
    "weather": measures.weather,
    "passive": measures.passive,
    "request": requests.request,
    "gift": requests.gift,
    "prohibition": requests.prohibition,
}
