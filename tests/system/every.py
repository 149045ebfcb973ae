"""Every command as a user might type it, in a folder full of files that are the user's own."""

import gzip
import json
import os
import random
import re
import shlex
import signal
from collections.abc import Mapping
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dragoman.evaluation.human import blinding
from dragoman.interop import imported_run, table
from dragoman.run.folder import PARTS
from dragoman.serving.corrections import Correction, Corrections
from dragoman.training import checks, session
from tests import toy, written
from tests.interop import test_marian
from tests.system.interrupted import NOTHING, End, Interruption, run, stand_in_operators

RUN = rf"({PARTS.pattern}|report\.html)"  # what is the run's own in its folder
GONE = r"(.*/)?checkpoints/step-\d{8}\.safetensors|(.*/)?data/(.+\.(values|offsets)|header\.json)|(.+)\.partial.*"
HIDDEN = re.compile(r"(.*/)?\.[^/]+\.[0-9a-z_]{8}\.part(/.*)?")  # what a killed process leaves half-written


class Command(NamedTuple):
    """What is typed, the files that it may write (a regular expression), and which of these are the same whenever it
    ends well. `refused`: it must not work.
    """

    words: str
    writes: str = ""
    same: tuple[str, ...] = ()
    refused: bool = False


SCHEMA = r"dragoman\.schema\.json"
PLAYED = tuple(
    f"played/corpus/{name}.tsv" for name in ("own.train", "own.dev", "own.test", "others.train", "others.dev")
)
NAMED = "--source-name en --target-name fr"
COMMANDS = {
    "init": Command(
        "init train.en train.fr --dev dev -o new.yaml", rf"new\.yaml|{SCHEMA}", ("new.yaml", "dragoman.schema.json")
    ),
    "init, setting pairs aside": Command(
        "init mono.en mono.fr -o aside.yaml", rf"aside\.yaml|aside-data(/.*)?|{SCHEMA}", ("aside.yaml",)
    ),
    "init over a file": Command("init train.en train.fr -o toy.yaml", refused=True),
    "corpus": Command("corpus test -o made --columns en,fr", r"made\.tsv", ("made.tsv",)),
    "corpus in parts": Command(
        "corpus train mono --columns en,fr -o split --dev 9 --test 9",
        r"split\.(train|dev|test)\.tsv",
        ("split.train.tsv", "split.dev.tsv", "split.test.tsv"),
    ),
    "corpus over a file": Command("corpus test -o mine.corpus --columns en,fr", refused=True),
    "debug data": Command("debug data toy.yaml"),
    "debug config": Command("debug config toy.yaml"),
    "debug part": Command("debug part score:dot"),
    "train": Command(
        "train toy.yaml --run=runs/new --training.save_every=2 --training.validate_every=4",
        rf"runs/new(/{RUN})?(/.*)?",
        ("runs/new/model.safetensors", "runs/new/target.vocabulary"),
    ),
    "train further": Command(
        "train toy.yaml --training.epochs=3", rf"runs/toy/{RUN}", ("runs/toy/model-last.safetensors",)
    ),
    "train what is finished": Command("train toy.yaml", r"runs/toy/report\.html"),
    "train with several seeds": Command(
        "train toy.yaml --run=runs/many --seeds=2 --training.steps=3 --training.validate_every=2",
        rf"runs/many-[34](/{RUN})?(/.*)?",
        ("runs/many-3/model.safetensors", "runs/many-4/model.safetensors"),
    ),
    "train in a folder of others": Command("train toy.yaml --run=mine --data.train=mine/data/train", refused=True),
    "train here": Command("train toy.yaml --run=.", refused=True),
    "distil": Command(
        "distil runs/toy toy.yaml --run=runs/small --training.steps=3",
        rf"runs/small(/{RUN})?(/.*)?|runs/small-data(/.*)?",
        ("runs/small-data/train.fr", "runs/small/model.safetensors"),
    ),
    "distil in a folder of others": Command("distil runs/toy toy.yaml --run=taken", refused=True),
    "import": Command(
        "import marian -o runs/parent",
        r"runs/(parent|\.parent-\w+)(/.*)?",
        ("runs/parent/model.safetensors", "runs/parent/source.vocabulary"),
    ),
    "import over a run": Command("import marian -o runs/toy", refused=True),
    "translate": Command("translate runs/toy test.en -o found.fr --resume", r"found\.fr(\.partial.*)?", ("found.fr",)),
    "translate a catalogue": Command("translate runs/toy fr.po -o filled.po", r"filled\.po", ("filled.po",)),
    "translate a document": Command("translate runs/toy x.md -o y.md", r"y\.md", ("y.md",)),
    "translate as JSON": Command(
        "translate runs/toy test.en -o found.jsonl --json --resume",
        r"found\.jsonl(\.partial.*)?",
        ("found.jsonl",),
    ),
    "translate what is packed": Command(
        "translate runs/toy packed.en -o packed.fr --resume", r"packed\.fr(\.partial.*)?", ("packed.fr",)
    ),
    "translate with terms": Command(
        "translate runs/toy test.en -o found.fr --do-not-translate names --glossary terms.tsv --resume"
        " --protect numbers",
        r"found\.fr(\.partial.*)?",
        ("found.fr",),
    ),
    "translate over its source": Command("translate runs/toy test.en -o test.en", refused=True),
    "localize": Command(
        "localize of.po --parent runs/toy --run runs/mine -o found.po",
        rf"found\.po|runs/mine(-data|-messages)?(/{RUN})?(/.*)?",
        ("found.po", "runs/mine/model.safetensors", "runs/mine-messages/messages.tsv"),
    ),
    "localize over its catalogue": Command("localize of.po --parent runs/toy -o of.po", refused=True),
    "postedit": Command(
        "postedit runs/edit --translation test.mt -o found.pe --html found.html --resume",
        r"found\.(pe|html)(\.partial.*)?",
        ("found.pe", "found.html"),
    ),
    "serve, a new key": Command("serve --make-key ann --keys keys", "keys"),
    "serve with a file of others as keys": Command("serve runs/toy --keys test.en", refused=True),
    "serve with a file of others for corrections": Command("serve runs/toy --corrections test.en", refused=True),
    "serve, texts of users without a place": Command("serve runs/toy --history --corrections test.en", refused=True),
    "corrections": Command("corrections kept.sqlite -o kept.tsv", r"kept\.tsv|kept\.sqlite-(wal|shm)", ("kept.tsv",)),
    "train from corrections over its run": Command(
        "train --corrections kept.sqlite --finetune runs/toy --run runs/toy", r"kept\.sqlite-(wal|shm)", refused=True
    ),
    "gate with too few sentences": Command(
        "gate runs/toy --against runs/toy --source dev.en --reference dev.fr", refused=True
    ),
    "corrections over a database": Command("corrections kept.sqlite -o kept.sqlite", refused=True),
    "corrections of a file of others": Command("corrections test.en -o kept.tmx", refused=True),
    "score": Command("score runs/toy test.en test.fr"),
    "explain": Command(
        "explain runs/toy 'one two' --contrast six --export gradient=map.svg", r"map\.svg", ("map.svg",)
    ),
    "explain over its run": Command("explain runs/toy one --export gradient=runs/toy/data/map.svg", refused=True),
    "align": Command("align runs/toy test.en test.fr --gold gold"),
    "align without a run": Command("align train.en train.fr -o links", "links", ("links",)),
    "align over a file": Command("align test.en test.fr -o test.en", refused=True),
    "evaluate": Command("evaluate test.fr -i test.mt"),
    "evaluate systems": Command("evaluate test.fr -i test.mt -i test.fr --by length --metrics bleu"),
    "evaluate a run": Command("evaluate test.fr --run runs/toy --source test.en"),
    "evaluate through another task": Command("evaluate test.fr -i test.mt --downstream labeled.tsv --labels six"),
    "judge make": Command(
        "judge make test.en test.mt --reference test.fr -o judged.html --seed 1",
        r"judged(\.key\.json|\.html)",
        ("judged.html", "judged.key.json"),
    ),
    "judge read": Command("judge read mine.key.json anna.json"),
    "tune": Command(
        "tune runs/toy --source dev.en --reference dev.fr --n-best 3 -o weights.yaml",
        r"weights\.yaml",
        ("weights.yaml",),
    ),
    "tune over a file": Command("tune runs/toy --source dev.en --reference dev.fr -o terms.tsv", refused=True),
    "calibrate": Command(
        "calibrate runs/toy --source train.en --reference train.fr",
        r"runs/toy/calibration\.json",
        ("runs/toy/calibration.json",),
    ),
    "shortlist": Command(
        "shortlist runs/toy train.en train.fr", r"runs/toy/shortlist\.safetensors", ("runs/toy/shortlist.safetensors",)
    ),
    "dictionary": Command("dictionary runs/toy train.en train.fr -o words.tsv", r"words\.tsv", ("words.tsv",)),
    "dictionary without a run": Command(
        "dictionary train.en train.fr -o counted.tsv", r"counted\.tsv", ("counted.tsv",)
    ),
    "dictionary over a file": Command("dictionary test.en test.fr -o test.en", refused=True),
    "terms": Command("terms train --columns en,fr -o found.tsv", r"found\.tsv", ("found.tsv",)),
    "terms over a file": Command("terms train --columns en,fr -o train.en", refused=True),
    "average": Command(
        "average runs/toy -o runs/toy/mean.safetensors", r"runs/toy/mean\.safetensors", ("runs/toy/mean.safetensors",)
    ),
    "report": Command("report runs/toy runs/edit -o page.html --sentences test.en", r"page\.html"),
    "report with explanations": Command("report runs/toy -o page.html --sentences test.en --explain", r"page\.html"),
    "augment back": Command("augment back runs/toy mono.fr -o back", r"back\.(en|fr)", ("back.en", "back.fr")),
    "augment forward": Command("augment forward runs/toy mono.en -o more", r"more\.(en|fr)", ("more.en", "more.fr")),
    "augment copy": Command(f"augment copy mono.fr -o copy {NAMED}", r"copy\.(en|fr)", ("copy.en", "copy.fr")),
    "augment noise": Command(f"augment noise mono.en mono.fr -o noisy {NAMED}", r"noisy\.(en|fr)", ("noisy.en",)),
    "info": Command("info runs/toy"),
    "features": Command(
        "features pictures -o pictures.npy --model timm:test_vit --weights vit.safetensors",
        r"pictures\.npy",
        ("pictures.npy",),
    ),
    "export": Command("export runs/toy --onnx", r"runs/toy/onnx(/.*)?"),
    "export for CTranslate2": Command("export runs/imported --ctranslate2", r"runs/imported/ctranslate2(/.*)?"),
    "export for Marian": Command(
        "export runs/imported --marian -o out", r"(out|\.out-\w+)(/.*)?", ("out/vocab.yml", "out/decoder.yml")
    ),
    "export for Hugging Face of words": Command("export runs/imported --huggingface -o out", refused=True),
    "push to a name that is none": Command("push runs/toy toy", refused=True),
    "export over a folder": Command("export runs/imported --marian -o mine", refused=True),
    "export over a file": Command("export runs/imported --argos -o test.en", refused=True),
    "demo": Command("demo shown", r"shown(/.*)?"),
    "demo in a folder of others": Command("demo mine", refused=True),
    "demo of what is installed": Command("demo played --installed de", r"played(/.*)?", PLAYED),
    "demo of what is installed in a folder of others": Command("demo mine --installed de", refused=True),
}


