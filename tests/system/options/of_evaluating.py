"""Options of the commands that measure, tune and report."""

from tests.system.options.effects import Done, Effect, Effects, instead
from tests.system.options.of_preparing import called, computing

EVALUATE = "evaluate train.fr -i train.mt"
INTERVALS = f"{EVALUATE} --metrics bleu --confidence"
TWO = f"{EVALUATE} -i train.ht"
RUN = "evaluate test.fr --run runs/toy --source test.en"
MANY = "evaluate lang/test.de --run runs/many --source lang/test.en"
EDITS = "evaluate train.fr -i train.mt --by edits"
TASK = "evaluate train.fr -i train.mt --downstream labeled.tsv"
TUNE = "tune runs/toy --source dev.en --reference dev.fr --n-best 4"
CALIBRATE = "calibrate runs/toy --source train.en --reference train.fr"
GATE = "gate runs/toy --against runs/first --source train.en --reference train.fr"
JUDGE = "judge make test.en test.mt test.ht -o judged.html --seed 1"
KEY = "judged.key.json"
REPORT = "report runs/toy --sentences tabbed.tsv -o page.html"
BACK = "augment back runs/toy few.fr -o new"
FORWARD = "augment forward runs/toy few.en -o new"
NAMES = "--source-name en --target-name fr"
COPY = f"augment copy few.fr -o new {NAMES}"
NOISE = f"augment noise few.en few.fr -o new {NAMES}"


def written(done: Done) -> object:
    """The function that writes an export, and where it writes."""
    return [(call.function, call.arguments[1]) for call in done.of("_export.write")]


def _names(words: str) -> dict[str, Effect]:
    source, target = "--source-name en", "--target-name fr"
    return {
        "--source-name": Effect(f"{words} {target}", "--source-name xx", "files", source, "new.xx"),
        "--target-name": Effect(f"{words} {source}", "--target-name yy", "files", target, "new.yy"),
    }


