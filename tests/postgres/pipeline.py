"""A database that changes, and a table of another one that a job keeps equal to a query over it.

    python -m postgres.pipeline [--rows N] [--seconds N] [--writers N] [--kills N] [--seed N]

The source is a PostgreSQL with logical decoding, which *writers* change without pause. Debezium
says so in Kafka's topics; a job joins two of them, sums, takes the first rows of each city, and
writes them into PostgreSQL. The *nemesis* kills the job's driver again and again, and Debezium
once, so that it says things twice. When the writers have ended the job's table must become what the
same query says in the source, and nothing may have been refused.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from kafka.broker import Cluster
from kafka.kit import Kit
from postgres.debezium import PREFIX, Debezium
from postgres.kit import PASSWORD, VARIABLE
from postgres.server import Server
from spark.orders import ledger_of
from spark.processes import Command, Commands, wait_until

_CITIES: Final = 40
_PARTITIONS: Final = 3
_PER_CUSTOMER: Final = 20
_PATIENCE_S: Final = 240.0
LOGICAL: Final = {"wal_level": "logical", "log_statement": "none"}
"""What the server is set to."""
_TABLES: Final = """
CREATE TABLE customers (id INT PRIMARY KEY, city INT NOT NULL);
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT NOT NULL, amount NUMERIC(12, 2));
CREATE TABLE best (city INT, rn BIGINT, customer INT, total NUMERIC(38, 2), PRIMARY KEY (city, rn));
INSERT INTO customers SELECT i, i % {cities} FROM generate_series(0, {customers} - 1) AS s(i);
INSERT INTO orders SELECT i, i % {customers}, (i % 9973) / 7.0 FROM generate_series(1, {rows}) AS i
"""
QUERY: Final = """
SELECT city, rn, customer, total FROM (
  SELECT *, row_number() OVER (PARTITION BY city ORDER BY total DESC, customer) AS rn
  FROM (
    SELECT c.city, o.customer, sum(o.amount) AS total
    FROM orders AS o JOIN customers AS c ON o.customer = c.id
    GROUP BY c.city, o.customer
  ) AS sums
) AS numbered
WHERE rn <= 3"""
_PUT: Final = """
INSERT INTO orders VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE SET amount = EXCLUDED.amount"""
_JOB: Final = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, amount DECIMAL(12, 2)) WITH (
  connector = 'kafka', topic = '{prefix}.public.orders', properties.bootstrap.servers = '{servers}'
) FORMAT DEBEZIUM ENCODE JSON;
CREATE TABLE customers (id INT PRIMARY KEY, city INT) WITH (
  connector = 'kafka', topic = '{prefix}.public.customers',
  properties.bootstrap.servers = '{servers}'
) FORMAT DEBEZIUM ENCODE JSON;
CREATE TABLE best (city INT, rn BIGINT, customer INT, total DECIMAL(38, 2),
  PRIMARY KEY (city, rn) NOT ENFORCED)
WITH (connector = 'jdbc', url = 'jdbc:postgresql://127.0.0.1:{port}/tide', username = 'postgres',
  password = '${{env:{password}}}', 'table-name' = 'best');
INSERT INTO best {query};
"""


