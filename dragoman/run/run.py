"""A run: what a command reads from a run folder."""

from dataclasses import dataclass
from pathlib import Path

from dragoman.configuration import document
from dragoman.configuration.config import Config
from dragoman.data.language import Language, Source, the_text
from dragoman.data.preparation import load as load_sources
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import fill, read_tensors
from dragoman.run.folder import RunFolder

WEIGHTS = ("model", "model-best", "model-last")  # in the order of preference


@dataclass(frozen=True)
class Run:
    """A run that was read from its folder."""

    folder: RunFolder
    config: Config
    sources: tuple[Source, ...]
    target: Language

    def __repr__(self) -> str:
        return f"Run({str(self.folder.path)[-100:]!r}, {self.config.data.languages[:60]})"

    @property
    def source(self) -> Language:
        """The only source. Raises UserError if there are several, or if it is numeric."""
        return the_text(self.sources)

    @classmethod
    def load(cls, path: str | Path) -> "Run":
        """Load a run from its folder. Raises UserError that names what is missing, truncated or not part of a run."""
        folder = RunFolder(Path(path))
        if not folder.path.is_dir():
            raise UserError(f"{path}: no such run folder")
        folder.check_form()
        if not folder.config.is_file():
            raise UserError(f"{path}: not a run folder (it has no config.yaml)")
        for part, there in ((folder.target, folder.target.is_file()), (folder.mark, folder.proof)):
            if not there:
                raise UserError(f"{path}: not a run folder, or not a whole one (it has no {part.name})")
        config = document.load(folder.config)  # `model` checks that its parts fit
        *sources, target = load_sources(config.data, folder.path).values()
        assert isinstance(target, Language)
        return cls(folder, config, tuple(sources), target)

    def weights(self, name: str | None = None) -> Path:
        """Return the file of the named weights, or of the first of WEIGHTS that exists."""
        names = (
            [name]
            if name
            else [weights_name for weights_name in WEIGHTS if self.folder.weights(weights_name).is_file()]
        )
        if not names:
            raise UserError(f"{self.folder.path}: this run has no weights yet; `dragoman train` makes them")
        return self.folder.weights(names[0])

    def model(self, weights: str | None = None) -> Seq2Seq:
        """Return the model with these weights, in evaluation mode."""
        path = self.weights(weights)
        model = build.empty_for(self.config, self.sources, self.target)
        fill(model, read_tensors(path)[0], path)
        return model.eval()