def furnish(folder: Path) -> Path:
    """The folder: corpora, a configuration with remarks, two runs with files beside those of training, and a project
    whose names are those of a run (config.yaml, data/header.json).
    """
    toy.corpus(folder, train=80, longest=5)
    toy.write(folder, "test", toy.pairs(6, 3))
    toy.write(folder, "mono", toy.pairs(30, 4))
    for part in ("train", "dev", "test"):
        spoiled = (folder / f"{part}.fr").read_text("utf-8").replace("deux", "trois")
        (folder / f"{part}.mt").write_text(spoiled, "utf-8")
    (folder / "mine.corpus.tsv").write_text("mine\n", "utf-8")
    (folder / "gold").write_text("0-0\n" * 6, "utf-8")
    places = "data: {source: en, target: fr, train: train, dev: dev}\nrun: runs/toy"
    config = toy.CONFIG.replace("data: {source: en, target: fr}", places)
    (folder / "toy.yaml").write_text(f"# Mine, with remarks.\n{config}", "utf-8")
    edits = {"run": "runs/edit", "data.source": "mt", "data.edits": "mt", "text.shared_vocabulary": "true"}
    with chdir(folder):
        for overrides in ({}, {**edits, "training.metric": "loss"}):
            session.train(checks.load_config("toy.yaml", overrides), quiet=True)
    remarks = "# And remarks in the run.\n" + (folder / "runs/toy/config.yaml").read_text("utf-8")
    (folder / "runs/toy/config.yaml").write_text(remarks, "utf-8")
    _judge(folder)
    (folder / "labeled.tsv").write_text("un\ta\ndeux\tb\n", "utf-8")
    (folder / "six").write_text("a\nb\n" * 3, "utf-8")
    kept = Corrections(folder / "kept.sqlite")
    for source, target in toy.pairs(5, 6):
        kept.add(("en", "fr"), Correction(source, target))
    kept.close()
    entries = [(f'msgid "{one}"\nmsgstr "{two}"\n') for one, two in {**dict(toy.pairs(600, 7)), "one two": ""}.items()]
    header = 'msgid ""\nmsgstr "Language: fr\\nContent-Type: text/plain; charset=UTF-8\\n"\n'
    (folder / "of.po").write_text("\n".join([header, *entries]), "utf-8")
    (folder / "fr.po").write_text('msgid "one"\nmsgstr "un"\n\nmsgid "two"\nmsgstr ""\n', encoding="utf-8")
    (folder / "x.md").write_text("# one two\n", encoding="utf-8")
    (folder / "packed.en.gz").write_bytes(gzip.compress((folder / "test.en").read_bytes()))
    (folder / "link.en").symlink_to("test.en")
    for name in ("notes.md", "step-1.txt", ".hidden.part", "checkpoints/step-00000001-mine.safetensors"):
        (folder / "runs/toy" / name).write_text("mine", "utf-8")
    toy.write(folder / "mine/data", "train", toy.pairs(20, 5))
    toy.write(folder / "taken-data", "train", toy.pairs(20, 5))
    catalogues = folder / "share/locale/de/LC_MESSAGES"
    catalogues.mkdir(parents=True)
    for number, (name, count) in enumerate({"one": 60, "two": 30}.items()):
        messages = {(f"{name} {source}", target) for source, target in toy.pairs(count, number)}
        (catalogues / f"{name}.mo").write_bytes(written.mo(sorted(messages)))
    (folder / "terms.tsv").write_text("one\tsix\ntwo\tdeux\n", "utf-8")
    (folder / "names").write_text("three\n", "utf-8")
    test_marian.folder_of(folder / "marian", test_marian.PLAIN)
    imported_run.write(table.read(folder / "marian"), folder / "runs/imported", ("en", "fr"), "")
    _paint(folder)
    (folder / "mine/config.yaml").write_text(f"# Mine, with remarks.\n{config}", "utf-8")
    (folder / "mine/data/header.json").write_text('{"version": 1}', "utf-8")
    return folder


