"""Every connector is found by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tidegate.connectors.option_types import OptionProblem
from tidegate.connectors.registry import (
    SHOWN,
    VIEWS,
    connector_of,
    connectors,
    found,
    meant,
    named,
)
from tidegate.plan.tables import Table
from unit.connectors.files_kit import COLUMNS, source


def test_connectors() -> None:
    assert sorted(each.name for each in connectors()) == [
        "blackhole",
        "datagen",
        "delta",
        "filesystem",
        "kafka",
        "nexmark",
        "postgres",
        "print",
    ]
    assert connector_of(source("/x")) is named(" FileSystem ")
    assert (named(SHOWN).is_shown, named(VIEWS).has_keys) == (True, True)


def test_other_words_for_them() -> None:
    assert named("posix_fs") is named("files") is named("filesystem")
    assert named("jdbc") is named("PostgreSQL") is named("postgres")


def test_a_variant_is_no_name() -> None:
    assert meant("upsert-kafka") is named("kafka")
    assert found("upsert-kafka") is None
    with pytest.raises(OptionProblem, match="unknown connector 'upsert-kafka'"):
        named("upsert-kafka")


def test_an_unknown_one() -> None:
    assert meant("filesistem") is found("filesistem") is None
    with pytest.raises(OptionProblem, match="unknown connector 'filesistem'") as caught:
        connector_of(Table("t", COLUMNS, "filesistem", ""))
    assert (caught.value.option, caught.value.hint) == (
        "connector",
        "did you mean 'filesystem'?",
    )
    with pytest.raises(OptionProblem) as caught:
        named("nothing-like-it")
    assert caught.value.hint.startswith("known: blackhole, datagen, delta, filesystem, kafka")


@pytest.mark.slow
def test_clients_are_loaded_where_their_connector_is_named() -> None:
    code = (
        "import sys; from tidegate.connectors.registry import named;"
        " [named(name) for name in ('filesystem', 'postgres', 'delta', 'print')];"
        " print({'confluent_kafka', 'psycopg', 'deltalake'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
