from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.spark.launch import nursery as module
from tidegate.spark.launch.nursery import start_nursery

PYTHON = str(Path(module.__file__).with_name("python"))
ASKED = """
import os, sys
print(sys.argv[1:], os.environ.get("GIVEN"), os.getcwd(), sys.stdin.read(), flush=True)
print("is said", file=sys.stderr)
what = sys.argv[1]
if what == "dies":
    os.kill(os.getpid(), 9)
if what == "raises":
    raise ValueError(what)
if what == "waits":
    import time
    time.sleep(600)
sys.exit(7 if what == "fails" else None)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("n")
    (directory / "asked.py").write_text(ASKED)
    with jvm() as process, start_nursery(str(directory / "nursery"), process.pid):
        wait_for(directory / "nursery")
        yield directory
        process.kill()


def wait_for(socket: Path) -> None:
    deadline = time.monotonic() + 60
    while not socket.is_socket():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def jvm() -> subprocess.Popen[bytes]:
    """Whose Python processes they are."""
    return subprocess.Popen(["sleep", "600"])


def start(place: Path, *words: str, socket: str = "nursery") -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"/nowhere/pyspark.zip:{place}",
        "TIDEGATE_PYTHON": sys.executable,
        "TIDEGATE_NURSERY": str(place / socket),
        "GIVEN": "a=b\nc",
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [PYTHON, "-m", "asked", *words],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment,
        cwd=place,
    )


def of_nursery(place: Path) -> list[int]:
    """The forks that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with_parent = path.read_text(errors="replace").rpartition(")")[2].split()
        words = Path(path.parent, "cmdline").read_bytes().split(b"\0")
        if str(place / "nursery").encode() in words and int(with_parent[1]) != os.getpid():
            found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize(("word", "code"), [("ends", 0), ("fails", 7), ("dies", -9), ("raises", 1)])
def test_a_fork_is_what_python_would_have_been(place: Path, word: str, code: int) -> None:
    process = start(place, word, "a b", "*")
    out, err = process.communicate("is read", timeout=60)
    assert process.returncode == code
    assert out.strip() == f"['{word}', 'a b', '*'] a=b\nc {place} is read"
    assert err.startswith("is said\n")
    assert ("ValueError: raises" in err) is (word == "raises")


def test_it_is_a_fork(place: Path) -> None:
    process = start(place, "waits")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    assert process.stdout.readline().startswith("['waits']")
    (fork,) = of_nursery(place)
    assert fork != process.pid
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while of_nursery(place):
        assert time.monotonic() < deadline, "what stood for it was killed, and it lives"
        time.sleep(0.02)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def test_without_a_nursery_python_starts(place: Path) -> None:
    process = start(place, "fails", socket="nobody")
    assert process.communicate("", timeout=60)[0].startswith("['fails']")
    assert process.returncode == 7


def test_it_ends_with_the_jvm_and_its_forks_with_it(place: Path) -> None:
    socket = place / "another"
    with jvm() as parent, start_nursery(str(socket), parent.pid) as nursery:
        wait_for(socket)
        with start(place, "waits", socket="another") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            assert process.stdout.readline().startswith("['waits']")
            nursery.send_signal(signal.SIGINT)  # a terminal's, which is for the driver
            assert nursery.poll() is None
            parent.kill()
            assert nursery.wait(60) == 0
            process.wait(60)
