"""Messages about a run that was trained."""

from typing import Any

import pytest

from dragoman.cli import train
from dragoman.configuration.data import DataConfig

PAIR = {"source": "en", "target": "de", "train": "a", "dev": "b"}


@pytest.mark.parametrize(
    ("data", "command"),
    [
        ({}, "translate RUN FILE"),
        ({"source": ["en", "fr"]}, "translate RUN --source en=FILE --source fr=FILE"),
        ({"source": ["en", "image"], "features": "image"}, "translate RUN --source en=FILE --source image=FILE"),
        ({"source": "image", "features": "image"}, "translate RUN --source image=FILE"),
        ({"pairs": [PAIR]}, "translate RUN FILE --to LANGUAGE"),
        ({"source": "mt", "edits": "mt"}, "postedit RUN --translation FILE"),
        ({"source": ["src", "mt"], "edits": "mt"}, "postedit RUN --source FILE --translation FILE"),
        (
            {"source": ["src", "mt", "tm"], "edits": "mt"},
            "translate RUN --source src=FILE --source mt=FILE --source tm=FILE",
        ),
    ],
)
def test_the_command_that_a_run_is_for_is_told(data: dict[str, Any], command: str) -> None:
    config = DataConfig.model_validate(data if "pairs" in data else {**PAIR, **data})
    assert train._use(config, "RUN").startswith(f"dragoman {command}     ")
