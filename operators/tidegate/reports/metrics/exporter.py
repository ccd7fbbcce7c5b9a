"""The HTTP server of a driver: metrics for Prometheus, and answers for probes.

    GET /metrics    all of `tidegate.metrics`
    GET /healthz    200, or 503 when the driver is to be started anew
    GET /readyz     200 when epochs progress, else 503; the text says why

It listens where the setting ``tidegate.metrics.address`` says. What it tells are names and numbers,
no rows; it changes nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from tidegate.errors import OptionsError
from tidegate.reports.metrics.health import Health, Verdict
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.settings import Address

_REQUEST_S = 10.0
"""A client that says nothing for so long is let go."""

Start = Callable[..., Any]


@contextmanager
def exporting(address: Address | None, metrics: JobMetrics, health: Health) -> Iterator[int]:
    """Serves during the block; gives the port, 0 if there is no ``address``.

    Raises OptionsError when that cannot be listened on.
    """
    if address is None:
        yield 0
        return
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    kind = _Server6 if ":" in address.host else _Server
    try:
        server = make_server(address.host, address.port, _app(registry, health), kind, _Handler)
    except OSError as error:
        raise OptionsError(
            f"tidegate.metrics.address: {address.host}:{address.port} cannot be listened on:"
            f" {error.strerror}",
            hint="another job may do so: give each an address of its own",
        ) from error
    thread = Thread(target=server.serve_forever, name="exporter", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _app(registry: CollectorRegistry, health: Health) -> Callable[..., Iterable[bytes]]:
    serve = make_wsgi_app(registry)
    probes = {"/healthz": health.alive, "/readyz": health.ready}

    def app(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
            return _plain(start, HTTPStatus.METHOD_NOT_ALLOWED, "only GET")
        if path == "/metrics":
            answer: Iterable[bytes] = serve(environ, start)
            return answer
        if path in probes:
            verdict: Verdict = probes[path]()
            status = HTTPStatus.OK if verdict.good else HTTPStatus.SERVICE_UNAVAILABLE
            return _plain(start, status, verdict.why)
        return _plain(start, HTTPStatus.NOT_FOUND, "there are /metrics, /healthz and /readyz")

    return app


def _plain(start: Start, status: HTTPStatus, text: str) -> list[bytes]:
    body = f"{text}\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    start(f"{status.value} {status.phrase}", headers)
    return [body]


class _Handler(WSGIRequestHandler):
    """Says nothing on stderr, and waits for nobody."""

    timeout = _REQUEST_S

    def log_message(self, *args: Any) -> None:
        pass


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Server6(_Server):
    address_family = socket.AF_INET6