def _judge(folder: Path) -> None:
    """The key of a page, and what an annotator saved on it."""
    key = blinding.blind(["one"], {"mt": ["un"]}, ["fluency"], [], sentences=None, seed=1)
    (folder / "mine.key.json").write_text(key.model_dump_json(), "utf-8")
    judgments = {item.id: {output.id: {"fluency": 5} for output in item.outputs} for item in key.items}
    saved = {"version": 1, "page": key.page, "annotator": "Anna", "judgments": judgments}
    (folder / "anna.json").write_text(json.dumps(saved), "utf-8")


def _paint(folder: Path) -> None:
    """Pictures, and a small network that was never trained. Without the extra `images` there are none."""
    if find_spec("timm") is None:
        return
    from PIL import Image
    from safetensors.torch import save_file

    operators = stand_in_operators()
    import timm

    (folder / "pictures").mkdir()
    for number, color in enumerate(("red", "green", "blue")):
        Image.new("RGB", (200 + number, 180), color).save(folder / f"pictures/{number}.png")
    save_file(timm.create_model("test_vit").state_dict(), folder / "vit.safetensors")
    del operators


def lacking() -> dict[str, str]:
    """Commands that cannot run here, and the extra that they lack."""
    extras = {
        "features": "timm",
        "evaluate through another task": "sklearn",
        "export": "onnxscript",
        "export for CTranslate2": "ctranslate2",
        "align without a run": "thot",
        "dictionary without a run": "thot",
    }
    return {name: module for name, module in extras.items() if find_spec(module) is None}


