"""A bucket of S3, or of what speaks like it (MinIO).

Endpoint, region and credentials come from the environment: ``AWS_ENDPOINT_URL``, ``AWS_REGION``,
``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, or the role of the machine or of the service
account. None of them is ever written or said.

A call is one request when nothing goes wrong (`S3Store.age_s` three, `S3Store.rename` two). A file
is created by a conditional PUT (``If-None-Match: *``): of two drivers that write the same epoch,
the store lets in one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store as Bucket

from tidegate.errors import OptionsError, StoreError, StoreRefusedError
from tidegate.patience import Patience
from tidegate.refusals import is_refused_by_store
from tidegate.store.base import Store

if TYPE_CHECKING:
    from obstore.store import BackoffConfig, S3Config

PATIENCE: Final = Patience(90.0, try_s=15.0, growth=1.0, pause_s=0.1, pause_s_max=2.0)
"""A store that is restarted is there again within half a minute. One that was killed, and whose
address went with it, never hangs up, so a request is tried again; no sooner, since a file must be
sent by then. The client keeps to it."""
_FIRST: Final = replace(PATIENCE, in_all_s=5.0)
"""A store that was never reached is more likely not there."""
_REGION: Final = re.compile(r"[A-Za-z0-9-]+")
_CODE: Final = re.compile(r"<Code>(\w+)</Code>\s*<Message>([^<]*)</Message>")
_NOW: Final = "now"


class S3Store(Store):
    """``prefix`` has no slash at its ends."""

    is_local = False

    def __init__(
        self, bucket: str, prefix: str, client: Any = None, patience: Patience = PATIENCE
    ) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._client = client or _client(bucket, endpoint(), region(), patience)

    @property
    def uri(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def below(self, name: str) -> S3Store:
        return S3Store(self._bucket, self._key(name), self._client)

    def prepare(self) -> None:
        """Looks whether it may be written, and whether the store knows conditional writes: without
        them two drivers would both be let in. There are no directories to make."""
        quick = S3Store(self._bucket, self._prefix, patience=_FIRST)
        name = f"probe-{uuid4().hex}"
        quick.create(name, b"1")
        try:
            quick.create(name, b"2")
        except FileExistsError:
            exclusive = True
        else:
            exclusive = False
        quick.delete([name])
        if not exclusive:
            raise OptionsError(
                f"{self.uri}: the store writes over what must not be written over",
                detail="it ignores If-None-Match, by which of two drivers one is let in",
                hint="keep the checkpoint on Amazon's S3, MinIO, or another store that knows it",
            )

    def read(self, name: str) -> bytes:
        with self._errors("read", name):
            return bytes(obstore.get(self._client, self._key(name)).bytes())

    def exists(self, name: str) -> bool:
        try:
            with self._errors("look for", name):
                obstore.head(self._client, self._key(name))
        except FileNotFoundError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        with self._errors("list", folder):
            found = obstore.list_with_delimiter(self._client, self._key(folder) or None)
            names = [str(each["path"]).rpartition("/")[2] for each in found["objects"]]
        return sorted(name for name in names if not name.startswith("."))

    def create(self, name: str, data: bytes) -> None:
        try:
            with self._errors("write", name):
                obstore.put(self._client, self._key(name), data, mode="create")
        except AlreadyExistsError as error:
            # An answer that is lost makes the client ask again, and find what it has written.
            if self.read(name) != data:
                raise FileExistsError(self.where(name)) from error

    def write(self, name: str, data: bytes) -> None:
        with self._errors("write", name):
            obstore.put(self._client, self._key(name), data)

    def age_s(self, name: str, now_us: int) -> float:
        """By the store's own clock, which need not be that of this machine."""
        del now_us
        self.write(_NOW, b"")
        with self._errors("look for", name):
            now, then = (
                obstore.head(self._client, self._key(each))["last_modified"]
                for each in (_NOW, name)
            )
        return float((now - then).total_seconds())

    def delete(self, names: Iterable[str]) -> None:
        keys = [self._key(name) for name in names]
        if keys:
            with self._errors("remove files of", ""):
                obstore.delete(self._client, keys)

    def clear(self, folder: str) -> None:
        with self._errors("remove files of", folder):
            for found in obstore.list(self._client, self._key(folder)):
                obstore.delete(self._client, [each["path"] for each in found])

    def rename(self, source: str, target: str) -> None:
        """Moves a file, over what is there: a copy and a removal. Raises FileNotFoundError."""
        with self._errors("move to", target):
            obstore.rename(self._client, self._key(source), self._key(target))

    def _key(self, name: str) -> str:
        return "/".join(step for step in (self._prefix, name) if step)

    @contextmanager
    def _errors(self, action: str, name: str) -> Iterator[None]:
        try:
            yield
        except AlreadyExistsError:
            raise
        except (BaseError, FileNotFoundError) as error:
            if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in str(error):
                raise
            reason = _reason(str(error))
            kind = StoreRefusedError if is_refused_by_store(reason) else StoreError
            raise kind(
                f"cannot {action} {self.where(name)}",
                detail=reason,
                hint="check the bucket, AWS_ENDPOINT_URL, AWS_REGION, and that the credentials"
                " (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role) may read and write it",
            ) from None


def endpoint() -> str:
    """Where S3 is, if it is not Amazon's. Raises OptionsError when that is no URL."""
    found = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    try:
        parsed = urlparse(found)
        good = parsed.scheme in ("http", "https") and bool(parsed.hostname)
        good = good and parsed.username is None and (parsed.port or 1) > 0
    except ValueError:
        good = False
    if found and not good:
        raise OptionsError(
            "AWS_ENDPOINT_URL is not the address of a store",
            hint="it is http://HOST:PORT or https://HOST, without a user",
        )
    return parsed.geturl() if found else ""


def region() -> str:
    """The region, one that every store takes where none is given."""
    found = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION", "")
    if found and not _REGION.fullmatch(found):
        raise OptionsError("AWS_REGION is not the name of a region", hint="it is like us-east-1")
    return found or ("us-east-1" if endpoint() else "")


@cache
def _client(bucket: str, at: str, region_name: str, patience: Patience) -> Any:
    """One for all stores of a bucket in this process: it keeps its connections."""
    config: S3Config = {}
    if at:
        config["endpoint"] = at
    if region_name:
        config["region"] = region_name
    of_try, in_all = timedelta(0, patience.try_s), timedelta(0, patience.in_all_s)
    pauses = timedelta(0, patience.pause_s), timedelta(0, patience.pause_s_max)
    backoff: BackoffConfig = {"init_backoff": pauses[0], "max_backoff": pauses[1], "base": 2}
    return Bucket(
        bucket,
        config=config,
        client_options={"allow_http": at.startswith("http://"), "read_timeout": of_try},
        # The time decides, not the number.
        retry_config={"max_retries": 1000, "retry_timeout": in_all, "backoff": backoff},
    )


def _reason(text: str) -> str:
    """What the store says, else the first line of what the client says."""
    found = _CODE.search(text)
    return f"{found[1]}: {found[2]}" if found else text.splitlines()[0][:300]
