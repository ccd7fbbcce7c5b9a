"""Documents that tell when a byte of them was changed, and which release can read them (S16).

    {…, "format": 1, "reads": 1, "tidegate": "0.2.0", "sha256": "…"}

The checksum is that of all bytes before it. ``format`` counts the forms that documents had, and
``reads`` is the lowest format whose releases can read this one: these pass over what they do not
know. Documents of 0.1 have neither.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from tidegate.codec import encode
from tidegate.errors import RESTORE, TrustError
from tidegate.store.base import Store
from tidegate.version import __version__

FORMAT: Final = 1
READS: Final = 1
_KEYS: Final = ("format", "reads", "tidegate")
_SEAL: Final = re.compile(rb',"sha256":"([0-9a-f]{64})"\}')


class NewerFormatError(TrustError):
    """A document that only a later release can read."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sealed(value: object, **further: str) -> bytes:
    """The document of ``value``, an object, with ``further`` fields in it."""
    envelope = {**further, "format": FORMAT, "reads": READS, "tidegate": __version__}
    document = {**envelope, **json.loads(encode(value))}
    body = encode(document)[:-1]
    return body + b',"sha256":"' + digest(body).encode() + b'"}'


def opened(data: bytes, name: str) -> tuple[dict[str, Any], bool]:
    """The document, without its seal and versions; and whether it may have unknown fields.

    Raises ValueError when it was changed, `NewerFormatError`, with its ``name``, for one that this
    release cannot read.
    """
    seal = _SEAL.search(data, max(0, len(data) - 100))
    if seal is None or seal.end() != len(data):
        document = _object(data)
        if document.keys() & {*_KEYS[:2], "sha256"}:
            raise ValueError("it was cut or changed after it was written")
        return document, False
    body = data[: seal.start()]
    if digest(body).encode() != seal[1]:
        raise ValueError("it was changed after it was written: its checksum is another")
    document = _object(body + b"}")
    format_, reads = document.pop("format"), document.pop("reads")
    if reads > FORMAT:
        raise NewerFormatError(
            f"{name} was written by tidegate {document['tidegate']}, which is newer",
            hint=f"run tidegate {document['tidegate']}, or a later one",
        )
    return document, format_ > FORMAT


def read_sealed(store: Store, name: str) -> dict[str, Any]:
    """What ``name`` has. Raises FileNotFoundError, and TrustError when it was changed."""
    try:
        document, _ = opened(store.read(name), store.where(name))
    except (ValueError, RecursionError) as error:
        raise corrupt(store.where(name)) from error
    document.pop("tidegate", None)
    return document


def corrupt(where: str) -> TrustError:
    """The error of a document at ``where`` that is not what was written."""
    return TrustError(
        f"the checkpoint is corrupt: {where} cannot be read",
        detail="it was cut or changed after it was written",
        hint=RESTORE,
    )


def _object(data: bytes) -> dict[str, Any]:
    document = json.loads(data)
    if not isinstance(document, Mapping):
        raise ValueError("it is no object")
    return dict(document)
