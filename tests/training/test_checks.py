"""What is checked in a configuration and spelled out, before anything is trained."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.configuration import sections
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.configuration.config_file import ConfigError
from dragoman.configuration.data import DataConfig
from dragoman.evaluation.metrics.table import METRICS
from dragoman.search.table import SEARCHES
from dragoman.text.words import TOKENIZERS
from dragoman.training import checks, session
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.optimizer import OPTIMIZERS, SCHEDULES
from tests.golden import Golden

FAULTS = {
    "text.source.tokenizer": {"kind": "bpe", "sise": 3},
    "text.target.tokenizer": "wort",
    "training.objective": "teacher_forced",
    "training.penalties": [{"kind": "coverage", "weight": 0}],
    "training.optimizer": {"kind": "adam", "learning_rate": -1},
    "training.schedule": {"kind": "cosine", "steps": 20, "warmup": 20},
    "training.search": {"kind": "beam", "size": 0},
    "search": "beem",
    "metrics": [{"kind": "bleu", "order": "four"}],
    "model.decoder": {"kind": "rnn", "attend": "sometimes"},
}
BPE = {"text.source.tokenizer": "bpe", "text.target.tokenizer": "bpe"}


@pytest.mark.parametrize("key", FAULTS)
def test_each_faulty_part_is_named(key: str, make_config: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError) as error:
        make_config({key: FAULTS[key]})
    (line,) = str(error.value).split("\n")
    assert line.startswith(f"--{key}")


@pytest.mark.parametrize(
    ("source", "target", "key"),
    [
        ({"tokenizer": "bpe"}, {"tokenizer": {"kind": "bpe", "vocab_size": 4000}}, "tokenizer"),
        ({"tokenizer": "word"}, {"tokenizer": "bpe"}, "tokenizer"),
        (
            {"tokenizer": "word", "pretokenizer": "whitespace"},
            {"tokenizer": "word", "pretokenizer": "punctuation"},
            "pretokenizer",
        ),
    ],
)
def test_a_joint_inventory_needs_one_way_to_make_it(
    source: dict[str, Any], target: dict[str, Any], key: str, make_config: Callable[..., Config], golden: Golden
) -> None:
    options = {
        f"text.{side}.{name}": value
        for side, side_options in (("source", source), ("target", target))
        for name, value in side_options.items()
    }
    with pytest.raises(ConfigError, match=f"text.target.{key}:") as raised:
        make_config({"text.shared_vocabulary": True, **options})
    golden(str(raised.value))
    make_config({"text.shared_vocabulary": False, "model.embedding.tie": "none", **options})


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"tokenizer": {"kind": "word"}}, {"tokenizer": {"kind": "word", "vocab_size": 50000}}),
        ({"tokenizer": "bpe"}, {"tokenizer": {"kind": "bpe", "dropout": 0.1}}),
        ({"tokenizer": "unigram"}, {"tokenizer": {"kind": "unigram", "alpha": 0.1}}),
        (
            {"tokenizer": "character", "pretokenizer": "whitespace"},
            {"tokenizer": "character", "pretokenizer": "punctuation"},
        ),
        ({"tokenizer": "bpe", "lowercase": True}, {"tokenizer": "bpe", "pretokenizer": "whitespace"}),
    ],
)
def test_what_makes_no_other_symbols_may_differ(
    source: dict[str, Any], target: dict[str, Any], make_config: Callable[..., Config]
) -> None:
    options = {
        f"text.{side}.{name}": value
        for side, side_options in (("source", source), ("target", target))
        for name, value in side_options.items()
    }
    text = make_config({"text.shared_vocabulary": True, **options}).text
    assert text.shared_vocabulary
    assert text.source != text.target


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"training.penalties": ["coverage", "supervised"]},
            "training.penalties.1: 'supervised' requires data.alignments: true",
        ),
        (
            {"training.penalties": ["coverage", "fertility", {"kind": "coverage", "weight": 2}]},
            "training.penalties.2: 'coverage' is listed twice",
        ),
        (
            {"text.target.prefix": ["<2de>"], "text.source.prefix": ["<2de>"]},
            "text.target.prefix: only for sources; see model.target_prefix",
        ),
        ({"text.target.padded_length": 9}, "text.target.padded_length: only for sources"),
        ({"model.start_symbol": "prefix"}, "model.start_symbol: 'prefix' requires model.target_prefix"),
        ({"model.attention.terms": ["coverage", "coverage"]}, "model.attention.terms.1: 'coverage' is listed twice"),
        (
            {"training.penalties": "coverage", "model.attention.score": "none"},
            "training.penalties: the model has no attention (model.attention.score: none)",
        ),
        (
            {
                "training.penalties": "coverage",
                "model.encoder": {"kind": "rnn", "direction": "forward", "size": 4},
                "model.bridge": "zero",
                "model.attention.score": "uniform",
                "model.attention.terms": "wait",
            },
            "training.penalties: all attention weights are equal (model.attention.score: uniform)",
        ),
        (
            {
                "training.penalties": "supervised",
                "data.alignments": True,
                "model.attention.normalizer": "linear_chain",
            },
            "'supervised' would make all weights of model.attention.normalizer: linear_chain 1; use divide: true",
        ),
    ],
)
def test_penalties_need_what_they_score_targets(
    make_config: Callable[..., Config], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        make_config(options)
    assert str(error.value).endswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model.attention.score": "none"}, "the model has no attention (model.attention.score: none)"),
        (
            {"model.attention.normalizer": "linear_chain"},
            "'agreement' would make all weights of model.attention.normalizer: linear_chain 1; use divide: true",
        ),
        ({"data.train": "all.tsv"}, "'agreement' requires one file per side; all.tsv is a table"),
        ({"data.dev": "all.tsv.gz"}, "'agreement' requires one file per side; all.tsv.gz is a table"),
    ],
)
def test_agreement_needs_two_sides_that_look_at_each_other(
    make_config: Callable[..., Config], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        make_config({"training.objective": "agreement", **options})
    assert str(error.value).endswith(f"training.objective: {message}")
    assert "\n" not in str(error.value)


def test_the_names_of_several_sources_are_parts_of_file_names(
    make_config: Callable[..., Config], golden: Golden
) -> None:
    assert make_config({"data.source": "x/en"}).data.source == ("x/en",)
    with pytest.raises(ConfigError, match=r"data\.source\.1: 'x/en'") as raised:
        make_config({"data.source": ["mt", "x/en"]})
    golden(str(raised.value))


def test_agreement_takes_no_penalties(make_config: Callable[..., Config], golden: Golden) -> None:
    with pytest.raises(ConfigError, match=r"training\.penalties:") as raised:
        make_config({"training.objective": "agreement", "training.penalties": "coverage"})
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data.source": ["en", "mt"]}, "found several sources"),
        ({"model.combination": {"kind": "flat", "sentinel": True}}, "found a sentinel"),
    ],
)
def test_penalties_are_of_attention_to_one_source(
    options: dict[str, Any], message: str, make_config: Callable[..., Config]
) -> None:
    with pytest.raises(ConfigError, match=rf"training\.penalties: require attention to a single source, {message}$"):
        make_config({"training.penalties": "coverage", **options})


@pytest.mark.parametrize("unit", TOKENIZERS)
@pytest.mark.parametrize(("key", "side"), [("model.output", "target"), ("model.embedding.source", "source")])
def test_a_hybrid_needs_words_outside_the_vocabulary(
    key: str, side: str, unit: str, make_config: Callable[..., Config], golden: Golden
) -> None:
    options = {key: "hybrid", f"text.{side}.tokenizer": unit}
    if not TOKENIZERS[unit].complete:
        make_config(options)
        return
    with pytest.raises(ConfigError, match=rf"{key}: .*text\.{side}\.tokenizer") as raised:
        make_config(options)
    golden(str(raised.value))
    make_config({key: "hybrid", f"text.{'source' if side == 'target' else 'target'}.tokenizer": unit})


def test_a_hybrid_of_several_pairs_needs_such_words_too(make_config: Callable[..., Config]) -> None:
    pairs = [{"source": "en", "target": "fr", "train": "x", "dev": "y"}]
    options = {"data.pairs": pairs, "data.source": [], "data.target": "", "data.train": [], "data.dev": ""}
    with pytest.raises(ConfigError, match=r"model\.embedding\.source: .*outside the vocabulary"):
        make_config({**options, "text.shared_vocabulary": True, **BPE, "model.embedding.source": "hybrid"})


def test_a_hybrid_reads_what_a_memory_recalls(make_config: Callable[..., Config]) -> None:
    """Its texts are in the unit of the target."""
    options = {"model.embedding.source": "hybrid", "data.translation_memory": "nearest"}
    assert make_config({**options, "text.source.tokenizer": "bpe"}).data.recalled
    with pytest.raises(ConfigError, match=r"model\.embedding\.source: "):
        make_config({**options, "text.source.tokenizer": "bpe", "text.target.tokenizer": "unigram"})


@pytest.mark.parametrize("path", checks.PARTS, ids=".".join)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"training.penalties": ["supervised"], "data.alignments": True},
        {"training.objective": "hard"},
        {"text.shared_vocabulary": True},
        {"model.embedding.tie": "all"},
    ],
    ids=["alone", "supervised", "hard", "shared_vocabulary", "tied"],
)
def test_an_unknown_kind_is_told_whatever_asks_for_it(
    path: tuple[str, ...], more: dict[str, Any], make_config: Callable[..., Config]
) -> None:
    key = ".".join(path)
    listed = isinstance(sections.at(Config(data=DataConfig()), path), tuple)
    with pytest.raises(ConfigError) as error:
        make_config({**more, key: ["igloo"] if listed else "igloo"})
    assert "unknown kind 'igloo'" in str(error.value)


def test_all_faults_are_told_at_once(make_config: Callable[..., Config]) -> None:
    with pytest.raises(ConfigError) as error:
        make_config({**FAULTS, "training.schedule": {"kind": "cosine", "steps": 0}})
    assert {line.removeprefix("--").partition(":")[0] for line in str(error.value).split("\n")} == set(FAULTS)


def test_a_configuration_made_in_python_is_checked_too(make_config: Callable[..., Config], tmp_path: Path) -> None:
    sound = make_config()
    training = sound.training.model_copy(
        update={"metric": "ter", "epochs": None, "steps": None, "optimizer": Spec("adamm")}
    )
    with pytest.raises(ConfigError) as error:
        session.train(sound.model_copy(update={"training": training}), quiet=True)
    assert str(error.value).split("\n") == [
        "training.steps: training would never end, since epochs and steps are both null",
        "training.metric: 'ter' is not listed in metrics; expected one of accuracy, bleu, chrf, loss, perplexity",
        "training.optimizer.kind: unknown kind 'adamm', did you mean 'adam'?",
    ]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("metrics: [bleu, chrff]\ntraining: {metric: chrf}\n", "metrics.1: unknown kind 'chrff', did you mean 'chrf'?"),
        (
            "text:\n  source: bpe\n  target: {tokenizer: {kind: bpe, vocab_size: 300}}\n",
            (
                "text.source: expected the keys lowercase, pretokenizer, tokenizer, prefix, suffix, padded_length; "
                'found "bpe"'
            ),
        ),
    ],
)
def test_what_is_compared_with_a_wrong_value_is_not_wrong(text: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"data: {{source: en, target: de, train: a, dev: b}}\n{text}", "utf-8")
    with pytest.raises(ConfigError) as error:
        checks.load_config(tmp_path / "run.yaml")
    (line,) = str(error.value).split("\n")
    assert line.endswith(f": {wrong}")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("metrics: [bleu, bleu]\ntraining: {metric: chrf}\n", 2),
        ("metrics: [{kind: bleu, foo: 1}]\ntraining: {metric: chrf}\n", 2),
        ("text: {source: {lowercase: 3, tokenizer: bpe}, target: {tokenizer: {kind: bpe, vocab_size: 300}}}\n", 2),
        ("text: {source: {tokenizer: bpee}, target: {tokenizer: {kind: bpe, vocab_size: 300}}}\n", 1),
        ("text: {shared_vocabulary: 'false', source: {tokenizer: word}, target: {tokenizer: bpe}}\n", 1),
    ],
)
def test_what_is_wrong_whatever_else_is_mended_is_told(text: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"data: {{source: en, target: de, train: a, dev: b}}\n{text}", "utf-8")
    with pytest.raises(ConfigError) as error:
        checks.load_config(tmp_path / "run.yaml")
    assert len(str(error.value).split("\n")) == count


def test_a_complete_configuration_has_every_option_of_every_part(make_config: Callable[..., Config]) -> None:
    full = checks.complete(make_config({"training.schedule": {"kind": "cosine", "steps": 9}}))
    parts: list[tuple[Any, Spec]] = [
        (TOKENIZERS, full.text.source.tokenizer),
        (TOKENIZERS, full.text.target.tokenizer),
        (OBJECTIVES, full.training.objective),
        (OPTIMIZERS, full.training.optimizer),
        (SCHEDULES, full.training.schedule),
        (SEARCHES, full.training.search),
        (SEARCHES, full.search),
        *((METRICS, metric) for metric in full.metrics),
    ]
    for table, spec in parts:
        parameters = inspect.signature(table[spec.kind]).parameters.values()
        assert list(spec.options) == [
            parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        ], spec
    assert full.model.encoder.options["direction"] == "bidirectional"
    assert full.model.attention.score.options == {"size": None, "layer_norm": "none"}
    assert checks.complete(full) == full
    assert full.training.optimizer.options["learning_rate"] == 0.01  # what was given stays


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_file_of_pieces_has_no_symbols_for_spans(side: str, make_config: Callable[..., Config]) -> None:
    options: dict[str, Any] = {
        f"text.{side}.tokenizer": {"kind": "sentencepiece", "model": "own.spm"},
        "text.shared_vocabulary": False,
    }
    make_config(options)
    with pytest.raises(ConfigError, match=rf"text\.{side}\.tokenizer: 'sentencepiece' has no symbols for protected"):
        make_config({**options, "text.protect": "urls"})
