"""A run folder during training: only files that training made are ever replaced or removed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dragoman.configuration import config_file, plugins, sections
from dragoman.configuration.config import Config
from dragoman.data.preparation import STORE
from dragoman.data.store import PART, discard_store, sweep_stores
from dragoman.errors import UserError
from dragoman.files.writing import alone, write_atomically
from dragoman.run.folder import BEGUN, FORM, KEPT, MADE, PROGRAM, RunFolder
from dragoman.training.checks import complete, load_config
from dragoman.version import __version__

# Options that may change when a run is resumed; any other change makes it a different run.
FREE = {
    ("run",),
    ("code",),
    ("device",),
    ("search",),
    ("constraints",),
    ("transforms",),
    ("training", "average_checkpoints"),
} | {("training", name) for name in ("epochs", "steps", "save_every", "patience", "max_nonfinite_steps", "loggers")}


@contextmanager
def open_run_folder(folder: RunFolder, config: Config) -> Iterator[None]:
    """Open and lock the run folder, which is empty or was begun by training with the same options.

    After a failure, a run in which nothing was saved is removed. UserError if the folder is not a run folder, belongs
    to another run, or is in use.
    """
    there = _exists(folder)
    with _lock(folder):
        begun = _is_begun(folder, config)
        _sweep(folder)
        if not begun:
            write_proof(folder)
        try:
            yield
        except BaseException:
            # A run that fails before its first state leaves nothing: another attempt with other options may follow.
            if not begun and not folder.last_state.is_file():
                _discard(folder, whole=not there)
            raise


def check(folder: RunFolder, config: Config) -> None:
    """Raise the UserErrors of `open_run_folder` and change nothing, for a command that has something else to write
    before.
    """
    if _exists(folder):
        with _lock(folder):
            _is_begun(folder, complete(config))


def write_proof(folder: RunFolder) -> None:
    """Write the proof that training made the folder."""
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    proof = {"program": PROGRAM, "version": __version__, "form": FORM, "begun": begun}
    _write(folder.mark, json.dumps(proof) + "\n")


def note_start(folder: RunFolder, start: Mapping[str, str]) -> None:
    """Write into that proof which run's weights training begins with."""
    _write(folder.mark, json.dumps({**folder.proof, "start": dict(start)}) + "\n")


def note_plugins(folder: RunFolder, config: Config) -> None:
    """Write into that proof which plug-ins have parts of this configuration, and copy the code that is no package.
    UserError if the code differs from that of a training to resume, or was not executed.
    """
    if missing := next((file for file in config.code if not plugins.is_loaded(file)), None):
        raise UserError(f"code: {missing} was not executed, since it came with a run; add --code {missing}")
    used = list(plugins.used(sections.texts(config)))
    before = {record.get("file"): record.get("sha256") for record in folder.proof.get("plugins", ())}
    files = [plugin for plugin in used if plugin.path]
    for number, plugin in enumerate(files):
        if plugin.file in [other.file for other in files[:number]]:
            raise UserError(f"{plugin.path}: another file of code has this name; rename one")
        if folder.last_state.is_file() and before.get(plugin.file, plugin.sha256) != plugin.sha256:
            raise UserError(
                f"{folder.path}: was started with another {plugin.name}, see {folder.path / plugin.file}; "
                "choose another folder with --run"
            )
        with write_atomically(folder.path / plugin.file, "wb") as file:
            file.write(plugin.text)
    if used or before:
        _write(folder.mark, json.dumps({**folder.proof, "plugins": [plugin.record for plugin in used]}) + "\n")


def note_baselines(folder: RunFolder, baselines: Any, data: Mapping[str, str | None]) -> None:
    """Write into that proof what scores have without a model, as JSON, and the digests of the data by their names."""
    _write(folder.mark, json.dumps({**folder.proof, "baselines": baselines, **data}) + "\n")


def write_config(folder: RunFolder, config: Config) -> None:
    """Write the run's options. A file with the same meaning is kept as it is, with a user's comments."""
    with suppress(UserError):
        if folder.config.is_file() and not any(sections.differences(complete(load_config(folder.config)), config)):
            return
    _write(folder.config, config_file.dump(config))


