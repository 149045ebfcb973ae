"""Load translators from run folders."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from torch import nn

from dragoman import devices
from dragoman.configuration import arguments, components, plugins
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus import dictionary as dictionary_files
from dragoman.corpus.dictionary import Dictionary
from dragoman.data.language import Language, Source
from dragoman.data.lexicon import Lexicon
from dragoman.data.marks import find_foreign_symbols, target_marks
from dragoman.data.recall import FuzzyMatcher, load_matcher
from dragoman.data.surfaces import UnknownWordNeeds
from dragoman.deployment import ctranslate
from dragoman.deployment import engine as onnx
from dragoman.devices import Device
from dragoman.errors import UserError
from dragoman.files.reading import compute_sha256
from dragoman.model import build
from dragoman.model.attention.normalizers import weights_compete
from dragoman.model.int8 import Int8
from dragoman.run.run import Run
from dragoman.search import shortlist as shortlists
from dragoman.search.ensemble import Ensemble
from dragoman.search.shortlist import Shortlist
from dragoman.search.table import SEARCHES
from dragoman.text.protection import Protection
from dragoman.text.tokenizer import MARKS
from dragoman.translation.attribution.nearest_pairs import similar
from dragoman.translation.calibration import Calibration
from dragoman.translation.combined_inputs import CombinedInputs
from dragoman.translation.processor import Processor
from dragoman.translation.sentence import TextTransform
from dragoman.translation.source_inputs import ModelInputs
from dragoman.translation.transforms.casing import Casing
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.transforms.placeholders import Placeholders
from dragoman.translation.transforms.transform_order import TRANSFORMS
from dragoman.translation.transforms.unknown_words import ProtectedSpellings, UnknownWords
from dragoman.translation.translator import Translator

Engine = Literal["torch", "int8", "onnx", "ctranslate2"]
EXPORTS: dict[Engine, Callable[[Run], Any]] = {"onnx": onnx.read_note, "ctranslate2": ctranslate.read_note}
SEARCHING: tuple[Engine, ...] = ("ctranslate2",)  # engines with searches of their own


def load(
    folder: str | Path | Sequence[str | Path],
    *,
    weights: str | None = None,
    device: str | DeviceConfig | None = None,
    engine: Engine = "torch",
    shortlist: tuple[int, int] | None = None,
    translation_memory: str | Path | None = None,
    dictionary: str | Path | Sequence[str | Path] = (),
    replace_unk: bool | None = None,
    code: str | Path | Sequence[str | Path] = (),
) -> Translator:
    """Load a translator from a run folder; nothing else is needed. `weights`: model, model-best or model-last.

    `device` takes the place of the run's key: a DeviceConfig, or a name alone, which is auto, cpu or cuda.
    `engine="int8"` translates with 8-bit integer matrices, `engine="onnx"` with the graphs of `dragoman export --onnx`,
    `engine="ctranslate2"` with the model of `dragoman export --ctranslate2` and that library's greedy and beam search,
    all on the CPU; given pairs are always scored with torch.
    `shortlist=(300, 20)` restricts translations to the 300 most frequent symbols and the 20 most probable translations
    of each source symbol, which is faster; run `dragoman shortlist` first.
    `translation_memory` is a corpus, as `data.train` names one, that takes the place of the training pairs as
    translation memory of a run with `data.translation_memory`.
    `replace_unk`, if given, takes the place of the run's key: whether source words stand for `<unk>`, translated if a
    `dictionary` has them: that in the run's folder, then these, of which later ones override earlier ones. With several
    sources, "NAME=FILE" is for one of them, unless there is a file of that whole name; without a name, it is for the
    first that is not of the target language.
    Several folders form an ensemble, which translates with the mean of its models' predictions. Each model reads the
    sources it knows, and all must share their target symbols. The search, `constraints`, `transforms` and `replace_unk`
    are those of the first run, the candidates are those of all.
    `code` are Python files with parts that the run uses and dragoman lacks. They are executed; a copy that came with
    the run is not, unless it is named here.
    A single run that `dragoman calibrate` has calibrated with these weights gives the confidence of its translations.
    UserError names what is missing or damaged.
    """
    folders = _folders(folder)
    if engine not in get_args(Engine):
        raise ValueError(f"engine '{engine}': expected one of {', '.join(get_args(Engine))}")
    arguments.checked(weights, "weights", str, type(None))
    arguments.checked(translation_memory, "translation_memory", str, Path, type(None))
    arguments.checked(replace_unk, "replace_unk", bool, type(None))
    files, counts = _files(dictionary), _counts(shortlist)
    plugins.load_code([code] if isinstance(code, str | Path) else code)
    runs = [Run.load(path) for path in folders]
    own = runs[0].config.device
    wanted = own if device is None else devices.choose_config(device, own)
    chosen = devices.choose(wanted if engine == "torch" else wanted.model_copy(update={"name": "cpu"}))
    devices.keep_freed_memory()
    if translation_memory is not None and not any(run.config.data.recalled for run in runs):
        raise UserError(
            f"{', '.join(map(str, folders))}: has no translation memory to replace (data.translation_memory)"
        )
    if engine in SEARCHING and (len(runs) > 1 or counts):
        raise UserError(f"engine {engine} does not support {'ensembles' if len(runs) > 1 else 'shortlists'}")
    members = [_of_run(run, weights, engine, chosen, translation_memory, wanted) for run in runs]
    translator = members[0] if len(members) == 1 else _together(folders, members)
    translator.generator.constraints = runs[0].config.constraints
    translator.similar = similar(runs[0])
    replaces = runs[0].config.replace_unk if replace_unk is None else replace_unk
    if files and not replaces:
        raise UserError(f"{files[0]}: a dictionary requires replace_unk: true")
    own_files = [run.folder.dictionary for run in reversed(runs) if run.folder.dictionary.is_file()] if replaces else []
    own_transforms = [components.build(TRANSFORMS, spec) for spec in runs[0].config.transforms]
    translator.processor.transforms = (
        *own_transforms,
        *text_transforms(
            translator.processor,
            dictionaries=dictionaries(translator, [*own_files, *files]) if replaces else None,
            temperature=_temperature(runs[0], weights, engine) if len(runs) == 1 and engine not in SEARCHING else None,
        ),
    )
    if engine == "int8":
        translator.generator.backend = Int8(nn.ModuleList(member.model for member in members))
    if counts:
        translator.generator.shortlist = Shortlist(list(map(_lexicon, runs)), *counts, chosen.torch_device)
    return translator


def _files(dictionary: str | Path | Sequence[str | Path]) -> list[str | Path]:
    arguments.checked(dictionary, "dictionary", str, Path, Iterable)
    files = [dictionary] if isinstance(dictionary, str | Path) else list(dictionary)
    return [arguments.checked(path, "dictionary", str, Path) for path in files]


def _counts(shortlist: tuple[int, int] | None) -> tuple[int, int] | None:
    if shortlist is None:
        return None
    if not isinstance(shortlist, tuple | list) or len(shortlist) != 2:
        raise arguments.unexpected(shortlist, "shortlist", "two numbers, as in shortlist=(300, 20)")
    frequent, translations = (arguments.whole(count, "shortlist") for count in shortlist)
    return frequent, translations


def dictionaries(translator: Translator, files: Sequence[str | Path]) -> dict[str, Dictionary]:
    """Return the dictionary of each source that these files, or "NAME=FILE", are for; later ones override earlier ones.
    UserError if a file is no dictionary, or the model attends to no text.
    """
    texts = [source.name for source in translator.user_sources if isinstance(source, Language)]
    if files and not (texts and translator.processor.attends):
        lacking = "has no attention (model.attention.score: none)" if texts else "reads no text"
        raise UserError(f"{files[0]}: a dictionary requires attention to words, but this run {lacking}")
    own = (translator.edits, *translator.targets)
    by_source: dict[str, Dictionary] = {}
    for file in files:
        name, equals, path = str(file).partition("=")
        if not equals or name not in texts or Path(file).exists():
            name, path = next((text for text in texts if text not in own), texts[0]), str(file)
        by_source[name] = by_source.get(name, Dictionary()).overridden(dictionary_files.read(path))
    return by_source


def _folders(folder: str | Path | Sequence[str | Path]) -> list[str | Path]:
    if isinstance(folder, str | Path):
        return [folder]
    folders = list(folder) if isinstance(folder, Iterable) else [folder]
    for path in folders:
        if not isinstance(path, str | Path):
            raise TypeError(f"load expects a run folder, or a list of several, found {type(path).__name__}")
    if not folders:
        raise ValueError("load expects a run folder, or a list of several, found none")
    return folders


def _of_run(
    run: Run, weights: str | None, engine: Engine, device: Device, memory: str | Path | None, wanted: DeviceConfig
) -> Translator:
    """Return the translator of one run."""
    data, folder = run.config.data, run.folder.path
    for problem in components.find_problems(SEARCHES, run.config.search, ("search",)):
        raise UserError(f"{run.folder.config}: {problem}")
    translation_memory = load_matcher(data, run.sources, folder, memory) if data.recalled else None
    rest = processor_of(run.config, run.sources, run.target, folder, translation_memory), run.config.search, device
    if engine == "onnx":
        translator = Translator(lambda: run.model(predictor.weights), *rest)
        predictor = onnx.read(run, weights, device.threads, lambda: translator.model.output)
        translator.generator.predictor = predictor
        return translator
    if engine == "ctranslate2":
        if run.config.text.protect:
            raise UserError(f"{folder}: engine ctranslate2 does not support protected spans (text.protect)")
        searching = ctranslate.read(run, weights, device.threads)
        translator = Translator(lambda: run.model(searching.weights), *rest)
        translator.generator.engine = searching
        return translator
    model = run.model(weights).to(device.torch_device)
    if engine == "int8" and not model.output.portable:
        raise UserError(f"{run.folder.path}: engine int8 does not support the output '{run.config.model.output.kind}'")
    if device.torch_device.type == "cuda" and wanted.cuda_graphs:
        model.replay_steps()
    return Translator(model, *rest)


def digest_of(run: Run, weights: str | None = None, engine: Engine = "torch") -> str:
    """Return the digest of the weights that an engine translates with; of an export, of those that it was made from."""
    if engine in EXPORTS:
        return str(EXPORTS[engine](run).weights_digest)
    return compute_sha256(run.weights(weights))


def _temperature(run: Run, weights: str | None, engine: Engine) -> float | None:
    """Return the temperature at which these weights are calibrated; None if they are not."""
    path = run.folder.calibration
    calibration = Calibration.read(path) if path.is_file() else None
    return calibration.temperature if calibration and calibration.sha256 == digest_of(run, weights, engine) else None


def _lexicon(run: Run) -> Lexicon:
    """Return the lexicon of a run: translations of its source symbols."""
    if not run.config.data.plain:
        raise UserError(f"{run.folder.path}: shortlists require a run with a single text source")
    return shortlists.read(run.folder.path / shortlists.FILE, (len(run.source.vocabulary), len(run.target.vocabulary)))


def _check_symbols(folders: Sequence[str | Path], members: Sequence[Translator]) -> None:
    """Raise UserError unless all runs have the same target symbols and split the same source text into the same
    words.
    """
    first, texts = members[0], dict[str, tuple[Any, Any]]()
    for folder, member in zip(folders, members, strict=True):
        same = (member.target, first.target)
        if len({language.vocabulary for language in same}) > 1 or same[0].text.spec != same[1].text.spec:
            raise UserError(
                f"{folder}: has a different target vocabulary than {folders[0]}; an ensemble requires equal ones "
                "(same target texts, and text.shared_vocabulary: false where the sources differ)"
            )
        if member.processor.surfaces.target:
            raise UserError(f"{folder}: cannot be part of an ensemble (model.output: hybrid)")
        if member.marks != first.marks or member.edits != first.edits:
            raise UserError(f"{folder}: differs from {folders[0]} in data.pairs or data.edits")
        if member.processor.model_inputs.protection != first.processor.model_inputs.protection:
            raise UserError(f"{folder}: protects other spans than {folders[0]} (text.protect)")
        for source in member.sources:
            spec = source.text.spec if isinstance(source, Language) else {}
            way = spec.get("lowercase"), spec.get("pretokenizer")
            if texts.setdefault(source.name, way) != way:
                raise UserError(f"{folder}: tokenizes '{source.name}' differently (lowercase, pretokenizer)")


def _together(folders: Sequence[str | Path], members: Sequence[Translator]) -> Translator:
    """Return the translator of several runs as an ensemble. UserError if they do not fit together."""
    _check_symbols(folders, members)
    first = members[0]
    combined_inputs = CombinedInputs(tuple(cast(ModelInputs, member.processor.model_inputs) for member in members))
    foreign_ids = {
        mark: sorted(set.intersection(*(set(member.processor.foreign[mark]) for member in members)))
        for mark in first.processor.foreign
    }
    surfaces = UnknownWordNeeds(*map(any, zip(*(member.processor.surfaces for member in members), strict=True)))
    attends = any(member.processor.attends for member in members)
    processor = Processor(combined_inputs, first.target, first.edited, first.marks, foreign_ids, surfaces, attends)

    def scorer() -> Ensemble:
        return Ensemble([member.model for member in members], combined_inputs.counts)

    try:
        predictors = [member.generator.predictor for member in members if member.generator.predictor]
        predictor = Ensemble(predictors, combined_inputs.counts) if predictors else None
        translator = Translator(scorer if predictor else scorer(), processor, first.search, first.device)
    except ValueError as error:
        raise UserError(f"{', '.join(map(str, folders))}: {error}") from error
    translator.generator.predictor = predictor
    return translator


def processor_of(
    config: Config, sources: tuple[Source, ...], target: Language, folder: Path, memory: FuzzyMatcher | None = None
) -> Processor:
    """Return the processor of a model trained with this configuration in this run folder, without text transforms."""
    taught_end = any(spec.options.get("unlinked") == "end" for spec in config.training.penalties)
    surfaces = build.unknown_word_needs(config.model)
    protection = Protection.of(config.text.protect)
    foreign_symbols = find_foreign_symbols(config.data, folder)
    if protection:  # which marks a translation has is decided by its sources
        marks = set(target.vocabulary.ids(MARKS))
        foreign_symbols = {mark: [id_ for id_ in ids if id_ not in marks] for mark, ids in foreign_symbols.items()}
    return Processor(
        ModelInputs(
            sources,
            config.data.concatenate_sources,
            taught_end,
            memory,
            spells=surfaces.sources,
            protection=protection,
            competing=weights_compete(config.model.attention.normalizer),
        ),
        target,
        config.data.edited,
        target_marks(config.data),
        foreign_symbols,
        surfaces,
        attends=config.model.attention.attends,
    )


def text_transforms(
    processor: Processor, *, dictionaries: Mapping[str, Dictionary] | None, temperature: float | None = None
) -> tuple[TextTransform, ...]:
    """Return the text transforms of a run. `dictionaries`: those of words in the place of `<unk>`; None: it stays."""
    model_inputs, spells = processor.model_inputs, processor.surfaces.target
    transforms: list[TextTransform] = []
    source = model_inputs.sources[0]
    if len(model_inputs.sources) == 1 and isinstance(source, Language) and processor.edited is None:
        transforms.append(Casing(source))
    if model_inputs.protection:
        transforms.append(Placeholders(model_inputs.protection, processor.target))
    unknown_words = None
    if dictionaries is not None:
        unknown_words = UnknownWords(processor.target, dictionaries, spells=spells)
        transforms.append(unknown_words)
    if temperature is not None:
        transforms.append(ConfidenceCalibration(temperature))
    if spells:
        transforms.append(ProtectedSpellings(unknown_words))
    return tuple(transforms)