TABLE: dict[str, Effects] = {
    "evaluate": {
        "--input": Effect("evaluate train.fr", "--input train.ht", "out", "-i train.mt"),
        "--run": Effect("evaluate test.fr --source test.en", "--run runs/first", "out", "--run runs/toy"),
        "--source": Effect("evaluate test.fr --run runs/toy", "--source test.mt", "out", "--source test.en"),
        "--metrics": Effect(EVALUATE, "--metrics chrf"),
        "--tokenize": Effect(f"{EVALUATE} --metrics bleu", "--tokenize char", "out", "", "tok:char"),
        "--unit": Effect(f"{EVALUATE} --metrics token_error_rate", "--unit character"),
        "--lowercase": Effect("evaluate train.fr -i train.ht --metrics bleu", "--lowercase"),
        "--confidence": Effect(f"{EVALUATE} --metrics bleu", "--confidence", "out", "", "±"),
        "--test": Effect(f"{TWO} --metrics bleu", "--test randomization", "out", "", "ar:"),
        "--samples": Effect(INTERVALS, "--samples 100", "out", "", "bs:100|"),
        "--seed": Effect(INTERVALS, "--seed 0", "out", "", "seed:0"),
        "--by": Effect(f"{EVALUATE} --metrics bleu", "--by tags.tsv", "out", "", "tag"),
        "--corpus": Effect(f"{EVALUATE} --by frequency", "--corpus train.mt", "out", "--corpus test.fr"),
        "--edited": Effect(EDITS, "--edited train.ht"),
        "--downstream": Effect(
            f"{EVALUATE} --labels labels", "--downstream labeled.tsv", "out", "--downstream turned.tsv"
        ),
        "--labels": Effect(TASK, "--labels others", "out", "--labels labels"),
        "--json": Effect(EVALUATE, "--json", "out", "", '"score"'),
        "--search": Effect(RUN, "--search '{kind: sample, seed: 3}'"),
        "--beam": Effect(RUN, "--beam 1", "out", "", "beam:1"),
        "--engine": Effect(f"{RUN} --json", "--engine int8"),
        "--weights": Effect(f"{RUN} --metrics bleu", "--weights first"),
        "--shortlist": Effect(RUN, "--shortlist 2,1", "out", "", "Covered"),
        "--to": Effect(MANY, "--to de", "out", "--to fr"),
        "--translation-memory": Effect(
            "evaluate test.fr --run runs/recall --source test.en", "--translation-memory more"
        ),
        "--exact": Effect("evaluate train.fr --run runs/recall --source train.en --metrics bleu", "--exact"),
        "--threads": computing(RUN),
    },
    "tune": {
        "--source": instead(TUNE, "--source dev.en", "--source dev.mt", "err"),
        "--reference": Effect(
            "tune runs/toy --source dev.en --n-best 4", "--reference dev.mt", "err", "--reference dev.fr"
        ),
        "--output": Effect(TUNE, "--output other", "files", "", "other"),
        "--metric": Effect(TUNE, "--metric bleu", "err", "", "BLEU"),
        "--n-best": instead(TUNE, "--n-best 4", "--n-best 2"),
        "--use": Effect(TUNE, "--use length", "out"),
        "--reverse": Effect(TUNE, "--reverse runs/back", "out", "", "reverse"),
        "--with": Effect(TUNE, "--with early=runs/first", "out", "", "early"),
        "--criteria": Effect(TUNE, "--criteria dev.own", "out", "", "Own"),
        "--seed": Effect(f"{TUNE} --metric bleu", "--seed 0", "out"),
        "--weights": Effect(TUNE, "--weights first", "out", "", "", TUNE.replace("toy", "first")),
        "--to": Effect(
            "tune runs/many --source lang/dev.en --reference lang/dev.de --n-best 4", "--to de", "out", "--to fr"
        ),
        "--threads": computing(TUNE),
    },
    "calibrate": {
        "--source": instead(CALIBRATE, "--source train.en", "--source more.en"),
        "--reference": Effect(
            "calibrate runs/toy --source train.en", "--reference train.mt", "out", "--reference train.fr"
        ),
        "--weights": Effect(CALIBRATE, "--weights first", "out", "", "", CALIBRATE.replace("toy", "first")),
        "--to": Effect(
            "calibrate runs/many --source lang/test.en --reference lang/test.de", "--to de", "out", "--to fr"
        ),
        "--threads": computing(CALIBRATE),
    },
    "gate": {
        "--against": instead(GATE, "--against runs/first", "--against runs/sure"),
        "--source": instead(GATE, "--source train.en", "--source more.en"),
        "--reference": instead(GATE, "--reference train.fr", "--reference train.mt"),
        "--to": Effect(
            "gate runs/many --against runs/many --source lang/test.en --reference lang/test.de",
            *("--to de", "out", "--to fr"),
        ),
        "--threads": computing(GATE),
    },
    "judge make": {
        "--output": Effect(
            "judge make test.en test.mt", "--output other.html", "files", "-o judged.html", "other.key.json"
        ),
        "--reference": Effect(JUDGE, "--reference test.fr", KEY, "", "reference"),
        "--questions": Effect(JUDGE, "--questions fluency", KEY),
        "--categories": Effect(JUDGE, "--categories tone,facts", KEY, "", "facts"),
        "--sentences": Effect(JUDGE, "--sentences 2", KEY),
        "--seed": instead(JUDGE, "--seed 1", "--seed 0", KEY),
    },
    "judge read": {
        "--baseline": Effect("judge read page.key.json anna.json", "--baseline new"),
        "--json": Effect("judge read page.key.json anna.json", "--json", "out", "", '"systems"'),
    },
    "report": {
        "--output": Effect("report runs/toy", "--output other.html", "files", "", "other.html"),
        "--sentences": Effect("report runs/toy -o page.html", "--sentences tabbed.tsv", "page.html"),
        "--gold": Effect(REPORT, "--gold six", "page.html", "", "AER"),
        "--one-based": Effect(f"{REPORT} --gold one", "--one-based", "page.html"),
        "--corpus": Effect(REPORT, "--corpus test.fr", "page.html"),
        "--explain": Effect(REPORT, "--explain", "page.html"),
        "--to": Effect("report runs/many --sentences tabbed.tsv -o page.html", "--to de", "page.html", "--to fr"),
        "--threads": computing(REPORT),
    },
    "import": {
        "--output": Effect("import marian", "--output other", "files", "-o runs/marian", "other"),
        "--source": Effect("import marian -o other", "--source en", "other/config.yaml", "", "[en]"),
        "--target": Effect("import marian -o other", "--target fr", "other/config.yaml", "", "target: fr"),
        "--vocabulary": Effect("import marians -o other", "--vocabulary marians/vocab.a.yml", "code"),
        "--positions": Effect(
            "import huggingface -o other", "--positions huggingface", "other/config.yaml", "", "sinusoidal_halves"
        ),
        "--prefix": Effect("import huggingface -o other", "--prefix '>>fra<<'", "other/config.yaml", "", ">>fra<<"),
        "--license": Effect("import marian -o other", "--license CC-BY-4.0", "other/README.md", "", "CC-BY-4.0"),
    },
    "average": {
        "--output": Effect("average runs/toy", "--output other", "files", "-o mean", "other"),
        "--last": Effect("average runs/toy -o mean", "--last 1", "mean"),
        "--best": Effect("average runs/toy -o mean", "--best 1", "mean"),
        "--threads": computing("average runs/toy -o mean"),
    },
    "export": {
        "--onnx": Effect("export runs/toy", "--onnx", "code"),
        "--ctranslate2": Effect("export runs/toy", "--ctranslate2", called, "--onnx"),
        "--marian": Effect("export runs/toy -o other", "--marian", written, "--argos", "marian_export"),
        "--huggingface": Effect("export runs/toy -o other", "--huggingface", written, "--argos", "huggingface_export"),
        "--argos": Effect("export runs/toy -o other", "--argos", written, "--marian", "argos_export"),
        "--output": Effect("export runs/toy --marian", "--output other", written, "-o second", "other"),
        "--quantization": Effect("export runs/toy --onnx", "--quantization int8", called, "", "'int8': True"),
        "--weights": Effect("export runs/toy --onnx", "--weights first", called, "", "'first'"),
        "--threads": computing("export runs/toy --onnx"),
    },
    "push": {"--public": Effect("push runs/toy me/toy", "--public", called, "", "'public': True")},
    "augment back": {
        "--output": Effect("augment back runs/toy few.fr", "--output other", "files", "-o new", "other.fr"),
        "--tag": Effect(BACK, "--tag '<x>'", "new.fr", "", "<x>"),
        "--beam": Effect(BACK, "--beam 1", "new.fr"),
        "--threads": computing(BACK),
    },
    "augment forward": {
        "--output": Effect("augment forward runs/toy few.en", "--output other", "files", "-o new", "other.en"),
        "--tag": Effect(FORWARD, "--tag '<x>'", "new.en", "", "<x>"),
        "--beam": Effect(FORWARD, "--beam 1", "new.fr"),
        "--threads": computing(FORWARD),
    },
    "augment copy": {
        "--output": Effect(f"augment copy few.fr {NAMES}", "--output other", "files", "-o new", "other.en"),
        **_names("augment copy few.fr -o new"),
        "--tag": Effect(COPY, "--tag '<x>'", "new.en", "", "<x>"),
    },
    "augment noise": {
        "--output": Effect(f"augment noise few.en few.fr {NAMES}", "--output other", "files", "-o new", "other.en"),
        **_names("augment noise few.en few.fr -o new"),
        "--drop": Effect(NOISE, "--drop 0.9", "new.en"),
        "--blank": Effect(NOISE, "--blank 0.9", "new.en"),
        "--shuffle": Effect(NOISE, "--shuffle 0", "new.en"),
        "--seed": Effect(NOISE, "--seed 0", "new.en"),
        "--tag": Effect(NOISE, "--tag '<x>'", "new.en", "", "<x>"),
    },
}
