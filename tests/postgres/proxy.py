"""A line to a server that fails while a session is made: in the handshake of TLS."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self

_ASKS_FOR_TLS = 8
"""Bytes of the request with which a client begins."""


class Proxy:
    """Passes on what comes to ``port``; cuts the next ``cuts`` connections in their handshake."""

    def __init__(self, server_port: int) -> None:
        self.cuts = 0
        self.was_cut = 0
        self._server_port = server_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._threads = ThreadPoolExecutor(64)

    def __enter__(self) -> Self:
        self._threads.submit(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads.shutdown()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server_port))
            if self.cuts:
                self.cuts -= 1
                self.was_cut += 1
                server.sendall(client.recv(_ASKS_FOR_TLS))
                client.sendall(server.recv(1))
                client.close()
                server.close()
                continue
            self._threads.submit(_pass_on, client, server)
            self._threads.submit(_pass_on, server, client)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    one.close()
