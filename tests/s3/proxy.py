"""A real proxy before a store: what passes through it can be answered, delayed or cut off (T6).

with Proxy(minio.endpoint) as proxy:
    with proxy.trouble("503"): …
"""

from __future__ import annotations

import http.client
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import urlsplit

Trouble = Literal["500", "503", "slow", "reset", "cut", "torn"]
"""An answer with that code; seconds before one; a reset before the store was asked; one in the
middle of its answer, behind which nobody knows whether it was done; one in the middle of an upload,
of which the store has got the half."""

SLOW_S: Final = 2.0
_ERROR: Final = "<Error><Code>{}</Code><Message>of the proxy</Message></Error>"
_CODES: Final = {"500": "InternalError", "503": "SlowDown"}
_OF_ONE_WAY: Final = ("connection", "transfer-encoding", "expect", "keep-alive")


class Proxy(ThreadingHTTPServer):
    """One, on a port of its own of loopback. ``met``: how often each trouble was met."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = str(urlsplit(target).netloc)
        self.mode: Trouble | None = None
        self.met: Counter[str] = Counter()

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()
        self.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @contextmanager
    def trouble(self, mode: Trouble) -> Iterator[None]:
        self.mode = mode
        try:
            yield
        finally:
            self.mode = None

    def has_met(self, mode: Trouble) -> bool:
        """Whether a request was troubled so."""
        return self.met[mode] > 0

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has hung up is none."""


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _pass(self) -> None:
        mode = self.server.mode
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if mode is not None:
            self.server.met[mode] += 1
        if mode in _CODES:
            text = _ERROR.format(_CODES[mode]).encode()
            self._answer(int(mode), {"Content-Type": "application/xml"}, text)
        elif mode == "reset":
            self._reset()
        else:
            if mode == "slow":
                time.sleep(SLOW_S)
            self._forward(body[: len(body) // 2] if mode == "torn" else body, mode)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass  # noqa: N815 -- names of the library

    def _forward(self, body: bytes, mode: Trouble | None) -> None:
        store = http.client.HTTPConnection(self.server.target, timeout=60)
        try:
            store.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _OF_ONE_WAY:
                    store.putheader(name, value)
            store.endheaders(body)
            if mode == "torn" and body:
                self._reset()
                return
            answer = store.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self._reset()
            return
        finally:
            store.close()
        if mode == "cut":
            self._reset()
            return
        headers = {k: v for k, v in answer.headers.items() if k.lower() not in _OF_ONE_WAY}
        self._answer(answer.status, headers, content)

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        if self.command != "HEAD":
            headers = {k: v for k, v in headers.items() if k.lower() != "content-length"}
            headers["Content-Length"] = str(len(content))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _reset(self) -> None:
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
