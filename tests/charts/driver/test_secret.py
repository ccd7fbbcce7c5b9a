from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from charts.chart import JOB, Object, kinds, one, render

SECRET = ("Secret", "shop-orders-spark")
FILE = "/etc/tidegate/spark/secret"


def job(**more: Any) -> dict[str, Any]:
    return {"jobs": {"orders": {**JOB["jobs"]["orders"], **more}}}


def driver(objects: list[Object]) -> Object:
    found: Object = one(objects, "StatefulSet", "shop-orders")["spec"]["template"]["spec"]
    return found


def executor(objects: list[Object]) -> Object:
    text = one(objects, "ConfigMap", "shop-orders")["data"]["executor.yaml"]
    found: Object = yaml.safe_load(text)["spec"]
    return found


def test_one_is_made_up_for_each_job() -> None:
    def secret(name: str) -> bytes:
        found = one(objects, "Secret", name)
        assert found["immutable"] is True
        return base64.b64decode(found["data"]["secret"])

    objects = render({"jobs": {**JOB["jobs"], "clicks": JOB["jobs"]["orders"]}})
    assert len(secret("shop-orders-spark")) == 44
    assert secret("shop-orders-spark") != secret("shop-clicks-spark")


def test_driver_and_executors_read_it_from_a_file_and_nothing_shows_it() -> None:
    objects = render(job())
    secret = base64.b64decode(one(objects, *SECRET)["data"]["secret"]).decode()
    assert (
        f"--set=spark.authenticate.secret.file={FILE}" in driver(objects)["containers"][0]["args"]
    )
    for spec in (driver(objects), executor(objects)):
        mounts = {each["name"]: each["mountPath"] for each in spec["containers"][0]["volumeMounts"]}
        assert mounts["spark-secret"] == FILE.rpartition("/")[0]
        (volume,) = (each["secret"] for each in spec["volumes"] if each["name"] == "spark-secret")
        assert volume["secretName"] == SECRET[1]
        assert volume["items"] == [{"key": "secret", "path": "secret"}]
    shown = [each for each in objects if each["kind"] != "Secret"]
    assert secret not in yaml.safe_dump_all(shown)


def test_what_is_sent_and_written_is_encrypted() -> None:
    args = driver(render(job()))["containers"][0]["args"]
    for name in ("authenticate", "network.crypto.enabled", "io.encryption.enabled"):
        assert f"--set=spark.{name}=true" in args


def test_one_that_is_there_is_used() -> None:
    objects = render(job(encryptionSecret="theirs"))
    assert SECRET not in kinds(objects)
    for spec in (driver(objects), executor(objects)):
        assert "theirs" in {v["secret"]["secretName"] for v in spec["volumes"] if "secret" in v}


@pytest.mark.parametrize(
    "values", [job(encryption=False), {**JOB, "defaults": {"encryption": False}}]
)
def test_one_value_switches_all_of_it_off(values: dict[str, Any]) -> None:
    objects = render(values)
    assert SECRET not in kinds(objects)
    for spec in (driver(objects), executor(objects)):
        assert "spark-secret" not in str(spec)
    args = driver(objects)["containers"][0]["args"]
    assert not [each for each in args if "crypt" in each or "authenticate" in each]
