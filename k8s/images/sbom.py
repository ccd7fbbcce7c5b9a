"""``make sbom``: what the image of Tidegate is made of, as a CycloneDX bill of materials.

    out/sbom.cdx.json    packages of Python and jars: names, versions, licences, jars' SHA-256
    out/licences.md      the same for readers, by licence

Packages are those of requirements.txt, as they are installed beside this script's Python; jars
those of PySpark and Spark's client of S3. What Debian adds (Java, Python, tini) is named by
``dpkg-query`` in the image itself. Licences are what a package or jar says of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pyspark
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6

from tidegate.errors import RunError
from tidegate.spark.launch.s3a_jars import fetch, home

_ROOT: Final = Path(__file__).resolve().parents[2]
_APACHE: Final = "Apache License"
_UNSAID: Final = "not stated in the jar or package"
_POM: Final = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.xml")
_TEXT: Final = re.compile(r"(META-INF/)?LICEN[CS]E(\.txt|\.md)?", re.IGNORECASE)
_JAR: Final = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*(-.*)?)\.jar")


def packages() -> Iterator[Component]:
    """Those of Python, as cyclonedx-py finds them in this environment."""
    lock = (_ROOT / "requirements.txt").read_text("utf-8")
    ours = {_plain(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    told = subprocess.run(
        [sys.executable, "-m", "cyclonedx_py", "environment", sys.executable],
        stdout=subprocess.PIPE,
        check=True,
    )
    bom: Bom = Bom.from_json(json.loads(told.stdout))  # type: ignore[attr-defined]  # a decorator's
    for component in bom.components:
        if _plain(component.name) in ours:
            yield component


def jars() -> Iterator[Component]:
    """Those of PySpark, and of Spark's client of S3."""
    fetch(home())
    licences = LicenseFactory()
    for directory in (Path(pyspark.__file__).parent / "jars", home()):
        for path in sorted(directory.glob("*.jar")):
            named = _JAR.fullmatch(path.name)
            with zipfile.ZipFile(path) as jar:
                said = sorted(_licences(jar))
            yield Component(
                type=ComponentType.LIBRARY,
                name=named["name"] if named else path.stem,
                version=named["version"] if named else None,
                bom_ref=path.name,
                licenses=[
                    licences.make_from_string(
                        text, license_acknowledgement=LicenseAcknowledgement.DECLARED
                    )
                    for text in said
                ],
                hashes=[
                    HashType(
                        alg=HashAlgorithm.SHA_256,
                        content=hashlib.sha256(path.read_bytes()).hexdigest(),
                    )
                ],
            )


def _licences(jar: zipfile.ZipFile) -> set[str]:
    names = jar.namelist()
    return {
        _usual(each)
        for each in _by_pom(jar, names) or _by_manifest(jar, names) or _by_text(jar, names)
    }


def _by_pom(jar: zipfile.ZipFile, names: list[str]) -> set[str]:
    found: set[str] = set()
    for pom in filter(_POM.fullmatch, names):
        tree = ElementTree.fromstring(jar.read(pom))
        found |= {each.text.strip() for each in tree.findall(".//{*}license/{*}name") if each.text}
    return found


def _by_manifest(jar: zipfile.ZipFile, names: list[str]) -> set[str]:
    if "META-INF/MANIFEST.MF" not in names:
        return set()
    manifest = jar.read("META-INF/MANIFEST.MF").decode(errors="replace")
    unfolded = re.sub(r"\r?\n ", "", manifest)
    return {
        each.split(";")[0].strip().strip('"')
        for line in re.findall(r"^Bundle-License: *(.+?) *$", unfolded, re.MULTILINE)
        for each in line.split(",")
    }


def _by_text(jar: zipfile.ZipFile, names: list[str]) -> set[str]:
    texts = (jar.read(each).decode(errors="replace") for each in filter(_TEXT.fullmatch, names))
    return {_APACHE for text in texts if _APACHE in text[:500]}


def _usual(licence: str) -> str:
    return (
        "Apache-2.0"
        if re.search(r"apache.*2|^Apache License$", licence, re.IGNORECASE)
        else licence
    )


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _page(components: list[Component]) -> str:
    by_licence: defaultdict[str, list[str]] = defaultdict(list)
    for each in components:
        said = {
            str(getattr(one, "id", None) or getattr(one, "name", None) or getattr(one, "value", ""))
            for one in each.licenses
        }
        by_licence[" · ".join(sorted(said)) or _UNSAID].append(f"{each.name} {each.version or ''}")
    lines = ["# Licences of what the image has", ""]
    for licence, names in sorted(by_licence.items()):
        lines += [f"## {licence}", "", *(f"- {name}" for name in sorted(names)), ""]
    return "\n".join(lines)


def main() -> None:
    """Writes both, and says how much is in them."""
    try:
        components = [*packages(), *jars()]
    except RunError as error:
        raise SystemExit(error.render()) from None
    out = _ROOT / "out"
    out.mkdir(exist_ok=True)
    JsonV1Dot6(Bom(components=components)).output_to_file(
        str(out / "sbom.cdx.json"), allow_overwrite=True, indent=2
    )
    (out / "licences.md").write_text(_page(components), "utf-8")
    unsaid = sum(not each.licenses for each in components)
    sys.stdout.write(
        f"{len(components)} components are in out/sbom.cdx.json, licences in out/licences.md;\n"
        f"{unsaid} do not say theirs: PySpark's LICENSE names those of its jars\n"
    )


if __name__ == "__main__":
    main()
