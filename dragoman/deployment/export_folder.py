"""The folder of an export in a run folder: a note beside its files says which weights they were made from."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from dragoman.configuration.messages import written_by
from dragoman.errors import UserError
from dragoman.files.reading import compute_sha256
from dragoman.files.writing import write_atomically
from dragoman.run.run import Run

NOTE: Final = "export.json"
BEGUN: Final = {"program": "dragoman", "version": 0}  # the note before anything is exported
OF_ALL: Final = {"weights", "weights_digest"}  # keys of every note


class ExportFolder(NamedTuple):
    """A folder of exports with this option of `dragoman export`; `version` is that of its format."""

    path: Path
    option: str
    version: int

    @property
    def again(self) -> str:
        """What to do where the export does not fit."""
        return f"run `dragoman export {self.option}` again"

    def begin(self) -> None:
        """Check that the folder is empty or an export's, so that its files may be replaced. Raises UserError otherwise.

        A note that nothing is exported yet is written first, so that an export that was killed can be repeated.
        """
        if is_export(self.path):
            return
        if self.path.is_dir() and any(path for path in self.path.iterdir() if not path.name.startswith(f".{NOTE}.")):
            raise UserError(f"{self.path}: exists, and is no export; move it elsewhere")
        self.write(BEGUN)

    def write(self, fields: Mapping[str, Any]) -> None:
        """Write the note, when all other files are there."""
        with write_atomically(self.path / NOTE) as text:
            json.dump(fields, text, indent=1)

    def read(self) -> dict[str, Any]:
        """Return the fields of the note. UserError if there is none, or it is of another version or damaged."""
        path = self.path / NOTE
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            if fields == BEGUN:
                raise UserError(f"{self.path}: the export was not finished; {self.again}")
            if "version" in fields and fields["version"] != self.version:
                raise UserError(f"{path}: {written_by(fields['version'], self.version)}; {self.again}")
            return dict(fields)
        except FileNotFoundError:
            raise UserError(f"{self.path}: no such export; `dragoman export {self.option}` makes it") from None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise self.damaged(error) from error

    def damaged(self, error: Exception) -> UserError:
        """The error for a note that is not readable."""
        return UserError(f"{self.path / NOTE}: damaged ({error}); {self.again}")

    def check(self, run: Run, weights: str | None, name: str, digest: str, files: Mapping[str, str]) -> None:
        """Raise UserError if the weights that the export was made from have changed, or the named ones are others, or
        if a file is missing or damaged.
        """
        current = run.weights(weights) if weights else run.folder.weights(name)
        if current != run.folder.weights(name):
            raise UserError(f"{self.path}: was made from {name}, not from {current.name}; {self.again} with --weights")
        # An export that was moved elsewhere does not need the weights.
        if current.is_file() and compute_sha256(current) != digest:
            raise UserError(f"{self.path}: {name} has changed since the export; {self.again}")
        for file, wanted in files.items():
            if not (self.path / file).is_file() or compute_sha256(self.path / file) != wanted:
                raise UserError(f"{self.path / file}: missing or damaged; {self.again}")


def is_export(folder: Path) -> bool:
    """Whether `export` of any version wrote to a folder, even if it did not finish."""
    with suppress(OSError, ValueError, RecursionError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        return isinstance(note, dict) and (note == BEGUN or note.keys() >= OF_ALL)
    return False


def name_weights(run: Run, path: Path) -> str:
    """The name of a file of weights in a note: as it is called in the run folder, or where it is."""
    inside = path.is_relative_to(run.folder.path)
    return str(path.relative_to(run.folder.path)) if inside else str(path.resolve())
