"""What errors of a real server mean: which are tried again, and what may be shown of them."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres.kit import PASSWORD, VARIABLE, Sink
from postgres.proxy import Proxy
from postgres.server import Server
from tidegate.errors import OptionsError, RunError, SinkError, TidegateError
from tidegate.events import EVENTS, SINK_RETRY
from tidegate.types import Op

_COLUMNS = (("k", "BIGINT"), ("v", "VARCHAR"))
_PRIVATE = "ann@example.org"


@pytest.fixture
def tls_server() -> Iterator[Server]:
    """A server with a certificate that nobody vouches for."""
    made = Server()
    key, certificate = made.directory / "key.pem", made.directory / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=db"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    if owner := made.owner:
        os.chown(key, owner["user"], owner["group"])
    made.settings = {"ssl": "on", "ssl_key_file": str(key), "ssl_cert_file": str(certificate)}
    with made as running:
        yield running


def test_a_line_that_is_cut_in_the_handshake_is_tried_again(
    tls_server: Server, tmp_path: Path
) -> None:
    with Proxy(tls_server.port) as proxy:
        more = {"port": str(proxy.port), "sslmode": "require"}
        sink = Sink(tls_server, tmp_path, *_COLUMNS, key=None, **more)
        committer = sink.committer()
        proxy.cuts = 2
        EVENTS.take()
        committer.publish(1, sink.staged(1, ("1", "a")))
        assert proxy.was_cut == 2
        assert EVENTS.take() == {SINK_RETRY: 2}, "the metric of it"
        proxy.cuts = 1
        with pytest.raises(RunError, match="no answer from the server") as caught:
            sink.committer(2)  # where a job begins, nothing is waited for
        assert "SSL" in caught.value.detail
    assert sink.rows() == [(1, "a")]
    with pytest.raises(OptionsError, match="no encrypted connection"):
        Sink(tls_server, tmp_path, *_COLUMNS, sslmode="verify-full").committer()


def test_what_hosts_are_called_says_nothing(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, *_COLUMNS, host="SSL-certificate.invalid")
    with pytest.raises(RunError, match="no answer from the server"):
        sink.committer()


def test_a_server_that_speaks_another_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    with Server() as german:
        if "bereit" not in german.log:
            pytest.skip("this machine's server speaks English only")
        monkeypatch.setenv(VARIABLE, "nicht-" + PASSWORD)
        with pytest.raises(RunError, match="gives no session") as caught:
            Sink(german, tmp_path, *_COLUMNS).committer()
    assert "'password'" in caught.value.hint
    assert "Passwort" in caught.value.detail


_RAISES = """
CREATE FUNCTION {0}() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE 'no % here', NEW.v USING ERRCODE = '{1}', DETAIL = NEW.v; END $$;
CREATE TRIGGER t BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION {0}()
"""


@pytest.mark.parametrize(
    ("change", "value", "words"),
    [
        ("CREATE UNIQUE INDEX mails ON {0} (v)", _PRIVATE, ("mails", "23505")),
        ("ALTER TABLE {0} ADD CONSTRAINT short CHECK (length(v) < 9)", _PRIVATE, ("short",)),
        ("ALTER TABLE {0} ADD CHECK (v::int > 0)", _PRIVATE, ("invalid text representation",)),
        ("ALTER TABLE {0} ADD CHECK (v::inet IS NULL)", 'a "b" ' + _PRIVATE, ("22P02",)),
        (
            "ALTER TABLE {0} ADD more text NOT NULL DEFAULT 'x', ALTER v SET NOT NULL",
            None,
            ('"v"',),
        ),
        (_RAISES.replace("{1}", "P0001"), _PRIVATE, ("raise exception", "server's log")),
        (_RAISES.replace("{1}", "MY001"), _PRIVATE, ("an error of its own", "MY001")),
        (_RAISES.replace("{1}", "42501"), _PRIVATE, ("insufficient privilege",)),
    ],
)
def test_no_value_of_a_row_is_told(
    server: Server,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    change: str,
    value: str | None,
    words: tuple[str, ...],
) -> None:
    caplog.set_level(logging.DEBUG)
    sink = Sink(server, tmp_path, *_COLUMNS, key=("k",))
    committer = sink.committer()
    server.run(change.format(sink.name))
    rows = [(str(4711 + number), value) for number in range(2)]
    with pytest.raises(TidegateError) as caught:
        committer.publish(1, sink.staged(1, *rows, ops=[Op.INSERT] * 2))
    assert isinstance(caught.value, SinkError | OptionsError)
    shown = caught.value.render() + caplog.text
    assert all(word in shown for word in words), shown
    assert _PRIVATE not in shown
    assert "4711" not in shown
    assert _PRIVATE in server.log or value is None, "it is where the hint says"
