from __future__ import annotations

import pytest

from tidegate.errors import OptionsError
from tidegate.settings import KNOWN, Address, Settings, check_master, resolve


def test_defaults() -> None:
    settings, spark = resolve({}, {})
    assert settings == Settings.model_validate({})
    assert (settings.epoch_rows_max, settings.epoch_interval_us) == (4_000_000, 1_000_000)
    assert (settings.vnodes, settings.parallelism, settings.pushdown) == (8, 2, True)
    assert spark == {}


@pytest.mark.parametrize(
    ("text", "rows"),
    [("100", 100), ("5_000", 5000), (" 7 ", 7), ("unlimited", None), ("NONE", None), ("0", None)],
)
def test_rows_of_an_epoch(text: str, rows: int | None) -> None:
    assert resolve({"tidegate.epoch.rows.max": text}, {})[0].epoch_rows_max == rows


@pytest.mark.parametrize(
    ("text", "micros"), [("200 ms", 200_000), ("2 s", 2_000_000), ("1 min", 60_000_000)]
)
def test_durations(text: str, micros: int) -> None:
    assert resolve({"tidegate.epoch.interval": text}, {})[0].epoch_interval_us == micros


def test_the_job_wins_over_the_environment() -> None:
    environment = {"TIDEGATE_VNODES": "3", "TIDEGATE_PARALLELISM": "7", "TIDEGATE_OTHER": "x"}
    settings, _ = resolve({"tidegate.vnodes": "5"}, environment)
    assert (settings.vnodes, settings.parallelism) == (5, 7)


def test_every_setting_has_its_variable() -> None:
    values = dict.fromkeys(KNOWN, "9")
    values |= {"tidegate.epoch.interval": "9 s", "tidegate.watermark.pushdown": "false"}
    values |= {"tidegate.metrics.address": ":9"}
    environment = {name.upper().replace(".", "_"): value for name, value in values.items()}
    found = resolve({}, environment)[0].model_dump()
    default = Settings.model_validate({}).model_dump()
    assert found == Settings.model_validate(values).model_dump()
    assert all(found[name] != default[name] for name in default)


def test_settings_of_spark_pass_as_they_are() -> None:
    _, spark = resolve({"spark.executor.memory": "2g", "pipeline.name": "x"}, {})
    assert spark == {"spark.executor.memory": "2g"}


def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(OptionsError, match=r"unknown setting 'tidegate\.vnode'") as caught:
        resolve({"tidegate.vnode": "5"}, {})
    assert caught.value.hint == "did you mean 'tidegate.vnodes'?"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tidegate.vnodes", "0"),
        ("tidegate.vnodes", "many"),
        ("tidegate.parallelism", "-1"),
        ("tidegate.epoch.rows.max", "-5"),
        ("tidegate.epoch.rows.max", "1.5"),
        ("tidegate.epoch.interval", "soon"),
        ("tidegate.watermark.pushdown", "perhaps"),
    ],
)
def test_a_value_that_does_not_fit_is_named(name: str, value: str) -> None:
    with pytest.raises(OptionsError) as caught:
        resolve({name: value}, {})
    assert name in caught.value.message
    assert f"'{value}'" in caught.value.message
    variable = name.upper().replace(".", "_")
    with pytest.raises(OptionsError, match=f"'{value}'"):
        resolve({}, {variable: value})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", Address("127.0.0.1", 9464)),
        ("a-host.local:0", Address("a-host.local", 0)),
        (":9464", Address("", 9464)),
        ("[::1]:80", Address("::1", 80)),
        ("", None),
    ],
)
def test_addresses(text: str, address: Address | None) -> None:
    assert resolve({"tidegate.metrics.address": text}, {})[0].metrics_address == address


@pytest.mark.parametrize("text", ["9464", "host", "host:", "h:65536", "::1:80", "a b:1", "h:1/x"])
def test_wrong_addresses(text: str) -> None:
    with pytest.raises(OptionsError, match="HOST:PORT"):
        resolve({"tidegate.metrics.address": text}, {})


def test_a_wrong_value_of_the_environment_names_the_variable() -> None:
    with pytest.raises(OptionsError, match="TIDEGATE_VNODES of the environment: setting '"):
        resolve({}, {"TIDEGATE_VNODES": "x"})
    with pytest.raises(OptionsError, match=r"^setting 'tidegate\.vnodes': 'y' does not fit"):
        resolve({"tidegate.vnodes": "y"}, {"TIDEGATE_VNODES": "x"})


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2]", "local[4,3]", "local-cluster[2,1,1024]", "yarn",
     "spark://a:7077,b:7077", "k8s://https://10.0.0.1:443"],
)  # fmt: skip
def test_masters_of_spark(master: str) -> None:
    assert check_master(master) == master


@pytest.mark.parametrize("master", ["", "locl[2]", "local[2", "local[]", "k8s://", "mesos://a:1"])
def test_what_spark_has_no_scheduler_for(master: str) -> None:
    with pytest.raises(OptionsError, match="knows no such master"):
        check_master(master)


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "sesame", True),
        ("spark.hadoop.fs.s3a.access.key", "AKIA", True),
        ("spark.ssl.keyStorePassword", "12", True),
        ("spark.authenticate.secret", "${env:SESAME}", False),
        ("spark.authenticate.secret", "${file:/run/secrets/spark}", False),
        ("spark.kubernetes.authenticate.driver.oauthTokenFile", "/run/token", False),
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "a.Provider", False),
        ("spark.security.credentials.tokens.enabled", "false", False),
        ("spark.sql.catalog.c.url", "jdbc:postgresql://me:sesame@host/db", True),
        ("spark.sql.shuffle.partitions", "5", False),
    ],
)
def test_secrets_of_sparks_are_references(name: str, value: str, refused: bool) -> None:
    if not refused:
        assert resolve({name: value}, {})[1] == {name: value}
        return
    with pytest.raises(OptionsError, match="must be a reference") as caught:
        resolve({name: value}, {})
    assert value not in caught.value.render()
