"""Options of the commands before and during training."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from dragoman import threads as processor
from dragoman.configuration.config import Config
from tests.system.options.effects import DECIDE, Done, Effect, Effects, Watch, instead

INIT = "init train.en train.fr -o new.yaml"
CORPUS = "corpus three.tsv -o c --columns en,fr"
PARTS = f"{CORPUS} --dev 9"
NUMBERED = "corpus numbered.tsv -o c --columns en,fr --dev 9"
TRAINED = "dragoman.cli.train.trained"
DISTIL = "distil runs/toy toy.yaml --run runs/small"
FEATURES = "features pictures -o a.npy --model timm:x"


def threads(done: Done) -> object:
    """How many threads a command decided to take."""
    return sorted({call.result for call in done.of(DECIDE)})


def called(done: Done) -> object:
    """The options of the calls of what is watched."""
    return [(call.function, call.arguments[-1:], call.options) for call in done.calls if call.function != DECIDE]


def computing(words: str) -> Effect:
    """The effect of --threads on a command."""
    return Effect(words, "--threads 3", threads, "--threads 2", "3")


def trained(key: str) -> Callable[[Done], object]:
    """Return what sees the values of a key in the configurations that a command trains."""

    def values(done: Done) -> object:
        configs = [call.arguments[0] for call in done.of(TRAINED)]
        for name in key.split("."):
            configs = [getattr(value, name) for value in configs]
        return configs

    return values


def network(done: Done) -> object:
    """The network whose features are extracted, and the file for them."""
    (call,) = done.of("Network")
    return call.arguments[:2], call.options, done.of("extract")[0].arguments[3]


def pictures(done: Done) -> object:
    """The names of the pictures whose features are extracted, in their order."""
    return [path.name for path in done.of("extract")[0].arguments[1]]


def batches(done: Done) -> object:
    """The sizes of the batches in which they are."""
    return done.of("extract")[0].result


def _decide(*_: object, **__: object) -> None:
    processor.decide(0, 1)


def _extract(network: object, paths: object, batches: Iterable[Sequence[object]], target: object) -> tuple[int, ...]:
    """The sizes of the batches, in the place of the shape of an array."""
    return tuple(map(len, batches)) + (1,)


def _nothing(*_: object, **__: object) -> None:
    return None


def _outlook(config: Config) -> Iterator[str]:
    """In the place of what takes seconds, since it trains."""
    yield str(processor.decide(config.device.threads, 1))


OUTLOOK = Watch("dragoman.cli.init.outlook", _outlook)
TRAIN = (
    Watch(TRAINED, _nothing),
    Watch("dragoman.cli.train.seed_table", lambda configs: ""),
    Watch("dragoman.cli.gate.judge", _nothing),
)
WATCHED = {
    "demo": (Watch("dragoman.demo.main", _decide), Watch("dragoman.installed_demo.main", _decide)),
    "train": TRAIN,
    "distil": (Watch(TRAINED, _nothing), Watch("dragoman.translation.loading.load")),
    "init": (OUTLOOK,),
    "debug": (OUTLOOK,),
    "features": (
        Watch("dragoman.corpus.images.Network", lambda *_, **__: None),
        Watch("dragoman.corpus.images.extract", _extract),
    ),
}
TABLE: dict[str, Effects] = {
    "demo": {
        "--installed": Effect("demo", "--installed de", called, "", "installed_demo"),
        "--threads": computing("demo"),
    },
    "init": {
        "--output": Effect("init train.en train.fr --dev dev", "--output other.yaml", "files", "", "other.yaml"),
        "--dev": Effect(INIT, "--dev test", "new.yaml", "", "dev: test"),
        "--columns": Effect(
            "init three.tsv -o new.yaml", "--columns en,de", "new.yaml", "--columns en,fr", "target: de"
        ),
        "--also": Effect("init three.tsv -o new.yaml --columns en,fr", "--also de", "new.yaml", "", "[en, de]"),
        "--translation-memory": Effect(INIT, "--translation-memory", "new.yaml", "", "nearest"),
        "--epochs": Effect(INIT, "--epochs 7", "new.yaml", "", "epochs: 7"),
        "--threads": computing(INIT),
    },
    "corpus": {
        "--output": Effect("corpus three.tsv --columns en,fr", "--output other", "files", "-o c", "other.tsv"),
        "--columns": Effect("corpus three.tsv -o c", "--columns en,de", "c.tsv", "--columns en,fr", "de\\tfile"),
        "--also": Effect(CORPUS, "--also de", "c.tsv", "", "en\\tde\\tfr"),
        "--installed": Effect("corpus -o c", "--installed de", "c.tsv", "three.tsv --columns en,fr", "de\\tdomain"),
        "--rows": Effect("corpus --installed de", "--rows 1"),
        "--dev": Effect(CORPUS, "--dev 3", "files", "", "c.dev.tsv"),
        "--test": Effect(CORPUS, "--test 3", "files", "", "c.test.tsv"),
        "--seed": Effect(PARTS, "--seed 0", "c.dev.tsv"),
        "--group-near-duplicates": Effect(NUMBERED, "--group-near-duplicates", "c.dev.tsv"),
        "--longest": Effect(CORPUS, "--longest 12", "c.tsv"),
        "--drop-copies": Effect(CORPUS, "--drop-copies", "c.tsv"),
        "--keep-accelerators": Effect(CORPUS, "--keep-accelerators", "c.tsv", "", "_File"),
    },
    "train": {
        "--finetune": Effect(
            "train --run runs/new", "--finetune runs/toy few", trained("training.init_from"), "toy.yaml", "toy"
        ),
        "--corrections": Effect(
            "train --finetune runs/early --run runs/new",
            "--corrections kept.sqlite",
            trained("data.weights"),
            "few",
            "0.25",
        ),
        "--seeds": Effect("train toy.yaml", "--seeds 2", trained("seed"), "", "[3, 4]"),
        "--threads": Effect("train toy.yaml", "--threads 3", trained("device.threads"), "", "[3]"),
    },
    "distil": {
        "--references": Effect(DISTIL, "--references", trained("data.train"), "", "'train'"),
        "--beam": Effect(DISTIL, "--beam 1", "runs/small-data/train.fr"),
        "--engine": Effect(DISTIL, "--engine int8", called, "", "'int8'"),
        "--threads": Effect(DISTIL, "--threads 3", trained("device.threads"), "", "[3]"),
    },
    "debug data": {
        "--columns": Effect("debug data three.tsv", "--columns en,de", "out", "--columns en,fr"),
        "--threads": computing("debug data toy.yaml"),
    },
    "debug part": {"--threads": computing("debug part score:dot")},
    "debug config": {"--schema": Effect("debug config toy.yaml", "--schema", "out", "", '"$schema"')},
    "features": {
        "--output": instead(FEATURES, "-o a.npy", "--output b.npy", network, "b.npy"),
        "--model": instead(FEATURES, "--model timm:x", "--model timm:y", network, "timm:y"),
        "--weights": Effect(FEATURES, "--weights w", network, "", "PosixPath('w')"),
        "--layer": Effect(FEATURES, "--layer global", network, "", "'global'"),
        "--stage": Effect(FEATURES, "--stage -2", network, "", "-2"),
        "--list": Effect(FEATURES, "--list listed", pictures, "", "['b.png']"),
        "--batch": Effect(FEATURES, "--batch 1", batches, "", "(1, 1, 1)"),
        "--threads": computing(FEATURES),
    },
}
