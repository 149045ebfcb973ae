"""A run: what a command reads from a run folder, and the facts about it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dragoman.configuration import config_file, sections
from dragoman.configuration.components import NONE, Spec
from dragoman.configuration.config import Config, TrainingConfig
from dragoman.corpus.features import FeatureSource
from dragoman.data.language import Language, Source, require_text
from dragoman.data.preparation import load as load_sources
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.model import build
from dragoman.model.inputs import model_inputs
from dragoman.model.parameters import count_parameters
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import load_weights, read_note, read_tensors
from dragoman.run.folder import RunFolder, describe_weights

WEIGHTS = ("model", "model-best", "model-last")  # in the order of preference


@dataclass(frozen=True)
class Run:
    """A run that was read from its folder."""

    folder: RunFolder
    config: Config
    sources: tuple[Source, ...]
    target: Language

    def __repr__(self) -> str:
        return f"Run({str(self.folder.path)[-100:]!r}, {self.config.data.languages[:60]})"

    @property
    def source(self) -> Language:
        """The only source. Raises UserError if there are several, or if it is numeric."""
        return require_text(self.sources)

    @classmethod
    def load(cls, path: str | Path) -> "Run":
        """Load a run from its folder. Raises UserError that names what is missing, truncated or not part of a run."""
        folder = RunFolder(Path(path))
        if not folder.path.is_dir():
            raise UserError(f"{path}: no such run folder")
        folder.check_form()
        if not folder.config.is_file():
            raise UserError(f"{path}: not a run folder (it has no config.yaml)")
        for part, there in ((folder.target, folder.target.is_file()), (folder.mark, folder.proof)):
            if not there:
                raise UserError(f"{path}: not a complete run folder (it has no {part.name})")
        config = config_file.load(folder.config, of_run=True)  # `model` checks that its parts fit
        # Training and metrics may have parts that no command needs which uses the model.
        used = config.model_copy(update={"training": TrainingConfig(), "metrics": ()})
        folder.check_plugins(sections.texts(used))
        *sources, target = load_sources(config.data, folder.path).values()
        assert isinstance(target, Language)
        return cls(folder, config, tuple(sources), target)

    def weights(self, name: str | None = None) -> Path:
        """Return the file of the named weights, or of the first of WEIGHTS that exists."""
        names = (
            [name]
            if name
            else [weights_name for weights_name in WEIGHTS if self.folder.weights(weights_name).is_file()]
        )
        if not names:
            raise UserError(f"{self.folder.path}: this run has no weights yet; run `dragoman train` first")
        return self.folder.weights(names[0])

    def model(self, weights: str | None = None) -> Seq2Seq:
        """Return the model with these weights, in evaluation mode."""
        path = self.weights(weights)
        model = build.build_empty_model(self.config, self.sources, self.target)
        load_weights(model, read_tensors(path)[0], path)
        return model.eval()


Row: TypeAlias = dict[str, Any]


def facts(run: Run) -> list[tuple[str, str]]:
    """Return the facts about a run, as labels and texts."""
    config = run.config
    sides = (*run.sources, run.target)
    sizes = [len(side.vocabulary) for side in sides if isinstance(side, Language)]
    regions = [f"{source.name}: {source.size:,} numbers" for source in run.sources if isinstance(source, FeatureSource)]
    parts = count_parameters(config.model, model_inputs(config, run.sources), run.target.symbols)
    notes = {1: "", 2: ", one inventory for both"}.get(len(sizes), ", one inventory for all")
    shared = notes if config.text.shared_vocabulary else ""
    corpora = [("training data", config.data.places("train")), ("development data", config.data.places("dev"))]
    units = " and ".join(dict.fromkeys((config.text.source.tokenizer.kind, config.text.target.tokenizer.kind)))
    return [
        ("languages", config.data.languages),
        *([("imported from", run.folder.imported)] if run.folder.imported else []),
        *((label, places) for label, places in corpora if places),
        ("symbols", f"{' and '.join(f'{size:,}' for size in sizes)} ({units}{shared})"),
        *([("regions", "; ".join([*regions, _describe_part(config.model.features)]))] if regions else []),
        ("encoder", _describe_part(config.model.encoder)),
        ("bridge", _describe_part(config.model.bridge)),
        ("attention", "; ".join(map(_describe_part, config.model.attention.chosen()))),
        *([("combination", _describe_part(config.model.combination))] if config.combines else []),
        ("decoder", _describe_part(config.model.decoder)),
        ("output", _describe_part(config.model.output)),
        ("parameters", f"{sum(parts.values()):,}"),
        *((f"  {part}", f"{count:,}") for part, count in parts.items()),
        *([("plug-ins", run.folder.plugins)] if run.folder.plugins else []),
        *([("begun with", run.folder.ancestor)] if run.folder.ancestor else []),
        *_progress(metric_rows(run)),
        *_weights(run),
    ]


def _describe_part(spec: Spec) -> str:
    """Describe a part with the options that are on: neither null nor false nor 0 nor none."""
    options = {name: value for name, value in spec.options.items() if value and value != NONE}
    on = (name if value is True else f"{name} {value}" for name, value in options.items())
    return ", ".join([spec.kind, *(option.replace("_", " ") for option in on)])


def _progress(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the progress, speed and memory of training."""
    if not rows:
        return [("training", "has not begun")]
    last = rows[-1]
    state = "ended" if any(key.startswith("final/") for key in last) else "under way"
    training_facts = [("training", f"{state}: {last['step']:,} steps, {last['time'] / 60:.1f} minutes")]
    speeds = [row["train/symbols_per_second"] for row in rows if "train/symbols_per_second" in row]
    if speeds:
        training_facts.append(("speed", f"{float(np.median(speeds)):,.0f} target symbols a second"))
    if last.get("final/memory_gb"):
        training_facts.append(("memory of the process", f"{last['final/memory_gb']:.2f} GB at most"))
    return training_facts


def _weights(run: Run) -> list[tuple[str, str]]:
    """Describe which validations the weights to use come from."""
    path = run.folder.weights()
    return [("weights", describe_weights(read_note(path)))] if path.is_file() else []


def metric_rows(run: Run) -> list[Row]:
    """Return the rows of metrics.jsonl, if any; a process that was killed may have left the last one incomplete."""
    path = run.folder.metrics
    rows: list[Row] = []
    lines = list(read_lines(path)) if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
            if number == len(lines):
                break
        if not isinstance(row, dict) or not {"step", "time"} <= row.keys():
            raise UserError(f"{path}:{number}: expected a JSON object with step and time")
        rows.append(row)
    return rows