def _exists(folder: RunFolder) -> bool:
    """Raise UserError if the path is no place for a run."""
    if folder.main != folder:
        raise UserError(f"{folder.path}: is trained together with {folder.main.path}; train that run")
    if folder.path.exists() and not folder.path.is_dir():
        raise UserError(f"{folder.path}: is a file; choose another folder with --run")
    return folder.path.exists()


def _lock(folder: RunFolder) -> AbstractContextManager[None]:
    return alone(folder.path, f"{folder.path}: another process is training this run")


def _is_begun(folder: RunFolder, config: Config) -> bool:
    """Return whether training made the folder; False if it is empty. UserError if something else or another version
    did, or the run was begun with other options.
    """
    folder.check_form()
    if folder.last_state.is_file():
        _check_same(folder, config)
    if folder.mark.is_file():
        if not folder.proof:
            raise UserError(f"{folder.mark}: was not written by {PROGRAM}; choose another folder with --run")
        if folder.weights().is_file() and not folder.last_state.is_file():
            state = folder.last_state.relative_to(folder.path)
            raise UserError(
                f"{folder.path}: contains a trained model, but no {state}; choose another folder with --run"
            )
        return True
    # The proof itself may have been half-written when its process was killed.
    own = re.compile(re.escape(f".{folder.mark.name}") + PART)
    strange = sorted(path.name for path in folder.path.iterdir() if not own.fullmatch(path.name))
    if strange:
        raise UserError(
            f"{folder.path}: exists and is not a run folder (it has {strange[0]}, but no {folder.mark.name}); "
            "choose another with --run"
        )
    return False


def _check_same(folder: RunFolder, config: Config) -> None:
    """Raise UserError unless the folder's training was begun with these options, apart from those that may change."""
    old = complete(load_config(folder.config))
    changed = [key for key in sections.differences(old, config) if not {key, key[:1], key[:2]} & FREE]
    if changed:
        more_changed = len(changed) - 1
        more = f" and {more_changed} other option{'s' * (more_changed > 1)}" if more_changed else ""
        raise UserError(
            f"{folder.path}: was started with another {'.'.join(map(str, changed[0]))}{more}; choose another folder "
            f"with --run, or remove this one{_advise_start(folder, changed)}"
        )


def _advise_start(folder: RunFolder, changed: Sequence[tuple[str | int, ...]]) -> str:
    """Return how to train on from the weights of a run with other options, where its model stays as it is."""
    if not folder.weights().is_file() or any(key[0] in ("text", "model") for key in changed):
        return ""
    return f"; a new run can be initialized from its weights (--training.init_from {folder.path} --run NEW)"


def _write(path: Path, text: str) -> None:
    with write_atomically(path) as file:
        file.write(text)


def _places(folder: RunFolder) -> Iterator[tuple[Path, re.Pattern[str]]]:
    """Yield the folders that training writes to, with the names of its files there; inner folders first."""
    # Inner folders first, so that they are empty when the outer one is removed.
    for run_folder in (folder.reverse, folder):
        yield run_folder.last_state.parent, KEPT
        yield run_folder.path, MADE


def _sweep(folder: RunFolder) -> None:
    """Remove half-written files of killed processes. Only the holder of the folder's lock writes such files."""
    for place, names in _places(folder):
        part = re.compile(rf"\.({names.pattern}){PART}")
        for path in place.iterdir() if place.is_dir() else ():
            if part.fullmatch(path.name):
                path.unlink()
    sweep_stores(folder.path / STORE)


def _discard(folder: RunFolder, *, whole: bool) -> None:
    """Remove a run that was only begun: files that training made, then empty folders, its own only if `whole`.

    The proof (`run.json`) is removed last, so that after a kill the folder is still recognized as a run.
    """
    with suppress(OSError, UserError):
        _sweep(folder)
        discard_store(folder.path / STORE)
        for place, _ in _places(folder):
            for path in place.iterdir() if place.is_dir() else ():
                if BEGUN.fullmatch(path.name) and path != folder.mark:
                    path.unlink()
            if place.is_dir() and place != folder.path and not any(place.iterdir()):
                place.rmdir()
        if {path.name for path in folder.path.iterdir()} <= {folder.mark.name}:
            folder.mark.unlink()
            if whole:
                folder.path.rmdir()