@dataclass
class Pipeline:
    """One run: ``rows`` orders at first, ``writers`` that write for ``seconds``, so many ``kills``
    of the driver. ``changes``: how many rows they have written, deleted ones too."""

    server: Server
    kafka: Kit
    directory: Path
    rows: int
    seconds: float
    writers: int
    kills: int
    seed: int = 1
    schemas: bool = False
    pause_s: float = 0.05
    changes: int = 0
    killed: list[str] = field(default_factory=list)

    def run(self, commands: Commands) -> None:
        """Raises AssertionError where the table does not end in what is right."""
        customers = max(_CITIES, self.rows // _PER_CUSTOMER)
        given = {"cities": _CITIES, "customers": customers, "rows": self.rows}
        for statement in _TABLES.format(**given).split(";"):
            self.server.run(statement)
        for table in ("orders", "customers"):
            self.kafka.make(f"{PREFIX}.public.{table}", _PARTITIONS)
        with Debezium(
            self.server, self.kafka.bootstrap, self.directory / "debezium",
            ("orders", "customers"), self.schemas,
        ) as debezium:  # fmt: skip
            self._wait_for_debezium()
            until = time.monotonic() + self.seconds
            threads = [
                threading.Thread(target=self._write, args=(number, customers, until), daemon=True)
                for number in range(self.writers)
            ]
            for thread in threads:
                thread.start()
            job = self._kill(commands, debezium, until)
            for thread in threads:
                thread.join()
            self._judge(job)

    def _wait_for_debezium(self) -> None:
        """Until it has begun to read what is there."""
        topic = f"{PREFIX}.public.orders"
        wait_until(lambda: sum(self.kafka.ends(topic).values()) > 0, "it says a row", _PATIENCE_S)

    def _write(self, number: int, customers: int, until: float) -> None:
        """One writer: transactions of a few rows each."""
        rng = Random(f"{self.seed}/{number}")
        with self.server.connect() as connection:
            while time.monotonic() < until:
                with connection.transaction():
                    for _ in range(rng.randint(1, 20)):
                        connection.execute(*self._statement(rng, customers))
                        self.changes += 1
                time.sleep(self.pause_s * rng.random())

    def _statement(self, rng: Random, customers: int) -> tuple[str, tuple[Any, ...]]:
        id_, customer = rng.randint(1, self.rows), rng.randrange(customers)
        amount = rng.randrange(1_000_000) / 100
        match rng.randrange(10):
            case 0:
                city = rng.randrange(_CITIES)
                return "UPDATE customers SET city = %s WHERE id = %s", (city, customer)
            case 1 | 2:
                return "DELETE FROM orders WHERE id = %s", (id_,)
            case 3:
                return "UPDATE orders SET customer = %s WHERE id = %s", (customer, id_)
            case _:
                return _PUT, (id_, customer, amount)

    def _kill(self, commands: Commands, debezium: Debezium, until: float) -> Command:
        """Starts the job and kills it, as often as is said while the writers write; the last one
        is left running."""
        rng = Random(self.seed)
        file = self.directory / "job.sql"
        file.write_text(
            _JOB.format(
                prefix=PREFIX, servers=self.kafka.bootstrap, port=self.server.port,
                password=VARIABLE, query=QUERY,
            ),
            encoding="utf-8",
        )  # fmt: skip
        args = ["run", file, "--checkpoint", self._checkpoint]
        for kill in range(self.kills):
            command = commands.start(*args)
            known = self._epochs()
            self._wait_for_an_epoch(known)
            left = max(0.0, until - time.monotonic()) / (self.kills - kill)
            time.sleep(left * (0.5 + 0.5 * rng.random()) if left else rng.random())
            command.kill_driver()
            killed = command.wait()
            assert killed.code == -signal.SIGKILL, killed.err
            command.wait_for_family(60)
            self.killed.append(f"driver after epoch {self._epochs()}")
            if kill == self.kills // 2:
                debezium.kill()
                debezium.start()
                self.killed.append("Debezium")
        last = commands.start(*args)
        last.wait_for_line(" is up")  # before that a signal to stop ends it at once
        return last

    def _wait_for_an_epoch(self, known: int) -> None:
        wait_until(lambda: self._epochs() > known, f"epoch {known + 1} is done", _PATIENCE_S)

    @property
    def _checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    def _epochs(self) -> int:
        """The last epoch that is in the log."""
        found = [int(file.stem) for file in (self._checkpoint / "epochs").glob("*.json")]
        return max(found, default=0)

    def _judge(self, job: Command) -> None:
        wanted = self._rows(QUERY)
        assert wanted
        last: list[Any] = []

        def is_equal() -> bool:
            assert job.is_running, job.err
            last[:] = self._rows("SELECT city, rn, customer, total FROM best")
            time.sleep(0.5)
            return last == wanted

        try:
            wait_until(is_equal, "the table is what the source says", _PATIENCE_S)
        except AssertionError as error:
            more, less = (list(set(a) - set(b))[:5] for a, b in ((last, wanted), (wanted, last)))
            raise AssertionError(f"{error}: too many {more}, missing {less}") from None
        job.stop()
        ended = job.wait()
        assert ended.code == 0, ended.err
        assert self._rows("SELECT city, rn, customer, total FROM best") == wanted
        counts = ledger_of(self._checkpoint)["counts"]
        assert (counts["late"], counts["quarantined"]) == (0, 0), counts
        assert counts["read"] == counts["used"] > self.rows, counts

    def _rows(self, query: str) -> list[Any]:
        return sorted(self.server.run(query))


def main() -> int:
    """A run of any size, with processes of its own; see the module."""
    parser = argparse.ArgumentParser(prog="python -m postgres.pipeline", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ[VARIABLE] = PASSWORD
    with tempfile.TemporaryDirectory(prefix="tidegate-pipeline-") as name:
        base = Path(name)
        with (
            Server(settings=LOGICAL) as server,
            Cluster(base / "kafka") as cluster,
            Commands(base) as commands,
        ):
            pipeline = Pipeline(
                server, Kit(cluster.bootstrap), base, given.rows, given.seconds, given.writers,
                given.kills, given.seed,
            )  # fmt: skip
            pipeline.run(commands)
    told = {"rows": given.rows, "changes": pipeline.changes, "killed": pipeline.killed}
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
