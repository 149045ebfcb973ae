"""What a command has found out about a run, as a JSON file in its folder."""

from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from dragoman.configuration.messages import written_by
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.translation.json_schema import problem
from dragoman.translation.json_values import Schema

Found = TypeVar("Found", bound="Recorded")

VERSION = 1  # of all of them


class Recorded(Schema):
    """What `dragoman COMMAND` has found out. A subclass names its `command`, and has its own keys."""

    command: ClassVar[str]

    program: Literal["dragoman"] = "dragoman"
    version: int = VERSION

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        with write_atomically(path) as file:
            file.write(self.model_dump_json(indent=1) + "\n")

    @classmethod
    def read(cls: type[Found], path: Path) -> Found:
        """Read what `write` wrote. UserError names what is anything else."""
        try:
            value = from_json(path.read_bytes(), allow_inf_nan=False)
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: not readable as JSON ({error})") from None
        if not isinstance(value, dict) or value.get("program") != "dragoman":
            raise UserError(f"{path}: not written by `dragoman {cls.command}`")
        if value.get("version") != VERSION:
            raise UserError(f"{path}: {written_by(value.get('version'), VERSION)}; run `dragoman {cls.command}` again")
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise UserError(f"{path}: {problem(error)}") from None
