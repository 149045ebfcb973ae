"""`dragoman evaluate`: translations against references, with signatures."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperOption

from dragoman.cli import evaluate_options
from dragoman.cli.evaluate_options import EvaluateOptions
from dragoman.cli.options import command
from dragoman.cli.streams import one_stream
from dragoman.errors import UserError
from dragoman.files.reading import shown

if TYPE_CHECKING:
    from dragoman.cli.evaluate_run import RunTranslations
    from dragoman.cli.evaluate_scores import ScoredFile
    from dragoman.evaluation.metrics.metric import Metric


class EvaluateCommand(TyperCommand):
    """Command whose help lists the metrics. Their table is imported only when the help is shown."""

    def complete_help(self) -> None:
        """Add the names of the metrics to the help of --metrics."""
        from dragoman.cli.evaluate_scores import KINDS
        from dragoman.configuration import plugins

        plugins.load_installed()
        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "metrics":
                option.help = f"{evaluate_options.METRICS_HELP}{', '.join(KINDS)}."

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.complete_help()
        super().format_help(ctx, formatter)


@command(cls=EvaluateCommand, epilog="Example: dragoman evaluate test.de -i baseline.de -i new.de --metrics bleu,chrf")
def evaluate(options: EvaluateOptions) -> None:
    """Score translations or a run against references: BLEU, chrF, TER and others, with signatures.

    Several systems are compared with the first; * marks p < 0.05 and ** p < 0.01. For a multilingual run, the share of
    translations in a language other than --to is reported as well.
    """
    evaluate_options.check(options)
    from dragoman.cli import evaluate_scores

    for path in (*options.references, *(options.translations or ())):
        if str(path) in evaluate_scores.KINDS and not path.exists():
            raise typer.BadParameter(f"{path}: no such file; separate metrics by commas: --metrics bleu,{path}")
    metrics = evaluate_scores.measures(options.metrics, options.of_metrics())
    if options.json and (options.by or len(options.translations or ()) > 1):
        evaluate_scores.distinct(metrics)
    if options.run:
        from dragoman.cli import evaluate_run

        evaluate_scores.check_texts(metrics)

        run = evaluate_run.translated(options, metrics)
        typer.echo(_format_scores([run.text], run.references, metrics, options, run))
    else:
        systems, references = _read(options)
        typer.echo(_format_scores(systems, references, metrics, options, None))


def _read(options: EvaluateOptions) -> "tuple[list[ScoredFile], list[ScoredFile]]":
    """Return the translations of each system and the references."""
    from dragoman.cli.evaluate_scores import read

    translations = options.translations or [Path("-")]
    sources = [Path(name) for name in options.source or ()]
    one_stream(*translations, *sources, *options.beside())
    if "-" in map(str, translations) and sys.stdin.isatty():
        typer.echo("reading translations from the keyboard; end with Ctrl-D", err=True)
    systems = [read(path) for path in translations]
    if not options.translations and not systems[0].lines:
        raise UserError(f"{shown(translations[0])} contains no translations; add --input FILE")
    return systems, [read(path) for path in options.references]


def _format_scores(
    systems: "Sequence[ScoredFile]",
    references: "Sequence[ScoredFile]",
    metrics: "Sequence[Metric]",
    options: EvaluateOptions,
    run: "RunTranslations | None",
) -> str:
    """Return what is printed: scores, scores with intervals, or tables."""
    from dragoman.cli import evaluate_scores, evaluate_tables
    from dragoman.evaluation.significance import score_of

    if options.downstream:
        from dragoman.cli import evaluate_downstream

        evaluate_scores.tell_forms([] if run else systems, references, metrics)
        return evaluate_downstream.format_accuracies(systems, references, options, run)
    for system in systems:
        evaluate_scores.check(len(system.lines), system.path, references)
    evaluate_scores.check_forms(systems, references, metrics)
    evaluate_scores.tell_forms([] if run else systems, references, metrics)
    evaluate_scores.tell_unspaced(references, metrics)
    if options.by:
        return evaluate_tables.grouped(systems, references, metrics, options, run)
    if len(systems) > 1 or options.confidence:
        return evaluate_tables.compared(systems, references, metrics, options, run)
    values = evaluate_scores.scores(systems[0], references, metrics)
    if run:
        values = [*evaluate_scores.named(values, run.signature), *map(score_of, run.further)]
    return evaluate_scores.format_scores(values, as_json=options.json)
