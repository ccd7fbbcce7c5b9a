"""What the operator lets jobs do: from the environment of the process alone, whatever SQL says.

    TIDEGATE_ALLOW_PYTHON       true or false: CREATE FUNCTION, and options that run code
    TIDEGATE_ALLOW_SPARK        names of settings, such as spark.executor.*
    TIDEGATE_ALLOW_PROPERTIES   names of options that go to a client as they are: properties.sasl.*
    TIDEGATE_ALLOW_PATHS        places of files: /data/in, s3://bucket/in
    TIDEGATE_ALLOW_ENV          names of variables that ``${env:NAME}`` may mean

A list has commas in it; of names, with ``*`` and ``?``. Without a variable all is allowed; an empty
list allows nothing. What is refused is an OptionsError, which says what is allowed.

A path lies in a place when all ways to read it do: ``..`` and links are resolved first, percent
codes are read and left as they are, ``s3a://`` is ``s3://``, and a place ends at a slash. What
cannot be resolved, such as ``..`` behind a wildcard, lies nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import unquote

from tidegate.errors import OptionsError

PYTHON: Final = "TIDEGATE_ALLOW_PYTHON"
SPARK: Final = "TIDEGATE_ALLOW_SPARK"
PROPERTIES: Final = "TIDEGATE_ALLOW_PROPERTIES"
PATHS: Final = "TIDEGATE_ALLOW_PATHS"
ENV: Final = "TIDEGATE_ALLOW_ENV"

WITHOUT_CODE: Final = (
    *("spark.driver.memory", "spark.driver.memoryOverhead", "spark.driver.cores"),
    *("spark.executor.memory", "spark.executor.memoryOverhead", "spark.executor.cores"),
    *("spark.executor.instances", "spark.cores.max", "spark.log.level", "spark.network.timeout"),
    *("spark.locality.wait*", "spark.shuffle.io.*", "spark.sql.shuffle.partitions"),
    *("spark.sql.streaming.minBatchesToRetain", "spark.sql.streaming.stateStore.rocksdb.*"),
)
"""The settings of Spark where Python is off and no list says others: many of the rest run what they
name (jars, Java's options, Python's own)."""

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_WILDCARD: Final = re.compile(r"[*?\[]")
_SAME: Final = {"s3a": "s3", "s3n": "s3"}

Steps = tuple[str, ...]
"""A place, from what holds it (empty: this machine) down to a name."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is allowed; None: all. See the module."""

    python: bool = True
    spark: tuple[str, ...] | None = None
    properties: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    variables: tuple[str, ...] | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Policy:
        """Raises OptionsError where it cannot be understood: it is never taken for none."""
        said = environment.get(PYTHON, "true").strip().lower()
        if said not in ("true", "false"):
            raise OptionsError(f"{PYTHON} is '{said}'", hint="write true or false")
        spark, properties, paths, variables = (
            _list(environment, name) for name in (SPARK, PROPERTIES, PATHS, ENV)
        )
        for path in paths or ():
            is_whole = path.startswith("/") or _URI.fullmatch(path)
            if not is_whole or _WILDCARD.search(path) or not _readings(path):
                raise OptionsError(
                    f"{PATHS}: '{path}' is no place",
                    hint="write a path from / on, or a URI; all that is below it is allowed",
                )
        if spark is None and said == "false":
            spark = WITHOUT_CODE
        return cls(said == "true", spark, properties, paths, variables)

    def check_code(self, what: str) -> None:
        """Raises OptionsError for ``what``, which runs code of the job's, where none may."""
        if not self.python:
            raise OptionsError(
                f"{what} is not allowed here: the operator has turned code of jobs off",
                hint=f"write it in SQL, or ask for {PYTHON}=true",
            )

    def check_spark(self, name: str) -> None:
        """Raises OptionsError for a setting of Spark's that is not allowed."""
        _check_name(f"setting '{name}'", name, self.spark, SPARK)

    def check_property(self, name: str) -> None:
        """Raises OptionsError for an option for a client that is not allowed."""
        _check_name(f"option '{name}'", name, self.properties, PROPERTIES)

    def check_variable(self, name: str) -> None:
        """Raises OptionsError for a variable that no reference may name."""
        _check_name(f"${{env:{name}}}", name, self.variables, ENV)

    def check_path(self, what: str, path: str) -> None:
        """Raises OptionsError when ``path``, which is called ``what``, lies in none of the places.

        ``path`` itself is not told: what a reference stands for may be a secret.
        """
        if self.paths is None:
            return
        places = [steps for place in self.paths for steps in _readings(place)]
        meant = _readings(path)
        if not meant or not all(any(_lies_in(each, p) for p in places) for each in meant):
            raise OptionsError(
                f"{what} is not in a place that the operator allows",
                hint=_known(self.paths, PATHS),
            )


def policy() -> Policy:
    """That of this process. Raises OptionsError as `Policy.of`."""
    return Policy.of(os.environ)


def _list(environment: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    text = environment.get(name)
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _check_name(what: str, name: str, allowed: tuple[str, ...] | None, variable: str) -> None:
    if allowed is None or any(fnmatchcase(name, pattern) for pattern in allowed):
        return
    raise OptionsError(
        f"{what} is not one that the operator allows", hint=_known(allowed, variable)
    )


def _known(allowed: tuple[str, ...], variable: str) -> str:
    return f"allowed: {', '.join(allowed) or 'none'} ({variable})"


def _readings(path: str) -> set[Steps]:
    """Each place that ``path`` may mean, to whoever opens it; empty where that is not known."""
    try:
        if "://" not in path:
            return set(_local(path))
        found = _URI.fullmatch(path)
        if found is None or "#" in path:  # some end there, others don't
            return set()
        scheme = _SAME.get(found[1].lower(), found[1].lower())
        texts = (found[2], unquote(found[2]))
        ways = [_file(each) if scheme == "file" else _remote(scheme, each) for each in texts]
        return {steps for way in ways for steps in way}
    except (_NowhereError, ValueError, OSError):
        return set()


class _NowhereError(Exception):
    """One way to read a path leads to no place."""


def _file(rest: str) -> list[Steps]:
    if not rest.startswith("/"):  # of another host
        raise _NowhereError
    return _local(rest)


def _local(path: str) -> list[Steps]:
    """Of links and ``..`` the system takes first what comes first; others take ``..`` as text. A
    name may also have a wildcard in it."""
    steps = path.split("/")
    wild = next((at for at, step in enumerate(steps) if _WILDCARD.search(step)), len(steps))
    fixed, rest = "/".join(steps[:wild]) or ("/" if path.startswith("/") else "."), steps[wild:]
    if ".." in rest:
        raise _NowhereError
    bases = os.path.realpath(fixed), os.path.realpath(os.path.normpath(fixed))
    ways = [os.path.realpath(path), *("/".join((base, *rest)) for base in bases)]
    return [("", *(step for step in way.split("/") if step not in ("", "."))) for way in ways]


def _remote(scheme: str, rest: str) -> list[Steps]:
    """A query says where the host is, or how it is asked: it is a part of what holds the place."""
    head, mark, query = rest.partition("?")
    if "=" not in query:  # a wildcard
        head, mark, query = rest, "", ""
    holder, _, inner = head.partition("/")
    steps = inner.rstrip("/").split("/") if inner.rstrip("/") else []
    if not holder or {".", ".."} & set(steps):
        raise _NowhereError
    return [(f"{scheme}://{holder}{mark}{query}", *steps)]


def _lies_in(steps: Steps, place: Steps) -> bool:
    return steps[: len(place)] == place
