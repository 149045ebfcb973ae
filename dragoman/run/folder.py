"""A run folder: everything that one training made, and all that is needed to use the model.

run.json                  shows that training or `dragoman import` made this folder; version, form, date, the run it
                          started from, the plug-ins whose parts it uses, and what the development data score without a
                          model (baselines)
config.yaml               the configuration, complete and resolved
source.*, target.*        text pipelines, vocabularies and counts of symbols, and the characters of their words if
                          the model reads or spells these; for numeric sources, how many numbers a region has; with
                          several languages, which of them each symbol is in
memory.jsonl.gz           the training pairs, if they are a translation memory (data.translation_memory)
model.safetensors         the weights to use: the mean of the best or last, or the best
model-best.safetensors    the best single validation; model-last.safetensors: the last one
model-start.safetensors   the weights of another run that training began with (training.init_interpolation)
code.*.py                 Python files with parts of the model (key `code`), for reading and `--code`: nothing executes
                          them by itself
metrics.jsonl             metrics of training and validation, a line each time
events.*                  the same for TensorBoard (training.loggers: tensorboard)
validation.jsonl          the development sentences as last translated, with attention
README.md                 the model card
report.html               curves, scores and attention on one page
checkpoints/              last.safetensors (to resume from) and the best weights so far
data/                     the prepared corpus
calibration.json          the temperature at which the weights are calibrated, where `dragoman calibrate` has found it
gate.json                 how it compares with the run that served, where `dragoman gate` has found that
shortlist.safetensors     translations of each source symbol, where `dragoman shortlist` has found them
dictionary.tsv            translations of words that take the place of `<unk>`, where a user has put them
onnx/                     the model as ONNX graphs, where `dragoman export` has made them
ctranslate2/              the model for CTranslate2, where `dragoman export` has made it
reverse/                  the run of the other direction, where both were trained together (objective: agreement)
"""

import json
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.configuration import arguments, plugins
from dragoman.configuration.messages import figure
from dragoman.errors import UserError
from dragoman.files.reading import read_lines

PROGRAM = "dragoman"
# The form of a run folder: it rises when one version cannot read what another wrote.
FORM = 3

# Names of the files that training writes: before its first checkpoint; at any time; in the folder `checkpoints`.
BEGUN = re.compile(
    r"run\.json|config\.yaml|metrics\.jsonl|events\.out\.tfevents\..+"
    r"|(source|target)(\..+)?\.(json|tokenizer|vocabulary|counts|characters)"
    r"|target\.languages|memory\.jsonl\.gz|model-start\.safetensors|code\..+\.py"
)
MADE = re.compile(rf"{BEGUN.pattern}|validation\.jsonl|README\.md|model(-best|-last)?\.safetensors")
KEPT = re.compile(r"last\.safetensors|step-\d{8}\.safetensors")
PARTS = re.compile(
    rf"(reverse/)?({MADE.pattern}|checkpoints/({KEPT.pattern})|(data|onnx|ctranslate2)(/.*)?"
    r"|shortlist\.safetensors|calibration\.json|gate\.json)"
)


def data_folder(run: str) -> Path:
    """The folder beside that of a run, which may end with a slash, for texts that are written for its training."""
    return Path(f"{run.rstrip('/')}-data")


class History(NamedTuple):
    """The figures of a training by step, with their names: `training[50]["loss"]` is the mean of the steps since the
    last row, `validation[976]["bleu"]` a score of the development data; `final` are those of the weights to use.
    """

    training: Mapping[int, Mapping[str, float]]
    validation: Mapping[int, Mapping[str, float]]
    final: Mapping[str, float]


