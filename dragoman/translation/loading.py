"""Run folders to translators."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from dragoman import devices
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.data.language import Language
from dragoman.data.marks import foreign, target_marks
from dragoman.data.source import Source
from dragoman.deployment import engine as onnx
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.int8 import Int8
from dragoman.run import Run
from dragoman.search import candidates as lists
from dragoman.search.candidates import CandidateList
from dragoman.search.ensemble import Ensemble
from dragoman.translation.inputs import CombinedInputs, ModelInputs
from dragoman.translation.translator import ModelConventions, Translator

Engine = Literal["torch", "int8", "onnx"]


def load(
    folder: str | Path | Sequence[str | Path],
    *,
    weights: str | None = None,
    device: DeviceConfig | None = None,
    engine: Engine = "torch",
    candidates: tuple[int, int] | None = None,
) -> Translator:
    """The translator in a run folder; nothing else is needed. `weights`: model, model-best or model-last.

    `engine="int8"` translates with matrices of 8-bit integers, `engine="onnx"` with the graphs of `dragoman export
    --onnx`, both on the processor; scores of given pairs are torch's in any case.
    `candidates=(300, 20)`: translations are made of the 300 most frequent symbols and of the 20 most probable
    translations of each source symbol, which is faster; `dragoman lexicon` must have found these.
    Several folders are an ensemble, which translates by the mean of what its models predict; each reads the sources it
    knows, and all must write the same symbols.
    UserError names what is missing or damaged.
    """
    if not isinstance(folder, str | Path):
        folders = list(folder) if isinstance(folder, Iterable) else [folder]
        for each in folders:
            if not isinstance(each, str | Path):
                raise TypeError(f"load takes the folder of a run, or several in a list, found {type(each).__name__}")
        if not folders:
            raise ValueError("load takes the folder of a run, or several in a list, found none")
        if len(folders) > 1 and (engine != "torch" or candidates):
            raise UserError("several runs translate together by engine torch, without candidates")
        if len(folders) > 1:
            return _together(folders, weights, device)
        (folder,) = folders
    if engine not in get_args(Engine):
        raise ValueError(f"engine '{engine}': expected one of {', '.join(get_args(Engine))}")
    run = Run.load(folder)
    known = model_conventions(run.config, run.sources, run.folder.path)
    wanted = device or run.config.device
    chosen = devices.choose(wanted if engine == "torch" else wanted.model_copy(update={"name": "cpu"}))
    if engine == "onnx":
        translator = Translator(lambda: run.model(predictor.weights), known, run.target, run.config.search, chosen)
        predictor = onnx.read(run, weights, chosen.threads, lambda: translator.model.output)
        translator.predictor = predictor
    else:
        model = run.model(weights).to(chosen.torch_device)
        translator = Translator(model, known, run.target, run.config.search, chosen)
        if engine == "int8" and not model.output.portable:
            raise UserError(f"{folder}: engine int8 does not know the output '{run.config.model.output.kind}'")
        translator.way = Int8(model) if engine == "int8" else None
    if candidates:
        if not run.config.data.plain:
            raise UserError(f"{folder}: candidates are translations of one source's symbols, not for this run")
        lexicon = lists.read(run.folder.path / lists.FILE, (len(run.source.vocabulary), len(run.target.vocabulary)))
        translator.candidates = CandidateList(lexicon, *candidates, chosen.torch_device)
    return translator


def _together(folders: Sequence[str | Path], weights: str | None, device: DeviceConfig | None) -> Translator:
    """Several runs as one translator. UserError where they do not write the same symbols of the same text."""
    members = [load(folder, weights=weights, device=device) for folder in folders]
    first, texts = members[0], dict[str, tuple[Any, Any]]()
    for folder, member in zip(folders, members, strict=True):
        same = (member.target, first.target)
        if len({each.vocabulary for each in same}) > 1 or same[0].text.spec != same[1].text.spec:
            raise UserError(
                f"{folder}: writes other symbols than {folders[0]}; runs that translate together have learnt the same "
                "(from the same target texts, with text.joint: false where their sources differ)"
            )
        if member.marks != first.marks or member.edits != first.edits:
            raise UserError(f"{folder}: means something else by its symbols than {folders[0]} (data.pairs, data.edits)")
        for source in member.sources:
            spec = source.text.spec if isinstance(source, Language) else {}
            way = spec.get("lowercase"), spec.get("tokeniser")
            if texts.setdefault(source.name, way) != way:
                raise UserError(f"{folder}: cuts '{source.name}' into other words than the rest (lowercase, tokeniser)")
    readings = CombinedInputs(tuple(cast(ModelInputs, member.reading) for member in members))
    try:
        model = Ensemble([member.model for member in members], readings.counts)
    except ValueError as error:
        raise UserError(f"{', '.join(map(str, folders))}: {error}") from error
    unsaid = {mark: sorted(set.intersection(*(set(each.foreign[mark]) for each in members))) for mark in first.foreign}
    known = ModelConventions(readings, first.edited, first.marks, unsaid, any(member.extends for member in members))
    return Translator(model, known, first.target, first.search, first.device)


def model_conventions(config: Config, sources: tuple[Source, ...], folder: Path) -> ModelConventions:
    """What a model was taught by this configuration in this run folder."""
    taught_end = any(spec.options.get("unlinked") == "end" for spec in config.training.penalties)
    reading = ModelInputs(sources, config.data.join, taught_end)
    unsaid, extends = foreign(config.data, folder), build.extends(config.model)
    return ModelConventions(reading, config.data.edited, target_marks(config.data), unsaid, extends)
