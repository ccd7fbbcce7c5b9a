from __future__ import annotations

import base64

from charts.chart import kinds, one, render

ON = {"grafana": {"enabled": True}, "monitoring": {"prometheus": {"enabled": True}}}


def test_a_password_is_made_up() -> None:
    def password() -> bytes:
        return base64.b64decode(one(render(ON), "Secret", "shop-grafana")["data"]["admin-password"])

    assert len(password()) == 24
    assert password() != password()


def test_one_that_is_there_is_used() -> None:
    values = {**ON, "grafana": {"enabled": True, "existingSecret": "theirs"}}
    assert not {name for kind, name in kinds(render(values)) if kind == "Secret"}
    (container,) = one(render(values), "Deployment", "shop-grafana")["spec"]["template"]["spec"][
        "containers"
    ]
    names = {
        each["valueFrom"]["secretKeyRef"]["name"]
        for each in container["env"]
        if "valueFrom" in each
    }
    assert names == {"theirs"}
