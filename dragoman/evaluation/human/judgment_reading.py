"""What all annotators of a page said, checked against its key."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import UserError
from dragoman.evaluation.human.blinding import pieces
from dragoman.evaluation.human.forms import ERRORS, RANK, Answers, JudgedOutput, JudgedSentence, Key, SavedAnswers, read
from dragoman.files.reading import shown


class Judgment(NamedTuple):
    """What an annotator said about all translations of a sentence, by the names of the systems."""

    annotator: str
    item: JudgedSentence
    answers: Mapping[str, Answers]


class UnfinishedPage(NamedTuple):
    """Sentences that an annotator has not, or not fully, judged."""

    path: Path
    lines: list[int]
    of: int

    def __str__(self) -> str:
        shown_lines = ", ".join(map(str, sorted(self.lines)[:5])) + ", ..." * (len(self.lines) > 5)
        return (
            f"{shown(self.path)}: {len(self.lines):,} of {self.of:,} sentences are not fully judged and were "
            f"excluded: line {shown_lines}"
        )


class Judgements(NamedTuple):
    """All judgments of a page."""

    annotators: dict[str, int]  # with how many sentences each has judged
    judgments: list[Judgment]
    unfinished: list[UnfinishedPage]

    @property
    def sentences(self) -> int:
        """How many different ones were judged."""
        return len({judgment.item.id for judgment in self.judgments})


def gather(key: Key, name: str, paths: Iterable[Path]) -> Judgements:
    """Read what annotators saved; the file `name` has the key. Raises UserError if a file is damaged or about another
    page, if two are by one annotator, or if no sentence has been judged.
    """
    files: dict[str, Path] = {}
    gathered = Judgements({}, [], [])
    for path in paths:
        saved = read(path, SavedAnswers, "judgments saved by a `dragoman judge` page")
        if saved.page != key.page:
            raise UserError(f"{shown(path)}: belongs to a different page than {name}")
        annotator = " ".join(saved.annotator.split())
        if annotator.casefold() in files:
            other = shown(files[annotator.casefold()])
            raise UserError(f"{shown(path)}: is by {annotator}, like {other}; pass only one of them")
        files[annotator.casefold()] = path
        _check(key, saved, path)
        judgments = [_judgment(annotator, item, saved) for item in key.items]
        done = [judgment for judgment in judgments if _is_complete(judgment, key)]
        gathered.annotators[annotator] = len(done)
        gathered.judgments.extend(done)
        if len(done) < len(key.items):
            left = {item.line for item in key.items} - {judgment.item.line for judgment in done}
            gathered.unfinished.append(UnfinishedPage(path, list(left), len(key.items)))
    if not gathered.judgments:
        raise UserError(f"{', '.join(map(shown, files.values()))}: contains no fully judged sentence")
    return gathered


def _check(key: Key, saved: SavedAnswers, path: Path) -> None:
    """Raises UserError if answers are about what the key does not have."""
    items = {item.id: {output.id: output for output in item.outputs} for item in key.items}
    for item, by_output in saved.judgments.items():
        where = f"{shown(path)}: judgments.{item}"
        if item not in items:
            raise UserError(f"{where}: the page has no such sentence")
        for output, answers in by_output.items():
            if output not in items[item]:
                raise UserError(f"{where}.{output}: the page has no such translation")
            if answers.rank is not None and answers.rank > len(items[item]):
                raise UserError(f"{where}.{output}.rank: expected at most {len(items[item])}, found {answers.rank}")
            _check_errors(key, items[item][output], answers, f"{where}.{output}.errors")


def _check_errors(key: Key, output: JudgedOutput, answers: Answers, where: str) -> None:
    words = len(pieces(output.text)) // 2
    for number, error in enumerate(answers.errors):
        if error.category not in key.categories:
            raise UserError(
                f"{where}.{number}: expected one of {', '.join(key.categories) or 'no errors'}, found {error.category}"
            )
        if error.words and not 0 <= error.words[0] <= error.words[1] < words:
            raise UserError(f"{where}.{number}: no words {error.words[0]} to {error.words[1]}, there are {words}")


def _judgment(annotator: str, item: JudgedSentence, saved: SavedAnswers) -> Judgment:
    answers = saved.judgments.get(item.id, {})
    seen = (output for output in item.outputs if output.id in answers)
    return Judgment(annotator, item, {name: answers[output.id] for output in seen for name in output.systems})


def _is_complete(judgment: Judgment, key: Key) -> bool:
    """Whether all is answered. Errors are marked only if there are some, and one translation has no rank."""
    alone = len(judgment.item.outputs) == 1
    questions = [name for name in key.questions if name != ERRORS and not (name == RANK and alone)]
    answers = judgment.answers
    return len(answers) == len(key.systems) and all(
        answer.answer(name) is not None for answer in answers.values() for name in questions
    )
