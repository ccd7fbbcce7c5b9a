"""One release for all tests of a session: that of `make deploy`, with a job that can be judged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from e2e.job import RELEASE, DeployedJob, opened, values
from e2e.namespace import KIT, Namespace, environment, run

_DEPLOY: Final = Path(__file__).parents[2] / "k8s" / "deploy.sh"
_ROOT: Final = _DEPLOY.parents[1]


def deploy(
    what: str, namespace: str, *, profile: Path | None = None, values: Path | None = None
) -> None:
    """``k8s/deploy.sh up`` or ``down``, with values in place of the demonstration's, or more."""
    env = {**environment(), "NAMESPACE": namespace, "RELEASE": RELEASE}
    env |= {"PROFILE": str(profile)} if profile else {}
    env |= {"VALUES": str(values)} if values else {}
    if env["KUBECONFIG"] == str(KIT / "run" / "admin.conf"):
        # Its only DNS server must not go with a node that is broken.
        run("kubectl", "--namespace", "kube-system", "scale", "deployment/coredns", "--replicas=2")
    done = subprocess.run([_DEPLOY, what], cwd=_ROOT, env=env, check=False, timeout=1800)
    assert done.returncode == 0


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """The namespace, in which all is ready."""
    name = os.environ.get("NAMESPACE", "tidegate-e2e")
    file = tmp_path_factory.mktemp("values") / "values.yaml"
    file.write_text(yaml.safe_dump(values()))
    deploy("up", name, values=file)
    yield Namespace(name)
    deploy("down", name, values=file)


@pytest.fixture(scope="session")
def job(deployed: Namespace) -> Iterator[DeployedJob]:
    """The job of `e2e.job`."""
    with opened(deployed) as found:
        yield found