@dataclass(frozen=True, init=False)
class RunFolder:
    """Names of the files in a run folder, which is given as a str or a Path."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        object.__setattr__(self, "path", arguments.path(path, "path"))

    @property
    def mark(self) -> Path:
        """The proof that training made the folder, and the first file in it."""
        return self.path / "run.json"

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def target(self) -> Path:
        """The text pipeline of the target language: the last file that preparation writes."""
        return self.path / "target.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def history(self) -> History:
        """Losses, scores and speed by step, from `metrics`; empty where nothing was trained."""
        parts: dict[str, dict[int, dict[str, float]]] = {"train": {}, "valid": {}, "final": {}}
        for line in read_lines(self.metrics) if self.metrics.is_file() else ():
            with suppress(ValueError):  # a last line that a killed process left half-written
                row = json.loads(line)
                for name, value in row.items():
                    part, _, figure_name = name.partition("/")
                    if part in parts and isinstance(value, int | float):
                        parts[part].setdefault(row["step"], {})[figure_name] = value
        final = list(parts["final"].values())
        return History(parts["train"], parts["valid"], final[-1] if final else {})

    @property
    def validation(self) -> Path:
        return self.path / "validation.jsonl"

    @property
    def dictionary(self) -> Path:
        return self.path / "dictionary.tsv"

    @property
    def calibration(self) -> Path:
        return self.path / "calibration.json"

    @property
    def gate(self) -> Path:
        return self.path / "gate.json"

    @property
    def card(self) -> Path:
        return self.path / "README.md"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def last_state(self) -> Path:
        return self.path / "checkpoints" / "last.safetensors"

    @property
    def reverse(self) -> "RunFolder":
        return RunFolder(self.path / "reverse")

    @property
    def main(self) -> "RunFolder":
        """The run whose training made this one: itself, or for `reverse` the run that contains it."""
        above = RunFolder(self.path.resolve().parent)
        return above if above.reverse.path == self.path.resolve() and above.metrics.is_file() else self

    @property
    def proof(self) -> dict[str, Any]:
        """What training wrote into `mark`; empty if it did not."""
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            contents = json.loads(self.mark.read_bytes())
            return dict(contents) if contents["program"] == PROGRAM else {}
        return {}

    @property
    def ancestor(self) -> str:
        """The run that training began with, in words; empty where it began with random weights."""
        match self.proof.get("start"):
            case {"run": str(run), "weights": str(weights), "version": str(version), "sha256": str(digest)}:
                return f"{run}, {weights} (SHA-256 {digest}), written by {PROGRAM} {version}"
        return ""

    @property
    def plugins(self) -> str:
        """The plug-ins whose parts the run uses, in words."""
        match self.proof.get("plugins"):
            case [*records]:
                return ", ".join(map(plugins.describe_record, records))
        return ""

    @property
    def imported(self) -> str:
        """The program whose model was imported and its files, in words; empty for a run that was trained here."""
        match self.proof.get("imported"):
            case {"program": str(program), "files": {**files}}:
                return ", ".join([program, *map(str, files)])
        return ""

    def check_form(self) -> None:
        """Raises UserError if the folder was made by a version of dragoman whose runs this one cannot read."""
        proof = self.proof or self.main.proof
        if proof and (form := proof.get("form", 1)) != FORM:
            version = proof.get("version", "of unknown version")
            raise UserError(
                f"{self.path}: was written by {PROGRAM} {version} in format {form}, but this version reads "
                f"format {FORM} only; train again in another folder"
            )

    @classmethod
    def check_config(cls, path: Path) -> None:
        """Raises UserError if a configuration belongs to a run that this version cannot read."""
        folder = cls(path.parent)
        if path == folder.config:
            folder.check_form()

    def check_plugins(self, names: Collection[str]) -> None:
        """Raises UserError if a plug-in is missing that has a part among these names of the run's configuration."""
        plugins.require(self.path, self.proof.get("plugins"), names)

    def has_part(self, path: Path) -> bool:
        """Whether a path, as written or with links resolved, is something that commands read from the run; the report
        is not.
        """
        for real in (os.path.abspath, os.path.realpath):
            folder, file_path = Path(real(self.path)), Path(real(path))
            if file_path.is_relative_to(folder) and PARTS.fullmatch(file_path.relative_to(folder).as_posix()):
                return True
        if not path.is_file():
            return False
        places = [self.path, *(subfolder for subfolder in self.path.glob("*") if subfolder.is_dir())]
        files = (file for place in places for file in place.iterdir() if file.is_file())
        return any(PARTS.fullmatch(file.relative_to(self.path).as_posix()) and file.samefile(path) for file in files)

    def checkpoint(self, step: int) -> Path:
        """Return the path of the weights of a validation that was among the best."""
        return self.path / "checkpoints" / f"step-{step:08d}.safetensors"

    def weights(self, name: str = "model") -> Path:
        """Return the path of weights; `name` is a file of the run, with or without its suffix, or the path of another
        file.
        """
        return self.path / f"{name.removesuffix('.safetensors')}.safetensors"


def chosen_among(note: Any) -> Any:
    """Return the steps that weights with this note were chosen from: they are the mean of all, or the best."""
    match note:
        case {"worse": steps} | {"mean of steps": steps}:
            return steps
        case {"step": step}:
            return [step]
    return None


def describe_weights(note: Any) -> str:
    """Describe which weights are in a file with this note."""
    match note:
        case {"init_interpolation": float(share), **remaining}:
            return (
                f"{share:.3g} of those that training began with, and {1 - share:.3g} of {describe_weights(remaining)}"
            )
        case {"worse_with_start": {"share": float(share), **measured}, **remaining}:
            what = f"{share:.3g} of those that training began with"
            return f"{describe_weights(remaining)}; with {what} it was worse ({_figures(measured)})"
        case {"step": int(step), "worse": [*steps]} if figures := _figures(note):
            of = note.get("of", "best")
            return f"the best, of step {step:,}: the mean of the {of} {len(steps)} was worse ({figures})"
        case {"step": int(step)}:
            return f"the best, of step {step:,}"
        case {"mean of steps": [*steps]}:
            return f"the mean of the {note.get('of', 'best')} {len(steps)}"
        case {"mean of": [*files]}:
            return f"the mean of {len(files)} files"
    return "of unknown origin"


def _figures(note: Any) -> str:
    """The deciding metric and the loss that a note tells; empty if it tells none."""
    match note:
        case {"metric": "loss", "loss": float(loss)}:
            return f"loss {figure(loss, 4)}"
        case {"metric": str(name), "value": float(value), "loss": float(loss)}:
            return f"{name} {figure(value)}, loss {figure(loss, 4)}"
    return ""
