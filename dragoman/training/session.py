"""From a configuration to a trained run folder: assemble, resume, train, finish."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import torch

from dragoman import devices
from dragoman.configuration import arguments, components, config_file
from dragoman.configuration.config import Config
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.files.writing import write_atomically
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import allocate_memory, check_weights, read_shapes
from dragoman.run.folder import RunFolder
from dragoman.training import checkpoint, own_pairs, pretrained, run_baselines
from dragoman.training.callbacks import Callback, CallbackGroup, TrainingEnd, read_only
from dragoman.training.checkpoint import Selection
from dragoman.training.checks import complete, problems
from dragoman.training.cuda_graphs import CudaGraphs
from dragoman.training.finishing import describe_finished, finish
from dragoman.training.journal import NullLog, TrainingLog
from dragoman.training.loggers import LoggerGroup
from dragoman.training.moving_average import MovingAverage
from dragoman.training.objectives.consistency import CONSISTENCIES, Consistency
from dragoman.training.objectives.objective import MakePasses, Objective, ObjectiveContext
from dragoman.training.objectives.penalties import PENALTIES
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.optimizer import OPTIMIZERS, SCHEDULES
from dragoman.training.own_pairs import Pairs
from dragoman.training.plan import count_steps, describe_mixture
from dragoman.training.progress import Progress
from dragoman.training.trainer import reached_limits
from dragoman.training.trainer import train as train_to_the_end
from dragoman.training.training import Training, TrainingDirection
from dragoman.training.training_folder import note_plugins, open_run_folder, write_config, write_proof
from dragoman.training.transfer import begin, freeze
from dragoman.training.validation import Validator
from dragoman.training.workers import SignalHandler, Workers


def train(
    config: Config | str | Path,
    *,
    train: Pairs | None = None,
    dev: Pairs | None = None,
    callbacks: Sequence[Callback] = (),
    quiet: bool = False,
) -> RunFolder:
    """Train, or resume, the run that `config` describes to its end; the folder then holds the finished model, and its
    `history` the losses and scores. The path of a configuration is as good; `load_config` reads one with other values.

    `train` and `dev` are pairs of texts in memory, a source and its target each (with several sources, a text for each
    of them first), in place of the files of `data.train` and `data.dev`; they are kept in `RUN-data`.

    The methods of `callbacks` are called after each step and each validation, and at the end.

    Under torchrun every worker calls this. UserError for faults that the user can fix; KeyboardInterrupt after Ctrl-C,
    with everything saved.
    """
    arguments.checked(config, "config", Config, str, Path)
    group = _checked_callbacks(callbacks)
    config = own_pairs.configure(config, {"train": train, "dev": dev})
    config_file.check(config, (problems,))
    # With every default written out: what a later version would choose otherwise is fixed in the run's file.
    config = complete(config)
    LoggerGroup.of(config)  # a library that is missing is reported before anything is read
    folder = RunFolder(Path(config.run))
    with ExitStack() as stack:
        workers = stack.enter_context(Workers())
        if workers.leads:
            stack.enter_context(open_run_folder(folder, config))
        # All workers run the same code; only the leader's log and folder are real.
        journal = TrainingLog(folder, quiet=quiet) if workers.leads else NullLog(folder)
        # Before the file of options is written: a finished run keeps those it was trained with.
        if ended := describe_finished(config, folder):
            journal.say(ended)
            return folder
        if workers.leads:
            write_config(folder, config)
            note_plugins(folder, config)
        run = assemble(config, folder, workers, journal, SignalHandler())
        run.callbacks = group
        _describe(run)
        for direction in run.directions:
            stack.enter_context(direction.journal).open(run.progress, run.schedule.length, direction.config)
        with run.device.training(), run.stop:  # at other times nothing is lost by stopping at once
            train_to_the_end(run)
        if workers.leads:
            finish(run)
        workers.barrier()
    if workers.leads:
        reasons = (*reached_limits(run.progress, config.training), *(["callback"] if group.stopped else []))
        group.on_end(TrainingEnd(folder, run.progress.step, read_only(folder.history.final), reasons))
    return folder


def _describe(run: Training) -> None:
    """Print what is trained and on which data, with warnings; and measure scores without a model."""
    journal = run.journal
    if run.progress.step:
        journal.say(f"{run.folder.path}: resuming from step {run.progress.step:,}")
    before = run.progress.length
    of_schedule = (f"schedule.{warning}" for warning in run.schedule.warnings(before))
    for warning in (*of_schedule, *run.objective.warnings(before)):
        journal.say(f"training.{warning}")
    # Behind the warnings, which compare it with the length that training began with.
    run.progress.length = run.schedule.length
    sizes = [sum(parameter.numel() for parameter in direction.model.parameters()) for direction in run.directions]
    journal.say(f"{run.device}; {' and '.join(map('{:,}'.format, sizes))} parameters; {run.data.report}")
    for line in run.data.left_out:
        journal.say(line)
    for direction in run.directions if run.workers.leads else ():
        if measured := run_baselines.load_or_measure(direction, anew=not run.saved_step):
            journal.say(f"{run.named(direction)}without a model: {measured}")
    run.clock.seconds()  # which is no time of training
    if shares := describe_mixture(run.config.data, run.data):
        journal.say(f"an epoch draws {shares}")


def _checked_callbacks(callbacks: Sequence[Callback]) -> CallbackGroup:
    """TypeError if they are no callbacks."""
    arguments.checked(callbacks, "callbacks", list, tuple)
    return CallbackGroup([arguments.checked(callback, "a callback", Callback) for callback in callbacks])


def assemble(
    config: Config, folder: RunFolder, workers: Workers, journal: TrainingLog, stop: SignalHandler
) -> Training:
    """Return all parts of a run, with the saved state loaded if there is one."""
    device = devices.choose(config.device)
    if config.device.precision == "tf32" and not device.tf32:
        raise UserError("device.precision: tf32 requires a GPU; use auto, float32 or bfloat16")
    if not workers.leads:
        workers.barrier()  # until the leader has prepared the corpus
    data = Dataset.prepare(
        config.data,
        config.text,
        config.seed,
        folder.path,
        keep_tokenizers=folder.last_state.is_file(),
        source_dropout=config.training.source_dropout,
        surfaces=build.unknown_word_needs(config.model),
    )
    if workers.leads:
        workers.barrier()
    # Right before the first random values, whatever has been done until here: a corpus may be prepared or not.
    torch.manual_seed(config.seed)
    model = _model(config, data, folder.last_state).to(device.torch_device)
    device = device.for_model(config.device, sum(parameter.numel() for parameter in model.parameters()))
    steps = count_steps(config, data)
    graphs = CudaGraphs(journal.say) if CudaGraphs.wanted(config, device) else None
    objective = _objective(config, model, data, steps, graphs or Consistency.forward_passes).to(device.torch_device)
    for module in (model, *objective.children()):
        if isinstance(module, Seq2Seq):
            freeze(module, config.training.freeze)
    # Frozen before the optimizer is made, which would otherwise keep moments for them.
    parameters = [
        parameter for part in (model, objective) for parameter in part.parameters() if parameter.requires_grad
    ]
    run = Training(
        config,
        folder,
        data,
        model,
        journal,
        Validator(config, data, device, folder),
        Selection(folder, config.training),
        objective,
        components.build(OPTIMIZERS, config.training.optimizer, parameters),
        components.build(SCHEDULES, config.training.schedule, steps),
        device,
        workers,
        stop,
        Progress(),
        graphs=graphs,
    )
    if objective.both_directions:
        assert isinstance(objective.reverse, Seq2Seq)
        run.reverse = reverse(run, objective.reverse)
    if decay := config.training.moving_average:
        run.average = MovingAverage(run.trained_modules, decay)
    # Everything is built as at a first start, and then filled: there is one way to make a training.
    if folder.last_state.is_file():
        _go_on(run)
    else:
        _begin(run)
    return run


def _go_on(run: Training) -> None:
    """Go on from the saved state."""
    state = run.folder.last_state
    run.progress = checkpoint.load(state, run.trained_modules, run.optimizer, run.average)
    run.saved_step = run.progress.step
    if len(run.progress.parts) not in (0, len(run.objective.parts)):
        raise UserError(f"{state}: not a training state of this objective")


def _begin(run: Training) -> None:
    """Begin with the weights of another run, or with random ones and pretrained vectors."""
    if start := run.config.training.init_from:
        begin(run, start)
    else:
        pretrained.fill(run)
    if run.average:
        run.average.restart()


def _objective(config: Config, model: Seq2Seq, data: Dataset, steps: int, forward_passes: MakePasses) -> Objective:
    training, size = config.training, model.source_encoders[0].encoder.size

    def reversed_model() -> Seq2Seq:
        (source,) = data.sources
        assert isinstance(source, Language)
        return build.build_model(config, (data.target,), source)

    context = ObjectiveContext(
        model,
        reversed_model,
        data.sources,
        data.target,
        {spec.kind: components.build(METRICS, spec) for spec in config.metrics},
        {spec.kind: components.build(PENALTIES, spec, size, steps) for spec in training.penalties},
        components.build(CONSISTENCIES, training.consistency),
        forward_passes,
    )
    return components.build(OBJECTIVES, training.objective, context)


def _model(config: Config, data: Dataset, state: Path) -> Seq2Seq:
    """Build the model, without initial values if a state replaces them. UserError if the state is of another model."""
    if not state.is_file():
        return build.build_model(config, data.sources, data.target)
    prefix = f"{checkpoint.WEIGHTS}model."
    # From the header alone, without the tensors: another model is found before anything is allocated.
    shapes = {name.removeprefix(prefix): shape for name, shape in read_shapes(state).items() if name.startswith(prefix)}
    model = build.build_empty_model(config, data.sources, data.target)
    check_weights(model, shapes, state)
    allocate_memory(model)
    return model


def reversed_config(config: Config) -> Config:
    """Return the same configuration with source and target exchanged, for the run in the first run's folder
    `reverse`.
    """
    names, text = config.data, config.text
    (source,) = names.source
    # Links have a direction, and no penalty reads them here.
    data = names.model_copy(update={"source": (names.target,), "target": source, "alignments": False})
    text = text.model_copy(update={"source": text.target, "target": text.source})
    run = str(RunFolder(Path(config.run)).reverse.path)
    return config.model_copy(update={"run": run, "data": data, "text": text})


def reverse(run: Training, model: Seq2Seq) -> TrainingDirection:
    """Return the other direction of a run, with its folder begun."""
    config, folder, data = reversed_config(run.config), run.folder.reverse, run.data.reversed()
    if run.workers.leads:
        if not folder.mark.is_file():
            write_proof(folder)
        note_plugins(folder, config)
        (source,) = data.sources
        assert isinstance(source, Language)
        source.save(folder.path, "source")
        data.target.save(folder.path, "target")
        with write_atomically(folder.config) as file:
            file.write(config_file.dump(config))
    journal = TrainingLog(folder, quiet=True) if run.workers.leads else NullLog(folder)
    validator = Validator(config, data, run.device, folder)
    return TrainingDirection(config, folder, data, model, journal, validator, Selection(folder, config.training))
