"""Starting from another run: its weights in place of random ones, and parameters that are not trained."""

import fnmatch
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dragoman.configuration import sections
from dragoman.configuration.components import dotted
from dragoman.configuration.config import Config
from dragoman.data.language import Language, Source
from dragoman.data.vocabulary import SPECIALS, UNK
from dragoman.errors import UserError
from dragoman.files.reading import compute_sha256
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import check_weights, load_weights, read_shapes, read_tensors
from dragoman.run.run import Run
from dragoman.text.mark import Symbol
from dragoman.text.tokenizer import REPLACEMENT
from dragoman.training.training import Training, TrainingDirection
from dragoman.training.training_folder import note_start

SUFFIX = ".safetensors"
Origins = list[list[int]]  # for each symbol, those of another vocabulary that it starts as the mean of; none = all


class InitialWeights(NamedTuple):
    """A trained run, and which of its weights to begin with."""

    run: Run
    weights: Path

    @classmethod
    def at(cls, place: str, *, reverse: bool = False) -> "InitialWeights":
        """Return the run in a folder, or with one of its files of weights; or the run of its other direction."""
        path = Path(place)
        folder, name = (path.parent, path.name) if path.suffix == SUFFIX else (path, None)
        run = Run.load(folder)
        run = Run.load(run.folder.reverse.path) if reverse else run
        weights = run.weights(name)
        # Against the run's own model: a damaged file is reported before the weights of the new one are touched.
        check_weights(build.build_empty_model(run.config, run.sources, run.target), read_shapes(weights), weights)
        return cls(run, weights)

    @property
    def note(self) -> dict[str, str]:
        """What a run descends from, for its records."""
        return {
            "run": str(self.run.folder.path),
            "weights": self.weights.name,
            "version": str(self.run.folder.proof.get("version")),
            "sha256": compute_sha256(self.weights),
        }


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Exclude the parameters with such names from training. A tied one has several names."""
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            parameter.requires_grad_(False)


def begin(run: Training, place: str) -> None:
    """Fill the models of a run before its first step with the weights of another, and note which. UserError where
    that is no trained run, or one of another model.
    """
    for direction in run.directions:
        try:
            start = InitialWeights.at(place, reverse=direction is not run)
        except UserError as error:
            raise UserError(f"training.init_from: {error}") from None
        if start.run.folder.path.resolve() == direction.folder.path.resolve():
            raise UserError(f"training.init_from: {place} is this run; choose another folder with --run")
        transfer(direction.model, direction.config, (*direction.data.sources, direction.data.target), start)
        if run.workers.leads:
            note_start(direction.folder, start.note)
            if any(run.config.training.init_interpolation):
                direction.selection.write_start(direction.model)
        unknown = direction.data.unknown if direction.config.text.vocabulary_from else ()
        description = "; ".join(
            [f"{run.named(direction)}begins with {start.weights}", *_differences(direction, start.run), *unknown]
        )
        run.journal.say(description)


def transfer(model: Seq2Seq, config: Config, sides: Sequence[Source], start: InitialWeights) -> None:
    """Fill a model from these sources to a target, the last, with the weights of another run.

    Of a table with a row for each symbol, those of symbols that both runs have are kept, and each other row is the mean
    of those of the symbols by which the other run spells this one.
    """
    run = start.run
    tensors, _ = read_tensors(start.weights)
    here, there = _sequences(config, sides), _sequences(run.config, (*run.sources, run.target))
    target = sides[-1]
    assert isinstance(target, Language)
    if model.output.arranges and target.vocabulary != run.target.vocabulary:
        raise UserError(
            f"training.init_from: model.output: {config.model.output.kind} is an arrangement of symbols, and those of "
            f"{start.weights} are others; take them over (text.vocabulary_from: {run.folder.path}), or choose "
            "another output"
        )
    # Sources with one inventory share their answer: a vocabulary is gone through once.
    origin = cache(origins)
    for name, side in model.by_symbol().items():
        if name not in tensors or side >= len(there) - 1:
            continue  # `load_weights` tells it
        own, old = here[side], there[side]
        if isinstance(own, Language) and isinstance(old, Language) and len(tensors[name]) == len(old.vocabulary):
            tensors[name] = _rows(tensors[name], origin(own, old), old.vocabulary.first)
    for name, side in model.by_character().items():
        if name not in tensors or side >= len(there) - 1:
            continue
        own, old = here[side], there[side]
        if isinstance(own, Language) and isinstance(old, Language) and len(tensors[name]) == len(old.alphabet):
            tensors[name] = _rows(tensors[name], letters(own, old), old.alphabet.first)
    try:
        load_weights(model, tensors, start.weights)
    except UserError as error:
        same = f"`model`, and sources of the same kinds, as {run.folder.config}"
        raise UserError(f"training.init_from: {error}; this run needs the same {same}") from None


def _sequences(config: Config, sides: Sequence[Source]) -> tuple[Source, ...]:
    """Return what the tables of a model are of: each sequence that it reads, and the target."""
    return (*config.data.sequences(sides[:-1]), sides[-1])


def origins(new: Language, old: Language) -> Origins:
    """Find for each symbol of a vocabulary its own number in an older one or, where that lacks it, the numbers of the
    symbols that spell it there.
    """
    numbers = [[number] for number in range(len(SPECIALS))]
    for symbol in new.vocabulary.marked(range(len(SPECIALS), len(new.vocabulary))):
        ids = old.vocabulary.ids([symbol])
        spelled = old.vocabulary.ids(_spelled(symbol, new, old)) if ids == [UNK] else ids
        numbers.append([number for number in spelled if number != UNK])
    return numbers


def letters(new: Language, old: Language) -> Origins:
    """Find for each number of an alphabet its own in an older one, or none. Marks are no letters."""
    marks = origins(new, old)[len(SPECIALS) : new.alphabet.first]
    own = ([old.alphabet.number(character)] for character in new.alphabet.characters)
    return [
        *([number] for number in range(len(SPECIALS))),
        *marks,
        *([n for n in numbers if n != UNK] for numbers in own),
    ]


def _spelled(symbol: Symbol, new: Language, old: Language) -> list[str]:
    """Return the symbols of one language that spell a symbol of another; a mark, or a byte within a character, has
    none.
    """
    piece = new.text.tokenizer.piece(symbol) if isinstance(symbol, str) else REPLACEMENT
    return [] if REPLACEMENT in piece else old.text.tokenizer.segments(old.text.normalize(piece))


def _rows(table: Tensor, origins: Origins, first: int) -> Tensor:
    """Return the means of these rows of a table (V, ...); where there are none, of all from number `first` on."""
    # A new symbol that nothing spells begins where the old ones are, in the middle.
    everything = table[first:].double().mean(0)
    means = [table[numbers].double().mean(0) if numbers else everything for numbers in origins]
    return torch.stack(means).to(table.dtype)


def _differences(new: TrainingDirection, old: Run) -> Iterator[str]:
    """Yield what is not as in the run that a training begins with: options of the model, and symbols."""
    keys = [dotted(("model", *key)) for key in sections.differences(old.config.model, new.config.model)]
    if keys:
        yield f"otherwise than there: {', '.join(keys)}"
    here = _sequences(new.config, (*new.data.sources, new.data.target))
    for own, old_side in zip(here, _sequences(old.config, (*old.sources, old.target)), strict=True):
        if isinstance(own, Language) and isinstance(old_side, Language):
            symbols = own.vocabulary.marked(range(len(SPECIALS), len(own.vocabulary)))
            if fresh := len(old_side.vocabulary.unknown(symbols)):
                yield f"{fresh:,} of {len(own.vocabulary):,} symbols of {own.name} are new"
