from __future__ import annotations

import base64

from charts.chart import kinds, one, render


def test_a_password_is_made_up() -> None:
    def password() -> bytes:
        secret = one(render({"minio": {"enabled": True}}), "Secret", "shop-minio")
        return base64.b64decode(secret["data"]["AWS_SECRET_ACCESS_KEY"])

    assert len(password()) == 32
    assert password() != password()


def test_one_that_is_there_is_used() -> None:
    values = {"minio": {"enabled": True, "existingSecret": "keys"}}
    assert not {name for kind, name in kinds(render(values)) if kind == "Secret"}
