"""Spark on Kubernetes: what a driver in a pod sets. Client mode; executors are pods of their own.

What a pod knows of itself comes by variables, which the chart fills from the pod's own fields:

    POD_NAME, POD_NAMESPACE, POD_IP   of the driver; POD_UID is for its lease
    TIDEGATE_IMAGE                    of the driver, and so of its executors
    TIDEGATE_EXECUTOR_TEMPLATE        a file with the executors' pod: security, volumes, secrets

Executors are named anew with every start of a driver: pods of the one before may still be there,
and Spark takes a name that exists for a failure. Ports are fixed, so that a NetworkPolicy can name
them. Intervals are short: an executor that is gone is replaced in seconds, not in half a minute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tidegate.errors import OptionsError

DRIVER_PORT: Final = 7078
BLOCKS_PORT: Final = 7079
_PREFIX_MAX: Final = 47
"""What Spark leaves of a pod's name for the prefix."""
_WANTED: Final = ("POD_NAME", "POD_NAMESPACE", "POD_IP", "TIDEGATE_IMAGE")
_UNFIT: Final = re.compile("[^a-z0-9-]+")


def is_kubernetes(master: str) -> bool:
    return master.startswith("k8s://")


def kubernetes_settings(master: str, environment: Mapping[str, str], token: str) -> dict[str, str]:
    """Spark's settings for ``master``: none if that is not Kubernetes. ``token`` is of this start.

    Raises OptionsError where a variable is missing.
    """
    if not is_kubernetes(master):
        return {}
    missing = [name for name in _WANTED if not environment.get(name)]
    if missing:
        raise OptionsError(
            f"--master {master} needs the variable {missing[0]}",
            detail=f"a driver's pod tells Spark who it is by {', '.join(_WANTED)}",
            hint="install the chart (charts/tidegate), which sets them; outside a cluster run with"
            " --master local[N]",
        )
    pod = environment["POD_NAME"]
    settings = {
        "spark.kubernetes.namespace": environment["POD_NAMESPACE"],
        "spark.kubernetes.driver.pod.name": pod,
        "spark.kubernetes.container.image": environment["TIDEGATE_IMAGE"],
        "spark.kubernetes.executor.podNamePrefix": _prefix(pod, token),
        "spark.driver.host": environment["POD_IP"],
        "spark.driver.bindAddress": environment["POD_IP"],
        "spark.driver.port": str(DRIVER_PORT),
        "spark.blockManager.port": str(BLOCKS_PORT),
        # A driver makes pods, and nothing else: by itself Spark makes a map of its configuration
        # for executors, which need none, and looks for services and volumes that it might have
        # made.
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
        "spark.kubernetes.executor.apiPollingInterval": "5s",
        "spark.kubernetes.executor.missingPodDetectDelta": "5s",
        "spark.kubernetes.allocation.batch.delay": "1s",
        "spark.kubernetes.allocation.executor.timeout": "120s",
        "spark.network.timeout": "30s",
        "spark.network.timeoutInterval": "10s",
        "spark.executor.heartbeatInterval": "5s",
        "spark.decommission.enabled": "true",
        "spark.kubernetes.decommission.script": "/opt/decommission",
        "spark.executor.decommission.killInterval": "20s",
        "spark.storage.decommission.enabled": "true",
        "spark.storage.decommission.rddBlocks.enabled": "false",
    }
    if template := environment.get("TIDEGATE_EXECUTOR_TEMPLATE"):
        settings["spark.kubernetes.executor.podTemplateFile"] = template
        settings["spark.kubernetes.executor.podTemplateContainerName"] = "executor"
    return settings


def _prefix(pod: str, token: str) -> str:
    """A name's beginning, of letters, digits and ``-``, which starts with a letter."""
    kept = _UNFIT.sub("-", pod.lower()).strip("-")[: _PREFIX_MAX - len(token) - 1].rstrip("-")
    return f"{kept}-{token}" if kept[:1].isalpha() else f"t{kept[1:]}-{token}"
