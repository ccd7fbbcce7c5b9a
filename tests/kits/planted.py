"""Secrets that are planted, each another one, and where any of them has come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_MARK: Final = "planted-{}-sesame"


def planted(*names: str) -> dict[str, str]:
    """A secret for each name, that no other text has in it."""
    return {name: _MARK.format(name.lower().replace("_", "-")) for name in names}


def leaks(secrets: Mapping[str, str], texts: Iterable[str], *places: Path) -> list[str]:
    """Which of ``secrets`` are in ``texts``, or in a file below ``places``; by their names."""
    found = [f"{name}: said: {text}" for text in texts for name, mark in _in(secrets, text)]
    for place in places:
        for path in sorted(place.rglob("*")):
            data = path.read_bytes().decode("latin-1") if path.is_file() else ""
            found += [f"{name}: kept in {path}" for name, _ in _in(secrets, data)]
    return found


def _in(secrets: Mapping[str, str], text: str) -> list[tuple[str, str]]:
    return [(name, secret) for name, secret in secrets.items() if secret in text]
