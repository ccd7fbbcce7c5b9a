from __future__ import annotations

import pytest

from tidegate.connectors.hosts import host_of, is_here, remote


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *[
            ("localhost", True),
            ("Kafka.LOCALHOST.", True),
            ("127.0.0.1", True),
            ("127.9.9.9", True),
        ],
        *[("::1", True), ("[::1]", True), ("::ffff:127.0.0.1", True), ("/run/postgresql", True)],
        *[
            ("kafka", False),
            ("localhost.evil.org", False),
            ("128.0.0.1", False),
            ("0.0.0.0", False),
        ],
        *[("::2", False), ("127.0.0.1.nip.io", False), ("::ffff:10.0.0.1", False)],
    ],
)
def test_what_is_this_machine(host: str, here: bool) -> None:
    assert is_here(host) is here


def test_others_each_once() -> None:
    assert remote(["b", " a", "localhost", "b"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("address", "host"),
    [
        *[("b:9092", "b"), ("b", "b"), (" SASL_SSL://b:9092 ", "b"), ("[::1]:9092", "::1")],
        *[("http://u:p@h:80/x", "h"), ("::1", "::1"), ("http://[fe80::1]/", "fe80::1")],
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    assert host_of(address) == host
