"""A registry behind a door: one that asks for a user, or speaks TLS, and notes what passes it."""

from __future__ import annotations

import base64
import datetime
import http.client
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kafka.registry import Registry


@contextmanager
def proxy(
    server: Registry, user: str = "", context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[str]]]:
    """The registry behind a door that asks for a user, or speaks TLS; and what passed it."""
    seen: list[str] = []
    wanted = f"Basic {base64.b64encode(user.encode()).decode()}"

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.forward("GET")

        def do_POST(self) -> None:
            self.forward("POST")

        def forward(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.path)
            if user and self.headers.get("Authorization") != wanted:
                self.answer(401, b'{"error_code": 401, "message": "who are you?"}')
                return
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            type_ = self.headers.get("Content-Type", "application/json")
            connection.request(method, self.path, body, {"Content-Type": type_})
            found = connection.getresponse()
            self.answer(found.status, found.read())
            connection.close()

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    door = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    if context is not None:
        door.socket = context.wrap_socket(door.socket, server_side=True)
    thread = threading.Thread(target=door.serve_forever, daemon=True)
    thread.start()
    try:
        scheme = "http" if context is None else "https"
        yield f"{scheme}://127.0.0.1:{door.server_port}/apis/ccompat/v7", seen
    finally:
        door.shutdown()
        door.server_close()
        thread.join(10)


def certificate(directory: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "key.pem").write_bytes(private)
    (directory / "ca.pem").write_bytes(made.public_bytes(pem))
    return directory
