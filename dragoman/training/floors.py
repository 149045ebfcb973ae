"""The floors of a run: measured before its first step, kept in run.json, and compared with the model at the end."""

from dragoman.configuration import components
from dragoman.configuration.messages import figure
from dragoman.evaluation import floors
from dragoman.evaluation.floors import NEAREST, Floors
from dragoman.evaluation.metrics.table import METRICS, higher_is_better
from dragoman.training.folder import note_floors
from dragoman.training.training import Direction
from dragoman.training.validation import Validation


def kept(run: Direction, *, anew: bool) -> Floors | None:
    """The floors that the run's folder has; where it has none, or `anew`, they are measured and written to it."""
    if not anew and "floors" in run.folder.proof:
        return floors.from_json(run.folder.proof["floors"])
    found = floors.measure(run.config.data, run.config.text, run.config.metrics, run.data.dev)
    note_floors(run.folder, found and found.to_json())
    return found


def missed(run: Direction, validation: Validation) -> str:
    """Which floor the model of this validation does not exceed, by the metric that decides, or the first if none of the
    metrics does; empty if it exceeds all of them.
    """
    found = floors.from_json(run.folder.proof.get("floors"))
    if found is None:
        return ""
    metrics = {spec.kind: spec for spec in run.config.metrics}
    kind = run.config.training.metric if run.config.training.metric in metrics else next(iter(metrics))
    texts, references = [each.text for each in validation.translations], [each.target for each in run.data.dev]
    reached = components.build(METRICS, metrics[kind]).corpus(floors.sample(texts), [floors.sample(references)])
    floor = found.highest(kind)
    value = floor.scores[kind].value
    if (reached.value > value) if higher_is_better(kind) else (reached.value < value):
        return ""
    name, advice = floor.name, ""
    if name == NEAREST:
        name = f"the {NEAREST}"
        if not run.config.data.recalled:
            advice = "; a translation memory may serve these texts better, or help the model (data.memory)"
    told = f"on the development data the model has {reached.name} {figure(reached.value)}, {name} {figure(value)}"
    return f"{run.folder.path}: no better than {name}: {told}{advice}"
