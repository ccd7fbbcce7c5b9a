"""What is fetched from elsewhere is pinned to the byte."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kits.jars import check

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_EXTRAS = _PROJECT["optional-dependencies"]
_IMAGE = [*_PROJECT["dependencies"], *_EXTRAS["kubernetes"]]


def _locked(name: str) -> dict[str, int]:
    """A lock's packages with their versions, and how many hashes each has."""
    text = (_ROOT / name).read_text("utf-8")
    found = re.findall(r"^([\w.-]+==[^ ;]+)(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL)
    return {package: rest.count("--hash=sha256:") for package, rest in found}


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [("requirements.txt", _IMAGE), ("requirements-dev.txt", [*_IMAGE, *_EXTRAS["dev"]])],
)
def test_locks_are_of_this_project(lock: str, wanted: list[str]) -> None:
    locked = _locked(lock)
    assert all(locked.values())
    names = {package.partition("==")[0] for package in locked}
    for each in wanted:
        name, _, version = re.sub(r"\[.*?\]", "", each).lower().partition("==")
        assert f"{name}=={version}" in locked if version else name in names, f"{each}: make locks"


def test_the_image_has_what_tests_have() -> None:
    assert _locked("requirements.txt").items() <= _locked("requirements-dev.txt").items()


def test_base_images_have_digests() -> None:
    for path in (_ROOT / "k8s" / "images").glob("*/Dockerfile"):
        text = path.read_text("utf-8")
        stages = set(re.findall(r"^FROM \S+ AS (\S+)", text, re.MULTILINE))
        for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
            assert base in stages or re.search(r"@sha256:[0-9a-f]{64}$", base), f"{path}: {base}"


def test_a_jar_that_nobody_knows(tmp_path: Path) -> None:
    jar = tmp_path / "kafka-clients-4.3.0.jar"
    jar.write_bytes(b"another")
    with pytest.raises(RuntimeError, match=r"kafka-clients-4\.3\.0\.jar is not what tests know"):
        check([jar])
