"""What a checkpoint of another program is in our terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dragoman.data.lexicon import Lexicon
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline

Array: TypeAlias = npt.NDArray[Any]


Positions = Literal["marian", "huggingface"]


class ReaderOptions(NamedTuple):
    """What a user says about a model: its vocabularies where those of its folder are not to be read, the codes of its
    languages, and how positions of a MarianMT folder are computed: as Marian does, which trained it, or as Hugging Face
    does.
    """

    vocabularies: Sequence[Path] = ()
    languages: tuple[str, str] = ("source", "target")
    positions: Positions = "marian"


@dataclass(frozen=True)
class Side:
    """The text of one side: its pipeline, and its symbols in the order of the vocabulary, without the specials. `files`
    say how texts are segmented.
    """

    text: TextPipeline
    symbols: tuple[str, ...]
    files: tuple[Path, ...] = ()


class ForeignShortlist(NamedTuple):
    """A shortlist for a run, and the numbers of frequent symbols and of translations with which the other program uses
    it.
    """

    lexicon: Lexicon
    frequent: int
    translations: int


@dataclass(frozen=True)
class ForeignModel:
    """A model of another program.

    `model` is the section `model` of a configuration, `search` its key `search`. `tensors` have the names and shapes of
    our parameters. `files` are those that it was read from, for the model card.
    """

    program: str
    files: tuple[Path, ...]
    model: Mapping[str, Any]
    search: Mapping[str, Any]
    source: Side
    target: Side
    tensors: Mapping[str, Array]
    shortlist: ForeignShortlist | None = None

    @property
    def shortlist_option(self) -> str | None:
        """The option of `dragoman translate` with which the other program translates; None without a shortlist."""
        shortlist = self.shortlist
        return f"--shortlist {shortlist.frequent},{shortlist.translations}" if shortlist else None


@dataclass
class TensorMap:
    """Takes the tensors of a file by name, checks their shapes, and reports those that were not used."""

    path: Path
    tensors: Mapping[str, Array]
    taken: dict[str, Array] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def take(self, name: str, shape: Sequence[int]) -> Array:
        """A tensor of the file. UserError if it is missing, or of another shape."""
        if name not in self.tensors:
            raise UserError(f"{self.path}: tensor {name!r}: expected shape {tuple(shape)}, found no such tensor")
        tensor = self.tensors[name]
        if tensor.shape != tuple(shape):
            raise UserError(f"{self.path}: tensor {name!r}: expected shape {tuple(shape)}, found {tensor.shape}")
        self.used.add(name)
        return tensor

    def take_shared(self, names: Sequence[str], shape: Sequence[int]) -> Array:
        """The tensor that has these names, of which a file may lack some. UserError if it has different ones."""
        present = [name for name in names if name in self.tensors] or names[:1]
        tensor = self.take(present[0], shape)
        for name in present[1:]:
            if not np.array_equal(self.take(name, shape), tensor):
                raise UserError(f"{self.path}: tensor {name!r}: expected the numbers of {present[0]!r}, found others")
        return tensor

    def take_sum(self, names: Sequence[str], shape: Sequence[int]) -> Array:
        """The sum of some tensors, which are one of ours."""
        total: Array = np.sum([self.take(name, shape) for name in names], 0)
        return total

    def leave_out(self, *names: str) -> None:
        """Mark tensors as used that are computed here, if the file has them."""
        self.used.update(names)

    def put(self, name: str, tensor: Array) -> None:
        """Set a parameter of ours."""
        self.taken[name] = np.array(tensor, np.float32)  # a copy, since what a file was read into may be read-only

    def finish(self) -> dict[str, Array]:
        """The parameters. UserError if the file has a tensor that was not used: the model is another one."""
        if left := sorted(self.tensors.keys() - self.used):
            raise UserError(f"{self.path}: tensor {left[0]!r}: expected no such tensor in a model of these options")
        return self.taken
