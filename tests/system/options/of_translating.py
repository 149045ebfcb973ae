"""Options of the commands that translate, score and align."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dragoman.cli.localize_parents import load_parent
from tests.system.options.effects import Done, Effect, Effects, Watch
from tests.system.options.of_preparing import computing

T = "translate runs/toy test.en"
MANY = "translate runs/many lang/test.en"
MBR = f"{T} --mbr chrf"
FOLLOWED = f"{T} --search greedy"
SHARDED = f"{T} -o found --shards 2"
LOCALIZE = "localize messages.po -o new.po"
POSTEDIT = "postedit runs/edit --translation test.mt"
SCORE = "score runs/toy test.en test.fr"
ALIGN = "align train.en train.fr"
RUN_ALIGN = "align runs/toy train.en train.fr"
DICTIONARY = "dictionary train.en train.fr"
TERMS = "terms train --columns en,fr"
EXPLAIN = "explain runs/toy 'one two three'"
DARK = "--source image=test.dark.npy"
LIGHT = "--source image=test.image.npy"


def portions(done: Done) -> object:
    """How many lines are translated at a time."""
    return [len(call.arguments[1].lines) for call in done.of("translate.translated")]


def adapted(done: Done) -> object:
    """The folders of the run to start from and of the new one."""
    ((parent, _, run),) = (call.arguments for call in done.of("_adapt"))
    return str(parent.run.folder.path), str(run)


def further(done: Done) -> object:
    """The further languages of a parent that is trained."""
    return [call.arguments[1] for call in done.of("train_installed")]


def languages(done: Done) -> object:
    """The target languages of what is scored."""
    return [call.options["to"] for call in done.of("Translator.score")]


def ended(done: Done) -> object:
    """What a command printed, if it did not end with an error."""
    return done.outcome.out


def texts(done: Done) -> object:
    """The texts that are translated."""
    return [call.arguments[1] for call in done.of("Translator.translate")]


def arrays(done: Done) -> object:
    """The first array that is scored."""
    _, (first, *_), *_ = done.of("Translator.score")[0].arguments
    return first[1].tolist()


def divided(done: Done) -> object:
    """How many lines are divided into how many shards."""
    return [call.arguments[1:] for call in done.of("Folder.shards")]


def cluster(done: Done) -> object:
    """How many processors a cluster is started with."""
    return [call.options["num_cpus"] for call in done.of("ray_init")]


def ray_init(**options: Any) -> None:
    """In the place of Ray's, which is not needed to see what it is asked for."""
    raise ConnectionError("none here")


def _ray() -> Any:
    return SimpleNamespace(init=lambda **options: ray_init(**options))


TRANSLATE = (
    Watch("dragoman.cli.translate.translated"),
    Watch("dragoman.cli.shards._library", _ray),
    Watch("dragoman.cli.shards.Folder.shards"),
    Watch(f"{__name__}.ray_init"),
)
SCORED = (Watch("dragoman.translation.translator.Translator.score"),)
WATCHED = {
    "translate": TRANSLATE,
    "align": SCORED,
    "dictionary": SCORED,
    "postedit": (Watch("dragoman.translation.translator.Translator.translate"),),
    "localize": (
        Watch("dragoman.cli.localize._adapt"),
        Watch("dragoman.cli.localize_parents.train_installed", lambda *_: load_parent(Path("runs/first"))),
        Watch("dragoman.cli.localize_parents.train_on_corpus", lambda *_: load_parent(Path("runs/first"))),
    ),
    "push": (Watch("dragoman.interop.hub.push", lambda *_, **__: "here"),),
    "export": (
        Watch("dragoman.deployment.export.write", lambda run, *_, **__: run.folder.path),
        Watch("dragoman.deployment.ctranslate.write", lambda run, *_: run.folder.path),
        *(
            Watch(f"dragoman.interop.{name}_export.write", lambda run, *_: run.folder.path)
            for name in ("marian", "huggingface", "argos")
        ),
    ),
}


def _by_counting(words: str) -> dict[str, Effect]:
    """The effects of options that align and dictionary have for aligning without a run."""
    return {
        "--method": Effect(words, "--method ibm1"),
        "--symmetrize": Effect(f"{words} --method ibm1", "--symmetrize forward"),
        "--more-pairs": Effect(words.replace("train", "solo"), "--more-pairs more", ended),
        "--columns": Effect(f"{words.split()[0]} three.tsv", "--columns en,de", "out", "--columns en,fr"),
        "--pretokenizer": Effect(words.replace("train", "punctuated"), "--pretokenizer whitespace"),
    }


