"""Spark's part of a checkpoint on S3: Hadoop's S3A, its jars and its settings.

Spark has no client of S3. Its jars are fetched beforehand (``tidegate-s3-jars``, in images too),
never when a job starts: `tidegate.spark.s3a_jars`.

Spark's own logs and state go through `AbortableStreamBasedCheckpointFileManager`: a file of S3 is
there when its upload ends, so it needs neither a rename, which S3 does by copying, nor the look
before it. What S3A would ask before each write, to behave like a file system, is left out: nobody
else writes where Spark writes, and Spark never writes a file over a directory.
"""

from __future__ import annotations

from pathlib import Path

import pyspark

from tidegate.errors import OptionsError
from tidegate.spark.s3a_jars import home
from tidegate.store.base import Store
from tidegate.store.s3 import endpoint, region

_S3A = "spark.hadoop.fs.s3a"
_FIXED = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
    ),
    f"{_S3A}.performance.flags": "create,delete,mkdir",
    f"{_S3A}.input.stream.type": "classic",
    f"{_S3A}.fast.upload.buffer": "bytebuffer",
}


def settings_for(store: Store) -> dict[str, str]:
    """The settings of Spark for a checkpoint in ``store``: none if that is local.

    Raises OptionsError when the jars are missing.
    """
    if store.is_local:
        return {}
    found = dict(_FIXED)
    if not _has_s3a(Path(pyspark.__file__).parent / "jars"):
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
    return found


def _has_s3a(jars: Path) -> bool:
    return any(jars.glob("hadoop-aws-*.jar"))
