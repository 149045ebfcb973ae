"""`dragoman evaluate --downstream`: how much another task suffers from translations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.cli import evaluate_scores
from dragoman.cli.evaluate_options import EvaluateOptions
from dragoman.cli.evaluate_scores import ScoredFile
from dragoman.cli.evaluate_tables import Cell, ComparisonRow, as_object, signed, table, tell_if_few, written
from dragoman.cli.streams import tell
from dragoman.evaluation import downstream
from dragoman.evaluation.downstream import Accuracy, Classifier
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.significance import compare_or_score, score_of
from dragoman.files.reading import shown

if TYPE_CHECKING:
    from dragoman.cli.evaluate_run import RunTranslations


def format_accuracies(
    systems: Sequence[ScoredFile],
    references: Sequence[ScoredFile],
    options: EvaluateOptions,
    run: "RunTranslations | None" = None,
) -> str:
    """Return the accuracy of a classifier on references and translations (of files, or of a run), with the drop from
    the first reference, and that of always saying the commonest label.
    """
    assert options.downstream is not None
    assert options.labels is not None
    labels = evaluate_scores.read(options.labels)
    for text in systems:
        evaluate_scores.check(len(text.lines), text.path, references)
    evaluate_scores.check(len(labels.lines), labels.path, references)
    classifier = Classifier(downstream.read(options.downstream))
    wanted = [label.strip() for label in labels.lines]
    for label in sorted(set(wanted) - classifier.labels)[:1]:
        tell(f"{shown(labels.path)}: '{label}' is no label in {shown(options.downstream)}, so it is never predicted")
    names = [shown(path) for path, _ in references]
    names += [", ".join(map(str, options.run or ()))] if run else [shown(path) for path, _ in systems]
    predictions = [(name, classifier(text.lines)) for name, text in zip(names, [*references, *systems], strict=True)]
    predictions.append((f"(always {classifier.commonest})", [classifier.commonest] * len(wanted)))
    metric = Accuracy(classifier)
    counts = [metric.counts(labeled, [wanted]) for _, labeled in predictions]
    tell_if_few(len(wanted))
    cells = compare_or_score(metric, counts, 1, test=options.test, samples=options.samples, seed=options.seed)
    rows = [
        ComparisonRow({"text": name}, [cell, _drop(cell, cells[0])])
        for (name, _), cell in zip(predictions, cells, strict=True)
    ]
    if run:
        place = len(references)
        rows[place] = rows[place]._replace(cells=[signed(cell, run.signature) for cell in rows[place].cells])
    return written(list(map(as_object, rows))) if options.json else table(rows, options.test)


def _drop(cell: Cell, reference: Cell) -> Cell:
    """How much lower than the reference, with its interval if both have one."""
    if isinstance(cell, Score) or isinstance(reference, Score):
        return _lower(score_of(cell), score_of(reference))
    low, high = cell.difference
    lower = _lower(cell.score, reference.score)
    return cell._replace(score=lower, mean=reference.mean - cell.mean, low=-high, high=-low, p=None)


def _lower(score: Score, reference: Score) -> Score:
    return Score("drop", reference.value - score.value, score.signature)
