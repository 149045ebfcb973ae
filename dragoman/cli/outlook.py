"""What is known of a training before it: how long it will take here, and which scores need no model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.configuration.config import Config


def outlook(config: "Config") -> Iterator[str]:
    """Yield a line about each. Where training would fail for a fault that the user can fix, a line tells it."""
    from dragoman.corpus.examples import read_development
    from dragoman.evaluation import baselines
    from dragoman.training import duration

    data = config.data
    try:
        if not data.pairs:
            dev, judged = read_development(data.dev, data.source, data.target, data.features)
            if judged.empty:
                yield f"data.dev: {data.dev}: {judged}"
            if found := baselines.measure(data, config.text, config.metrics, dev):
                yield f"without a model: {found} (data.dev: {data.dev})"
        yield f"training: {duration.measure(config)}"
    except UserError as error:
        yield f"training: would end with an error: {error}"
