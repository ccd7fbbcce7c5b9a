"""The parent of all Python processes of a Spark on this machine: each is a fork, with all loaded.

    python -m tidegate.spark.launch.nursery SOCKET JVM      until the process JVM ends

Spark starts a process for each thing that it asks of a data source or of a stateful stage, and the
parent of its workers: five Pythons, one after the other, that import the same for one to two
seconds each before a job's first epoch. Here they are imported once, while the JVM starts. The
script ``python``, by which Spark starts its Python, becomes `borrow`, which sends its arguments,
environment and standard streams to the socket, and ends as the fork does that gets them. If it is
killed, so is the fork; if the nursery has gone, Python is started as ever.

What is loaded must start no threads, as in `daemon`.
"""

from __future__ import annotations

import array
import gc
import importlib
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Final

from tidegate.spark.launch.daemon import LOADED

_LOADED: Final = (
    *LOADED,
    "pyspark.daemon",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
)
_STREAMS: Final = 3
_HEADER: Final = struct.Struct("!I")
_NAME_MAX: Final = 15


def start_nursery(place: str, jvm: int) -> Popen[bytes]:
    """One for the processes that the process ``jvm`` starts, by a socket at ``place``, which is in
    a private directory. It ends with ``jvm``."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    environment = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        # As Spark starts its Python: hashes of texts are the same in all of them.
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-m", __name__, place, str(jvm)]
    return Popen(command, env=environment, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)


class _Nursery:
    """Forks until the process ``jvm`` ends."""

    def __init__(self, place: str, jvm: int) -> None:
        self._jvm = os.pidfd_open(jvm)
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(place)
        self._listener.listen(16)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._jvm, selectors.EVENT_READ)
        self._children: dict[int, tuple[int, socket.socket]] = {}
        """By the number of the file that says when it ends: its process, and who waits for it."""

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._fork()
                elif key.fd == self._jvm:
                    for end in self._children:
                        signal.pidfd_send_signal(end, signal.SIGTERM)
                    return
                elif key.fd in self._children:
                    self._ended(key.fd)
                else:
                    self._abandoned(key.data)

    def _fork(self) -> None:
        asked, _ = self._listener.accept()
        try:
            given = _received(asked)
        except (OSError, ValueError, EOFError):
            asked.close()
            return
        pid = os.fork()
        if pid == 0:
            for _, other in self._children.values():
                other.close()
            asked.close()
            self._listener.close()
            self._selector.close()
            os.close(self._jvm)
            _become(*given)
        for stream in given[0]:
            os.close(stream)
        end = os.pidfd_open(pid)
        self._children[end] = (pid, asked)
        self._selector.register(end, selectors.EVENT_READ)
        self._selector.register(asked, selectors.EVENT_READ, end)

    def _ended(self, end: int) -> None:
        pid, asked = self._children.pop(end)
        _, status = os.waitpid(pid, 0)
        with suppress(KeyError):
            self._selector.unregister(asked)
        self._selector.unregister(end)
        os.close(end)
        with suppress(OSError):
            asked.send(_HEADER.pack(os.waitstatus_to_exitcode(status) & 0xFFFFFFFF))
        asked.close()

    def _abandoned(self, end: int) -> None:
        """Who waited for it was killed."""
        self._selector.unregister(self._children[end][1])
        signal.pidfd_send_signal(end, signal.SIGTERM)


def _received(asked: socket.socket) -> tuple[list[int], list[bytes], bytes, list[bytes]]:
    """Streams, arguments, directory and environment."""
    head, sent, _, _ = asked.recvmsg(
        _HEADER.size, socket.CMSG_LEN(_STREAMS * array.array("i").itemsize)
    )
    streams = array.array("i")
    for _, _, content in sent:
        streams.frombytes(content)
    (size,) = _HEADER.unpack(head)
    body = b""
    while len(body) < size:
        part = asked.recv(size - len(body))
        if not part:
            raise EOFError
        body += part
    count, *rest = body.split(b"\0")
    arguments = int(count)
    return list(streams), rest[:arguments], rest[arguments], rest[arguments + 1 :]


def _become(
    streams: list[int], arguments: list[bytes], directory: bytes, environment: Sequence[bytes]
) -> None:
    """Goes on as ``python -m MODULE …`` does. Never returns."""
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        pairs = (each.partition(b"=") for each in environment)
        os.environb.update((name, value) for name, _, value in pairs)
        with suppress(OSError):
            os.chdir(directory)
        added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        sys.path[:0] = [path for path in added if path not in sys.path]
        _, module, *words = [os.fsdecode(each) for each in arguments]
        Path("/proc/self/comm").write_text(module[-_NAME_MAX:])  # as `ps` shows it
        sys.argv = [module, *words]
        sys.modules.pop(module, None)
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for output in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                output.flush()
        os._exit(code)


def main() -> None:
    """Serves the socket that is named."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else a fork's first collection writes to every page that it shares
    with suppress(ProcessLookupError):  # it has ended by now
        _Nursery(sys.argv[1], int(sys.argv[2])).run()


if __name__ == "__main__":
    main()
