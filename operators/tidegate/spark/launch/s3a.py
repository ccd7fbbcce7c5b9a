"""Spark's part of a checkpoint on S3: Hadoop's S3A, its jars and its settings.

Spark has no client of S3. Its jars are fetched beforehand (``tidegate-s3-jars``, in images too),
never when a job starts: `tidegate.spark.launch.s3a_jars`.

Spark's own logs and state go through `AbortableStreamBasedCheckpointFileManager`: a file of S3 is
there when its upload ends, so it needs neither a rename, which S3 does by copying, nor the look
before it. What S3A would ask before each write, to behave like a file system, is left out: Spark
never writes a file over a directory.

Nothing keeps a driver that has lost its lease from writing over a file of Spark's. So it asks for
the lease before each epoch's tasks, and an offset that was planned in vain is found out on the next
start (`tidegate.epochs.checkpoint.Checkpoint.check_spark_log`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from tidegate.errors import OptionsError
from tidegate.spark.launch.s3a_jars import home
from tidegate.store.base import Store

_S3A = "spark.hadoop.fs.s3a"
_PROVIDERS = (
    "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider",
)
_FIXED = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
    ),
    f"{_S3A}.performance.flags": "create,delete,mkdir",
    f"{_S3A}.input.stream.type": "classic",
    # As `tidegate.store.s3.PATIENCE`; by itself it would wait 200 s for a store that is gone.
    f"{_S3A}.connection.timeout": "15s",
    f"{_S3A}.connection.establish.timeout": "15s",
    f"{_S3A}.fast.upload.buffer": "bytebuffer",
}


def settings_for(store: Store, *, loaded: bool = False) -> dict[str, str]:
    """The settings of Spark for a checkpoint in ``store``: none if that is local.

    Raises OptionsError when the jars are missing; not where Spark has ``loaded`` what it has.
    """
    if store.is_local:
        return {}
    # Only who keeps something there loads the client.
    from tidegate.store.s3 import endpoint, region

    found = dict(_FIXED)
    if not loaded and not _has_s3a(Path(pyspark.__file__).parent / "jars"):
        jars = home()
        if not _has_s3a(jars):
            raise OptionsError(
                f"checkpoint {store.uri}: Spark's client of S3 is missing in {jars}",
                hint="fetch it once with `tidegate-s3-jars`, or set TIDEGATE_S3_JARS",
            )
        found["spark.driver.extraClassPath"] = f"{jars}/*"
        found["spark.executor.extraClassPath"] = f"{jars}/*"
    if endpoint():
        found[f"{_S3A}.endpoint"] = endpoint()
        found[f"{_S3A}.path.style.access"] = "true"
        found[f"{_S3A}.connection.ssl.enabled"] = str(endpoint().startswith("https://")).lower()
    if region():
        found[f"{_S3A}.endpoint.region"] = region()
    if os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):  # S3A's own list is without it
        found[f"{_S3A}.aws.credentials.provider"] = ",".join(_PROVIDERS)
    return found


def joined(ours: dict[str, str], users: dict[str, str]) -> dict[str, str]:
    """Settings together: the user's win, but class paths add up."""
    both = {
        name: f"{users[name]}:{path}"
        for name, path in ours.items()
        if name.endswith(".extraClassPath") and name in users
    }
    return {**ours, **users, **both}


def _has_s3a(jars: Path) -> bool:
    return any(jars.glob("hadoop-aws-*.jar"))
