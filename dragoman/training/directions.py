"""The second run of a training in both directions, which makes two models."""

from pathlib import Path

from dragoman.configuration import document
from dragoman.configuration.config import Config
from dragoman.data.language import Language
from dragoman.files.writing import write_atomically
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.training.folder import prove
from dragoman.training.journal import NullLog, TrainingLog
from dragoman.training.selection import Selection
from dragoman.training.training import Direction, Training
from dragoman.training.validation import Validator


def reversed_config(config: Config) -> Config:
    """The same configuration with source and target exchanged, for the run in the first run's folder `reverse`."""
    names, text = config.data, config.text
    (source,) = names.source
    # Links have a direction, and no penalty reads them here.
    data = names.model_copy(update={"source": (names.target,), "target": source, "alignments": False})
    text = text.model_copy(update={"source": text.target, "target": text.source})
    run = str(RunFolder(Path(config.run)).reverse.path)
    return config.model_copy(update={"run": run, "data": data, "text": text})


def reverse(run: Training, model: Seq2Seq) -> Direction:
    """The other direction of a run, with its folder begun."""
    config, folder, data = reversed_config(run.config), run.folder.reverse, run.data.reversed()
    if run.workers.leads:
        if not folder.mark.is_file():
            prove(folder)
        (source,) = data.sources
        assert isinstance(source, Language)
        source.save(folder.path, "source")
        data.target.save(folder.path, "target")
        with write_atomically(folder.config) as file:
            file.write(document.dump(config))
    journal = TrainingLog(folder, quiet=True) if run.workers.leads else NullLog(folder)
    validator = Validator(config, data, run.device, folder)
    return Direction(config, folder, data, model, journal, validator, Selection(folder, config.training))
