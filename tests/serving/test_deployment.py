"""The container file and the systemd unit in `deploy/`."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli import app
from dragoman.serving.server import GRACE, LAST

INSTRUCTIONS = "FROM WORKDIR RUN ARG COPY ENV USER EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT".split()


@pytest.fixture(scope="module")
def steps(repository: Path) -> list[tuple[str, str]]:
    """The instructions of the container file with what they say, a line each."""
    text = (repository / "deploy" / "Containerfile").read_text("utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


@pytest.fixture(scope="module")
def unit(repository: Path) -> ConfigParser:
    parser = ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string((repository / "deploy" / "dragoman.service").read_text("utf-8"))
    return parser


def options(words: list[str]) -> set[str]:
    """The options of `serve` among some words."""
    return {word for word in words if word.startswith("--")}


def manifest() -> dict[str, Any]:
    """The options of `serve`, with their defaults."""
    from typer.main import get_command

    serve = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    return {name: parameter.default for parameter in serve.params for name in parameter.opts}


def test_the_container_file_has_stages_and_ends_without_root(steps: list[tuple[str, str]], repository: Path) -> None:
    assert {name for name, _ in steps} <= set(INSTRUCTIONS)
    images = [rest.split()[0] for name, rest in steps if name == "FROM"]
    assert len(images) == 2
    assert all(re.fullmatch(r"python:3\.\d+-slim", image) for image in images)
    last = steps[max(number for number, (name, _) in enumerate(steps) if name == "FROM") :]
    user = next(rest for name, rest in last if name == "USER")
    assert int(user) >= 1_000
    assert [name for name, rest in last if name == "COPY" and "--from=build" not in rest] == []
    names = [name for name, _ in last]
    assert names.index("USER") < names.index("ENTRYPOINT")
    copied = [path for name, rest in steps if name == "COPY" and "--from" not in rest for path in rest.split()[:-1]]
    assert copied
    assert [path for path in copied if not (repository / path).exists()] == []
    assert all("--no-cache-dir" in rest for name, rest in steps if name == "RUN" and "pip install" in rest)


def test_a_builder_is_sent_what_the_container_file_copies_and_nothing_else(
    steps: list[tuple[str, str]], repository: Path
) -> None:
    """podman reads .containerignore, docker .dockerignore."""
    everything, *lines = (repository / ".containerignore").read_text("utf-8").splitlines()[1:]
    assert (everything, lines.pop()) == ("*", "**/__pycache__")
    copied = [path for name, rest in steps if name == "COPY" and "--from" not in rest for path in rest.split()[:-1]]
    assert sorted(lines) == sorted(f"!{path}" for path in copied)
    assert (repository / ".dockerignore").read_text("utf-8") == (repository / ".containerignore").read_text("utf-8")


def test_the_container_starts_a_server_and_asks_for_its_health(steps: list[tuple[str, str]]) -> None:
    instructions = dict(steps)
    words = json.loads(instructions["ENTRYPOINT"])
    assert words[:2] == ["dragoman", "serve"]
    assert options(words) <= manifest().keys()
    command = json.loads(instructions["HEALTHCHECK"].partition("CMD ")[2])
    compile(command[-1], "HEALTHCHECK", "exec")
    assert f":{instructions['EXPOSE']}/health" in command[-1]


def test_the_unit_is_sound(unit: ConfigParser) -> None:
    service = unit["Service"]
    words = service["ExecStart"].split()
    assert words[1] == "serve"
    assert options(words) <= manifest().keys()
    assert service["ExecReload"].endswith("-HUP $MAINPID")
    assert service["SuccessExitStatus"] == str(128 + signal.SIGTERM)
    assert int(service["TimeoutStopSec"]) > GRACE
    assert service["DynamicUser"] == service["NoNewPrivileges"] == service["PrivateTmp"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert int(service["LimitNOFILE"]) >= 2 * int(manifest()["--connections"])
    assert service["CapabilityBoundingSet"] == ""


def test_the_seconds_that_a_stop_takes_are_documented(repository: Path) -> None:
    text = (repository / "docs" / "serve.md").read_text("utf-8")
    assert f"those that are not done after {GRACE - LAST} seconds are answered with 503" in text


def test_the_example_for_nginx_shows_nobody_else_the_measures(repository: Path) -> None:
    (example,) = re.findall(
        r"```\n(client_header_timeout .*?)```", (repository / "docs" / "serve.md").read_text("utf-8"), re.DOTALL
    )
    assert "location = /metrics { deny all; }" in example


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(repository: Path, tmp_path: Path) -> None:
    text = (repository / "deploy" / "dragoman.service").read_text("utf-8")
    path = tmp_path / "dragoman.service"
    path.write_text(text.replace("/opt/dragoman/bin/dragoman", sys.executable), "utf-8")
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
    faults = [line for line in done.stderr.splitlines() if str(path.name) in line]
    assert (done.returncode, faults) == (0, []), done.stderr
    spoiled = tmp_path / "spoiled.service"
    spoiled.write_text(path.read_text("utf-8").replace("ProtectSystem=strict", "ProtectSystm=strict"), "utf-8")
    verified = subprocess.run(["systemd-analyze", "verify", spoiled], capture_output=True, text=True, check=False)
    assert "ProtectSystm" in verified.stderr


READ_ONLY = """mount -t tmpfs tmpfs "$TMPDIR" && mount -o bind,ro,remount / || exit 77
touch "$1/x" 2>/dev/null && exit 77
exec "$0" -m dragoman serve "$1" --port 0 --threads 1"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_read_only_root_with_a_folder_for_temporary_files_is_enough(run: Path, tmp_path: Path) -> None:
    """As podman's --read-only --tmpfs /tmp, in a namespace of mounts."""
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, sys.executable, str(run)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        address = re.search(r"http://[\d.:]+", server.stderr.readline())
        if address is None and server.wait(30) in (1, 77):
            pytest.skip("a root that is read-only cannot be had here")
        assert address is not None
        body = json.dumps({"q": "one two", "source": "en", "target": "fr"}).encode()
        request = urllib.request.Request(f"{address[0]}/translate", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer) == {"translatedText": "deux un"}
        server.send_signal(signal.SIGTERM)
        assert "Traceback" not in server.stderr.read()
    assert server.returncode == 143
    assert not list(tmp_path.iterdir())
