"""The first configuration: which files, which sizes."""

import gzip
import random
from pathlib import Path

import pytest

from dragoman import initialise
from dragoman.data.corpus import read_pairs
from dragoman.errors import UserError
from dragoman.initialise import Corpus, Sample, choose, languages, look
from dragoman.training import session

CORPUS = Corpus("train", "dev", "en", "fr")


def write(prefix: Path, sources: list[str], targets: list[str], suffixes: tuple[str, str] = ("en", "fr")) -> None:
    for suffix, lines in zip(suffixes, (sources, targets), strict=True):
        Path(f"{prefix}.{suffix}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def sample(pairs: int = 10_000, shared: float = 0.9, tokenised: bool = False, longest: int = 20) -> Sample:
    return Sample(pairs, 10.0, longest, 8_000, 90, shared, tokenised)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a/train.en", "a/train.fr", (("en", "fr"), "a/train")),
        ("train.en.gz", "train.fr", (("en", "fr"), "train")),
        ("x.lc.en", "x.lc.fr", (("en", "fr"), "x.lc")),
        ("a/train.en", "b/train.fr", (("en", "fr"), "")),
        ("english.txt", "french.txt", (("english", "french"), "")),
        ("english", "french", (("english", "french"), "")),
        ("pairs.tsv", None, (("source", "target"), "pairs.tsv")),
        ("pairs.tsv.gz", None, (("source", "target"), "pairs.tsv.gz")),
    ],
)
def test_languages_are_read_from_names(source: str, target: str | None, expected: object) -> None:
    assert languages(Path(source), Path(target) if target else None) == expected


def test_files_of_one_name_do_not_tell_their_languages() -> None:
    with pytest.raises(UserError, match=r"a/x.txt and b/x.txt: which languages\?"):
        languages(Path("a/x.txt"), Path("b/x.txt"))


@pytest.mark.parametrize("dev", ["dev", "valid", "corpus.dev"])
def test_development_pairs_beside_the_files_are_found(dev: str, tmp_path: Path) -> None:
    train = "corpus.train" if dev.startswith("corpus") else "corpus"
    for name in (train, dev):
        write(tmp_path / name, ["one two"] * 30, ["un deux"] * 30)
    config = tmp_path / "c.yaml"
    told = initialise.initialise(tmp_path / f"{train}.en", tmp_path / f"{train}.fr", config, None)
    assert told[1] == f"training pairs: {tmp_path / train}; development pairs: {tmp_path / dev}"
    data = session.load_config(config).data
    assert (data.train, data.dev) == ((str(tmp_path / train),), str(tmp_path / dev))
    assert not (tmp_path / "c-data").exists()


def test_without_any_some_pairs_are_set_aside(tmp_path: Path) -> None:
    generator = random.Random(1)
    sources = [f"number {generator.randrange(150)}" for _ in range(400)]
    with gzip.open(tmp_path / "all.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{source}\t{source} too {number}\n" for number, source in enumerate(sources))
    config = tmp_path / "c.yaml"
    told = initialise.initialise(tmp_path / "all.tsv.gz", None, config, None)
    data = session.load_config(config).data
    train, dev = (list(read_pairs(where, data.source, data.target)) for where in (data.train[0], data.dev))
    assert data.dev == str(tmp_path / "c-data" / "dev")
    assert told[1].endswith(f": {len(dev)} pairs set aside in {data.dev}")
    assert len(train) + len(dev) == 400
    assert 5 <= len(dev) <= 40
    assert not {pair.source for pair in train} & {pair.source for pair in dev}
    assert [pair.source for pair in train] == [s for s in sources if s in {pair.source for pair in train}]


def test_given_development_pairs_are_taken(tmp_path: Path) -> None:
    for folder, suffix in (("a", "en"), ("b", "fr")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"train.{suffix}").write_text("one\n" * 30, encoding="utf-8")
    write(tmp_path / "mine", ["one"], ["un"])
    config, dev = tmp_path / "c.yaml", str(tmp_path / "mine")
    told = initialise.initialise(tmp_path / "a" / "train.en", tmp_path / "b" / "train.fr", config, dev)
    assert told[1] == f"30 pairs copied to {tmp_path / 'c-data' / 'train'}; development pairs: {dev}"
    assert session.load_config(config).data.dev == dev


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "x", ["one"], ["un"])
    config = tmp_path / "c.yaml"
    with pytest.raises(UserError, match="too few pairs to set some aside"):
        initialise.initialise(tmp_path / "x.en", tmp_path / "x.fr", config, None)
    with pytest.raises(UserError, match=r"nothing.en: no such file"):
        initialise.initialise(tmp_path / "x.en", tmp_path / "x.fr", config, str(tmp_path / "nothing"))
    assert {path.name for path in tmp_path.iterdir()} == {"x.en", "x.fr"}


def test_looking_tells_natural_text_from_tokenised_and_one_alphabet_from_two(tmp_path: Path) -> None:
    write(tmp_path / "natural", ["The cat, it sleeps."] * 9, ["Le chat, il dort."] * 9)
    write(tmp_path / "apart", ["the cat , it sleeps ."] * 9, ["\u043a\u043e\u0442 \u0441\u043f\u0438\u0442 ."] * 9)
    natural, apart = (look(Corpus(str(tmp_path / name), "dev", "en", "fr")) for name in ("natural", "apart"))
    assert (natural.tokenised, apart.tokenised) == (False, True)
    assert natural.shared > 0.6
    assert apart.shared < 0.2
    assert (natural.pairs, natural.words, natural.longest) == (9, 6.0, 6)
    assert str(natural).startswith("9 pairs of natural text, 6.0 words a sentence, 99 % of them up to 6; 10 different")


def test_sizes_grow_with_the_corpus() -> None:
    chosen = [
        choose(CORPUS, sample(pairs)._replace(distinct=10**6), "r") for pairs in (10**3, 10**4, 10**5, 10**6, 10**7)
    ]
    for key in ("encoder", "decoder"):
        sizes = [getattr(config.model, key).options["size"] for config in chosen]
        assert sizes == sorted(sizes)
    symbols = [config.text.source.unit.options["size"] for config in chosen]
    assert symbols == sorted(set(symbols))
    assert chosen[0].training.validate_every is None
    assert chosen[-1].training.validate_every == 2_000


def test_what_was_seen_decides_the_rest() -> None:
    plain, other = choose(CORPUS, sample(), "r"), choose(CORPUS, sample(shared=0.1, tokenised=True, longest=200), "r")
    assert plain.text.joint
    assert plain.model.embedding.tie == "all"
    assert not other.text.joint
    assert other.model.embedding.tie == "output"
    assert other.text.source.tokeniser == "whitespace"
    assert other.metrics[0].options == {"tokenise": "none"}
    assert (plain.data.max_length, other.data.max_length) == (100, 350)
    few = choose(CORPUS, sample()._replace(distinct=100), "r").text.source.unit.options["size"]
    assert few == 256 + 90 + 50