def files(folder: Path) -> dict[str, bytes]:
    """What is in the files below a folder; of a link, where it leads to."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {
        path.relative_to(folder).as_posix(): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in paths
    }


def losses(before: Mapping[str, bytes], folder: Path, writes: str, *, killed: bool) -> list[str]:
    """What a command did to a folder that it must not do. Its own files may change; of those only the weights of a
    validation, and a prepared corpus while it is replaced, may go.
    """
    own, gone, now = re.compile(writes or r"(?!)"), re.compile(GONE), files(folder)
    lost = [f"{name}: gone" for name in before.keys() - now.keys() if not gone.fullmatch(name)]
    changed = (name for name in before.keys() & now.keys() if before[name] != now[name])
    lost += [f"{name}: changed" for name in changed if not own.fullmatch(name)]
    for name in now.keys() - before.keys():
        if HIDDEN.fullmatch(name):
            lost += [] if killed else [f"{name}: left behind"]
        elif not own.fullmatch(name):
            lost.append(f"{name}: new")
    return sorted(lost)


def complaints(end: End, interruption: Interruption, command: Command) -> list[str]:
    """How a command that was interrupted must not end: it obeys the first signal, and says so."""
    usual = int(command.refused)
    match interruption.signals:
        case ():
            fine = {usual, 1}
        case ((act, _), *_) if end.acts < act:  # nothing came: it had less to do after an earlier interruption
            fine = {usual}
        case ((_, signal.SIGKILL), *_):
            fine = {-signal.SIGKILL}
        case ((_, number), *_):
            fine = {128 + number, -number}  # the latter before anything has begun
    faults = [] if end.code in fine else [f"exit status {end.code}: {end.err}"]
    if end.code > 128 and end.err and not re.search("^(interrupted|terminated)", end.err, re.MULTILINE):
        faults.append(f"no word of the signal: {end.err}")
    return faults + (["a traceback: " + end.err] if "Traceback" in end.err else [])


def drawn(generator: random.Random, acts: int, size: int) -> Interruption:
    """Some interruption of a command of so many acts that makes files of at most such a size."""
    first = generator.randint(1, max(1, acts))
    match generator.randrange(5):
        case 0:
            return Interruption(((first, signal.SIGKILL),))
        case 1:
            return Interruption(((first, signal.SIGTERM),))
        case 2:
            return Interruption(((first, signal.SIGINT),))
        case 3:
            return Interruption(((first, signal.SIGINT), (first + generator.randint(0, 5), signal.SIGINT)))
        case _:
            return Interruption(disk=generator.randint(0, max(1, size)))


def stopped_at_the_end(command: Command, end: End, now: dict[str, bytes], whole: dict[str, bytes]) -> bool:
    """Whether the command refuses to replace what it had written, to the last byte, when it was interrupted."""
    written = bool(command.same) and all(now.get(path) == whole[path] for path in command.same)
    return written and end.code == 1 and "exists already" in end.err


def stopped_half_way(name: str, end: End, killed: bool) -> bool:
    """Whether a command is right to refuse what it left when it was killed, which its user has to remove."""
    return (
        killed
        and end.code == 1
        and name.startswith(("init, ", "augment", "corpus in", "judge make"))
        and "exists already" in end.err
    )


def typed(folder: Path, name: str, interruption: Interruption = NOTHING) -> End:
    """Run a command of the table, on a machine whose programs are those of the folder."""
    return run(folder, shlex.split(COMMANDS[name].words), interruption, variables={"XDG_DATA_DIRS": "share"})