def _by_run(name: str) -> dict[str, Effect]:
    """The effects of options that align and dictionary have for aligning by a run."""
    pair = "train.en train.fr"
    return {
        "--weights": Effect(f"{name} runs/toy {pair}", "--weights first", "out", "", "", f"{name} runs/first {pair}"),
        "--to": Effect(f"{name} runs/many lang/test.en lang/test.de", "--to de", languages, "--to fr", "'de'"),
        "--source": Effect(f"{name} runs/image test.en test.fr", DARK, arrays, LIGHT),
        "--threads": computing(f"{name} runs/toy {pair}"),
    }


TABLE: dict[str, Effects] = {
    "translate": {
        "--output": Effect(T, "--output other", "files", "", "other"),
        "--resume": Effect("translate runs/toy more.en -o begun --batch-lines 4", "--resume", "code"),
        "--search": Effect(T, "--search '{kind: sample, seed: 3}'"),
        "--beam": Effect(f"{T} --n-best 9", "--beam 9", "code"),
        "--n-best": Effect(T, "--n-best 2", "out", "", "|||"),
        "--mbr": Effect(T, "--mbr chrf"),
        "--samples": Effect(MBR, "--samples 2"),
        "--rerank": Effect(f"{T} --n-best 2", "--rerank weights.yaml", "out", "", "coverage="),
        "--criteria": Effect(
            f"{T} --rerank own.yaml --n-best 2", "--criteria test.turned", "out", "--criteria test.own"
        ),
        "--min-confidence": Effect("translate runs/sure test.en", "--min-confidence 0.9", "out", "--min-confidence 0"),
        "--alignments": Effect(T, "--alignments", "out", "", "||| "),
        "--json": Effect(T, "--json", "out", "", '"log_prob"'),
        "--schema": Effect(T, "--schema", "out", "", '"$schema"'),
        "--show": Effect(T, "--show", "err", "", "four one six"),
        "--weights": Effect(f"{T} --json", "--weights first", "out", "", "", "translate runs/first test.en --json"),
        "--batch-lines": Effect(T, "--batch-lines 2", portions, "", "[2, 2, 2]"),
        "--engine": Effect(f"{T} --json", "--engine int8"),
        "--shortlist": Effect(f"{T} --json", "--shortlist 2,1"),
        "--source": Effect("translate runs/image --json --source en=test.en", DARK, "out", LIGHT),
        "--wait": Effect(FOLLOWED, "--wait 1"),
        "--incremental": Effect("translate runs/shift test.en", "--incremental", "err", "", "average lagging"),
        "--to": Effect(MANY, "--to de", "out", "--to fr"),
        "--pivot": Effect(f"{MANY} --to de", "--pivot fr"),
        "--prefix": Effect(T, "--prefix begin", "out", "", "trois trois trois"),
        "--translation-memory": Effect(
            "translate runs/recall test.en", "--translation-memory more", "err", "", "more: has a similar sentence"
        ),
        "--exact": Effect("translate runs/recall train.en", "--exact"),
        "--dictionary": Effect("translate runs/unknown test.en", "--dictionary words.tsv", "out", "", "sept"),
        "--replace-unk": Effect("translate runs/unknown test.en", "--no-replace-unk", "out", "", "<unk>"),
        "--glossary": Effect(T, "--glossary terms.tsv"),
        "--glossary-weight": Effect(f"{T} --glossary terms.tsv", "--glossary-weight 0.001"),
        "--do-not-translate": Effect(T, "--do-not-translate names", "out", "", "one"),
        "--protect": Effect("translate runs/toy unknown.en --no-replace-unk", "--protect numbers", "out", "", "8"),
        "--shards": Effect(f"{T} -o found", "--shards 3", divided, "--shards 2", "(6, 3)"),
        "--workers": Effect(SHARDED, "--workers 7", cluster, "", "[7]"),
        "--threads": computing(T),
    },
    "localize": {
        "--output": Effect(
            "localize messages.po --parent runs/toy", "--output other.po", "files", "--output new.po", "other.po"
        ),
        "--parent": Effect(LOCALIZE, "--parent runs/first", adapted, "--parent runs/toy", "runs/first"),
        "--installed": Effect(LOCALIZE, "--installed", adapted, "--parent runs/toy", "runs/first"),
        "--parent-corpus": Effect(LOCALIZE, "--parent-corpus test.tsv", adapted, "--parent runs/toy", "runs/first"),
        "--also": Effect(f"{LOCALIZE} --installed", "--also de,es", further, "", "'de', 'es'"),
        "--run": Effect(f"{LOCALIZE} --parent runs/toy", "--run runs/mine", adapted, "", "runs/mine"),
        "--min-confidence": Effect(f"{LOCALIZE} --parent runs/sure", "--min-confidence 1", "new.po"),
        "--threads": computing(f"{LOCALIZE} --parent runs/toy"),
    },
    "postedit": {
        "--translation": Effect("postedit runs/edit", "--translation more.mt", "out", "--translation test.mt"),
        "--source": Effect("postedit runs/both --translation test.mt", "--source test.ht", texts, "--source test.en"),
        "--output": Effect(POSTEDIT, "--output other", "files", "", "other"),
        "--json": Effect(POSTEDIT, "--json", "out", "", '"log_prob"'),
        "--show": Effect(POSTEDIT, "--show", "err"),
        "--html": Effect(POSTEDIT, "--html page.html", "files", "", "page.html"),
        "--weights": Effect(f"{POSTEDIT} --json", "--weights other"),
        "--threads": computing(POSTEDIT),
        "--resume": Effect("postedit runs/edit --translation more.mt -o edited", "--resume", "code"),
    },
    "score": {
        "--per-symbol": Effect(SCORE, "--per-symbol"),
        "--confidence": Effect("score runs/toy train.en train.fr", "--confidence", "err", "", "±"),
        "--json": Effect(SCORE, "--json", "out", "", '"log_prob"'),
        "--weights": Effect(SCORE, "--weights first", "out", "", "", "score runs/first test.en test.fr"),
        "--to": Effect("score runs/many lang/test.en lang/test.de", "--to de", "out", "--to fr"),
        "--source": Effect("score runs/image test.en test.fr", DARK, "out", LIGHT),
        "--translation-memory": Effect("score runs/recall test.en test.fr", "--translation-memory more"),
        "--threads": computing(SCORE),
    },
    "align": {
        "--output": Effect(ALIGN, "--output other", "files", "", "other"),
        "--gold": Effect(f"{ALIGN} --pretokenizer whitespace", "--gold links", "err", "", "AER"),
        "--one-based": Effect(f"{ALIGN} --gold from1", "--one-based", "err"),
        "--confidence": Effect(f"{ALIGN} --gold links", "--confidence", "err", "", "±"),
        **_by_counting(ALIGN),
        "--threshold": Effect(RUN_ALIGN, "--threshold 0.1"),
        "--json": Effect(RUN_ALIGN, "--json", "out", "", '"log_prob"'),
        **_by_run("align"),
    },
    "dictionary": {
        "--output": Effect(DICTIONARY, "--output other", "files", "", "other"),
        "--min-count": Effect(DICTIONARY, "--min-count 45"),
        "--min-probability": Effect("dictionary runs/toy train.en train.fr", "--min-probability 0.5"),
        **_by_counting(DICTIONARY),
        **_by_run("dictionary"),
    },
    "terms": {
        "--output": Effect(TERMS, "--output other", "files", "", "other"),
        "--columns": Effect("terms three.tsv", "--columns en,de", "out", "--columns en,fr"),
        "--min-count": Effect(TERMS, "--min-count 4"),
        "--min-share": Effect("terms varied.tsv", "--min-share 0.4", "out", "", "trois"),
    },
    "shortlist": {"--threads": computing("shortlist runs/toy")},
    "explain": {
        "--target": Effect(EXPLAIN, "--target 'six six'", "out", "", "six six"),
        "--contrast": Effect(EXPLAIN, "--contrast 'six un'", "out", "", "six un"),
        "--show": Effect(EXPLAIN, "--show"),
        "--tree": Effect(EXPLAIN, "--tree"),
        "--nearest": Effect(EXPLAIN, "--nearest 1"),
        "--export": Effect(EXPLAIN, "--export attention=map.csv", "files", "", "map.csv"),
        "--json": Effect(EXPLAIN, "--json", "out", "", '"log_prob"'),
        "--schema": Effect(EXPLAIN, "--schema", "out", "", '"$schema"'),
        "--search": Effect(EXPLAIN, "--search '{kind: sample, seed: 3}'"),
        "--beam": Effect(f"{EXPLAIN} --tree", "--beam 1"),
        "--to": Effect("explain runs/many 'one two'", "--to de", "out", "--to fr"),
        "--weights": Effect(EXPLAIN, "--weights first", "out", "", "", "explain runs/first 'one two three'"),
        "--translation-memory": Effect("explain runs/recall 'one two three'", "--translation-memory more", "out"),
        "--threads": computing(EXPLAIN),
    },
}
