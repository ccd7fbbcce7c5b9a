from __future__ import annotations

import pytest

from tidegate.errors import RunError
from tidegate.spark.kubernetes.executor_pod import executor_command
from tidegate.spark.launch.classes import class_path

GIVEN = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "orders-exec-3",
    "JAVA_HOME": "/opt/java",
}


def test_an_executor_is_started_with_what_spark_says() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Do={number}" for number in (10, 0, 2)}
    command = executor_command({**GIVEN, **options, "SPARK_CLASSPATH": "/extra/*"})
    java, *given = command[: command.index("-cp")]
    assert java == "/opt/java/bin/java"
    assert given[:3] == ["-Do=0", "-Do=2", "-Do=10"]
    assert {"-Xms512m", "-Xmx512m"} <= set(given)
    paths = command[command.index("-cp") + 1]
    assert paths.startswith("/extra/*:")
    assert paths.endswith(class_path())
    assert command[command.index("--hostname") + 1] == "10.0.0.2"
    assert command[command.index("--podName") + 1] == "orders-exec-3"


@pytest.mark.parametrize("name", [name for name in GIVEN if name != "JAVA_HOME"])
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(RunError, match=f"needs the variable {name}"):
        executor_command({**GIVEN, name: ""})
