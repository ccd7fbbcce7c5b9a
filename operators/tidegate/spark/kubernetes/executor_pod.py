"""How an executor is started in a pod that Spark has made.

An image of Spark's has a shell script for that; PySpark, as it is installed by pip, has none. What
the driver says comes in variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tidegate.errors import RunError
from tidegate.spark.launch.classes import class_path

_BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTIONS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_MASTER: Final = "-Dspark.master=k8s://executor"
"""The file of the secret (``spark.authenticate.secret.file``) is read on Kubernetes only, and an
executor asks for its other settings by the secret: of its master Spark does not tell it before."""
_JAVA_OPTION: Final = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def executor_command(environment: Mapping[str, str]) -> list[str]:
    """How an executor is started. Raises RunError when Spark has left something out."""
    values = {}
    for option, name in {**_OPTIONS, "-Xmx": "SPARK_EXECUTOR_MEMORY"}.items():
        if not environment.get(name):
            raise RunError(
                f"an executor needs the variable {name}",
                hint="executors are started by a driver; to run a job: tidegate run FILE",
            )
        values[option] = environment[name]
    memory = values.pop("-Xmx")
    numbered = ((_JAVA_OPTION.fullmatch(name), text) for name, text in environment.items())
    options = [text for _, text in sorted((int(n[1]), text) for n, text in numbered if n)]
    paths = [environment.get("SPARK_CLASSPATH", ""), class_path()]
    command = [str(Path(environment.get("JAVA_HOME", "/usr"), "bin", "java")), *options, _MASTER]
    command += [f"-Xms{memory}", f"-Xmx{memory}", "-cp", ":".join(path for path in paths if path)]
    command.append(_BACKEND)
    for option, value in values.items():
        command += [option, value]
    return command
