"""`make kafka`: a broker for people, on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import tempfile
import threading
from pathlib import Path

from kafka.broker import Cluster


def main() -> None:
    """Starts brokers, says where they are, and waits."""
    parser = argparse.ArgumentParser(prog="make kafka", description=__doc__)
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--port", type=int, default=9092, help="of the first; others follow")
    parser.add_argument("--data", type=Path, help="kept if given; else temporary")
    given = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="tidegate-kafka-") as temporary:
        directory = given.data or Path(temporary)
        print("kafka: starting (the first time it is downloaded, half a minute)", flush=True)
        with Cluster(directory, given.brokers, port=given.port) as cluster:
            print(f"kafka: properties.bootstrap.servers = '{cluster.bootstrap}'", flush=True)
            print(f"kafka: data in {directory}; Ctrl-C stops it", flush=True)
            stop.wait()
    print("kafka: stopped")


if __name__ == "__main__":
    main()
