"""The baselines of a run: measured before its first step, kept in run.json, and compared with the model at the end."""

import hashlib
import json
from collections.abc import Sequence

from dragoman.configuration import components
from dragoman.configuration.messages import figure
from dragoman.corpus.examples import Example
from dragoman.evaluation import baselines
from dragoman.evaluation.baselines import NEAREST, Baselines
from dragoman.evaluation.metrics.table import METRICS, higher_is_better
from dragoman.training.training import TrainingDirection
from dragoman.training.training_folder import note_baselines
from dragoman.training.validation import Validation

CHANGED = {
    "dev": "new validation scores are not comparable with earlier ones",
    "train": "training continues on other pairs and cannot be reproduced from the start",
}


def load_or_measure(run: TrainingDirection, *, anew: bool) -> Baselines | None:
    """Return the baselines that the run's folder has; where it has none, or `anew`, they are measured and written to
    it.
    """
    # Digests tell whether the data are still those that the scores are of.
    proof, digests = run.folder.proof, {"dev": _digest(run.data.dev), "train": run.data.content}
    if not anew and "baselines" in proof:
        changed = [name for name, digest in digests.items() if proof.get(name) not in (None, digest)]
        for name in changed:
            run.journal.say(f"{run.folder.path}: data.{name} has changed: {CHANGED[name]}")
        if not changed:
            if any(
                digest and proof.get(name) is None for name, digest in digests.items()
            ):  # the run was begun by an earlier version
                note_baselines(run.folder, proof["baselines"], digests)
            return baselines.from_json(proof["baselines"])
    if _trained_on(run):
        run.journal.say(f"{run.folder.path}: data.dev is part of the training data, so its scores do not generalize")
    measured = baselines.measure(run.config.data, run.config.text, run.config.metrics, run.data.dev)
    note_baselines(run.folder, measured and measured.to_json(), digests)
    return measured


def _digest(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of the texts of examples."""
    texts = [
        [str(text) for text in (*example.sources, example.target) if isinstance(text, str)] for example in examples
    ]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _trained_on(run: TrainingDirection) -> bool:
    """Return whether development data are training data."""
    return any(pair.dev in pair.train for pair in run.config.data.language_pairs)


def find_missed_baseline(run: TrainingDirection, validation: Validation) -> str:
    """Return which baseline the model of this validation does not exceed, by the metric that decides, or the first if
    none of the metrics does; empty if it exceeds all of them.
    """
    kept_baselines = baselines.from_json(run.folder.proof.get("baselines"))
    if kept_baselines is None:
        return ""
    metrics = {spec.kind: spec for spec in run.config.metrics}
    kind = run.config.training.metric if run.config.training.metric in metrics else next(iter(metrics))
    texts, references = (
        [sentence.text for sentence in validation.translations],
        [sentence.target for sentence in run.data.dev],
    )
    reached = components.build(METRICS, metrics[kind]).corpus(baselines.sample(texts), [baselines.sample(references)])
    baseline = kept_baselines.highest(kind)
    value = baseline.scores[kind].value
    if (reached.value > value) if higher_is_better(kind) else (reached.value < value):
        return ""
    name, advice = baseline.name, ""
    if name == NEAREST:
        name = f"the {NEAREST}"
        if not (run.config.data.recalled or _trained_on(run)):
            advice = "; a translation memory may do better or help the model (data.translation_memory)"
    comparison = f"on the development data the model has {reached.name} {figure(reached.value)}, {name} {figure(value)}"
    return f"{run.folder.path}: no better than {name}: {comparison}{advice}"
