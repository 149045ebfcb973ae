"""The changelog check accepts what Keep a Changelog shows and names what is missing."""

import pytest

from tools.check_changelog import main, problems

UNRELEASED = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n"
RELEASE = "\n## [0.9.0] - 2026-01-31\n\n- The first.\n"


@pytest.mark.parametrize(
    ("changelog", "version"),
    [
        (UNRELEASED, "0.1.0"),  # being prepared, nothing released yet
        (UNRELEASED + RELEASE, "0.10.0"),  # being prepared after a release
        (UNRELEASED + RELEASE, "0.10.0.dev0"),  # which says so itself
        (UNRELEASED + RELEASE, "0.9.0"),
        ("## [Unreleased]\n" + RELEASE, "0.9.0"),  # just released
    ],
)
def test_a_sound_changelog_has_no_problems(changelog: str, version: str) -> None:
    assert problems(changelog, version) == []


@pytest.mark.parametrize(
    ("changelog", "version", "message"),
    [
        ("", "0.1.0", "first section"),
        (UNRELEASED + RELEASE, "0.10.0rc1", "version 0.10.0rc1 of pyproject.toml must read like 1.2.3"),
        (UNRELEASED + "\n## [0.2.0rc1] - 2026-01-31\n", "0.2.0", "must read like '## [1.2.3] - 2026-01-31'"),
        (RELEASE, "0.9.0", "first section"),
        ("## [Unreleased]\n", "0.1.0", "Unreleased is empty"),
        ("## [Unreleased]\n" + RELEASE, "0.10.0", "Unreleased is empty"),
        (UNRELEASED + RELEASE, "0.8.0", "0.9.0 is newer"),
        (UNRELEASED + RELEASE, "0.9.0.dev0", "0.9.0 is newer"),
        (UNRELEASED + "\n## [0.9.0]\n", "0.9.0", "must read like"),
        (UNRELEASED + RELEASE + RELEASE, "0.9.0", "each version once"),
        (UNRELEASED + RELEASE + "\n## [0.10.0] - 2026-02-01\n\n- More.\n", "0.10.0", "newest version comes first"),
        (UNRELEASED + "\n## [0.10.0] - 2026-01-30\n\n- More.\n" + RELEASE, "0.10.0", "an older date"),
        (UNRELEASED + "\n## 0.9.0 - 2026-01-31\n\n- The first.\n", "0.9.0", "'## 0.9.0 - 2026-01-31' must read like"),
        (UNRELEASED + "\n## [0.9.0] - 2026-13-31\n\n- The first.\n", "0.9.0", "must read like"),
        (UNRELEASED + "\n## [0.9.0] - 2026-01-31\n", "0.9.0", "'## [0.9.0]' tells nothing"),
        ("## [Unreleased]\n\n### Added\n", "0.1.0", "Unreleased is empty"),
    ],
)
def test_each_fault_is_told(changelog: str, version: str, message: str) -> None:
    (problem,) = problems(changelog, version)
    assert message in problem


def test_the_changelog_of_this_repository_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert "CHANGELOG.md: tells version" in capsys.readouterr().out
