"""Development pairs that the training data have, too."""

from pathlib import Path

from dragoman.corpus.statistics import describe_repeats


def write(folder: Path, name: str, pairs: list[tuple[str, ...]], names: str = "en de") -> str:
    for suffix, lines in zip(names.split(), zip(*pairs, strict=True), strict=True):
        (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder / name)


def test_pairs_and_sources_that_are_trained_on_are_counted(tmp_path: Path) -> None:
    one = write(tmp_path, "one", [("a cat", "eine Katze"), ("a dog", "ein Hund"), ("a dog", "der Hund")])
    two = write(tmp_path, "two", [("a cat", "die Katze"), ("", "leer"), ("u\u0308ben", "practise\t"), ("x", "")])
    dev = write(
        tmp_path,
        "dev",
        [
            ("a cat", "die Katze"),
            (" a dog", "irgendein Hund"),
            ("", "leer"),  # is left out, as is any pair with an empty side
            ("x", ""),
            ("a bird", "eine Katze"),
            ("\u00fcben", "practise"),
            ("a dog", "der Hund"),
        ],
    )
    findings = describe_repeats(dev, [one, two], "en", "de")
    assert list(map(str, findings)) == [
        "pair also in the training data: 3 (line 1, 6, 7)",
        "source in the training data with another target: 1 (line 2)",
    ]
    assert describe_repeats(dev, write(tmp_path, "other", [("a tree", "ein Baum")]), "en", "de") == []


def test_of_several_sources_one_is_compared(tmp_path: Path) -> None:
    train = write(tmp_path, "train", [("a", "b", "c")], "src mt pe")
    dev = write(tmp_path, "dev", [("a", "x", "c")], "src mt pe")
    both = "src", "mt"
    assert [finding.name for finding in describe_repeats(dev, train, "src", "pe", sources=both)] == [
        "pair also in the training data"
    ]
    assert describe_repeats(dev, train, "mt", "pe", sources=both) == []
