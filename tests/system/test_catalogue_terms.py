"""`dragoman terms`: a glossary from a catalogue, which `translate --glossary` reads."""

from tests.system.conftest import Shell

CATALOGUE = [("_Layer", "_Ebene"), ("New layer", "Neue Ebene"), ("Hide all layer masks", "Alle Ebenenmasken verbergen")]


def write(shell: Shell) -> None:
    """A catalogue with keyboard accelerators, whose third message is no term."""
    entries = [f'msgid "{source}"\nmsgstr "{target}"\n' for source, target in CATALOGUE]
    shell.write("de.po", "\n".join(['msgid ""\nmsgstr "Language: de\\n"\n', *entries]))


def test_a_catalogue_has_terms(shell: Shell) -> None:
    write(shell)
    outcome = shell("terms", "de.po")
    assert (outcome.code, outcome.lines) == (0, ["source\ttarget", "layer\tEbene"])
    assert outcome.err == "1 term; 0 others are often translated in another way\n"


def test_a_glossary_of_terms_is_read(trained: Shell) -> None:
    trained.write("short.en", "one\nthree one\n")
    trained.write("short.fr", "un\nun trois\n")
    assert trained("terms", "short", "--columns=en,fr", "--min-count=1", "-o", "terms.tsv").code == 0
    outcome = trained("translate", "runs/toy", "--glossary", "terms.tsv", stdin="two one\n")
    assert (outcome.code, "un" in outcome.out.split()) == (0, True)


def test_without_a_term_nothing_is_written(shell: Shell) -> None:
    write(shell)
    assert shell.fails("terms", "de.po", "-o", "terms.tsv", "--min-count=3") == (
        "no term passes --min-count and --min-share"
    )
    assert not (shell.folder / "terms.tsv").exists()
