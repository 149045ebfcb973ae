"""Attentional sequence-to-sequence learning: train, use, inspect and serve small translators.

    import dragoman

    translator = dragoman.load("runs/demo/run")
    print(translator.translate(["turn on the light"], beam_size=5)[0].text)

The names here are the Python interface; `dragoman.nn` has the parts of models for code of your own. They are imported
when first used, since importing torch takes a while.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman import threads
from dragoman.version import __version__ as __version__

if TYPE_CHECKING:
    from dragoman import nn as nn
    from dragoman.configuration.config import Config
    from dragoman.configuration.config_file import ConfigError
    from dragoman.errors import UserError
    from dragoman.run.folder import RunFolder
    from dragoman.training.callbacks import Callback, TrainingEnd, TrainingStep, ValidationScores
    from dragoman.training.checks import load_config, schema
    from dragoman.training.session import train
    from dragoman.translation.explanation.explanation import Explanation
    from dragoman.translation.loading import load
    from dragoman.translation.result import Result
    from dragoman.translation.translation import Scored, Translation
    from dragoman.translation.translator import Translator

threads.wait_briefly()  # before torch is imported


__all__ = [
    "Callback",
    "Config",
    "ConfigError",
    "Explanation",
    "Result",
    "RunFolder",
    "Scored",
    "TrainingEnd",
    "TrainingStep",
    "Translation",
    "Translator",
    "UserError",
    "ValidationScores",
    "load",
    "load_config",
    "schema",
    "train",
]

_HOMES = {
    "Callback": "dragoman.training.callbacks",
    "Config": "dragoman.configuration.config",
    "ConfigError": "dragoman.configuration.config_file",
    "Explanation": "dragoman.translation.explanation.explanation",
    "Result": "dragoman.translation.result",
    "RunFolder": "dragoman.run.folder",
    "Scored": "dragoman.translation.translation",
    "TrainingEnd": "dragoman.training.callbacks",
    "TrainingStep": "dragoman.training.callbacks",
    "Translation": "dragoman.translation.translation",
    "Translator": "dragoman.translation.translator",
    "UserError": "dragoman.errors",
    "ValidationScores": "dragoman.training.callbacks",
    "load": "dragoman.translation.loading",
    "load_config": "dragoman.training.checks",
    "schema": "dragoman.training.checks",
    "train": "dragoman.training.session",
}


def __getattr__(name: str) -> Any:
    if name == "nn":
        return import_module("dragoman.nn")
    if name not in _HOMES:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
