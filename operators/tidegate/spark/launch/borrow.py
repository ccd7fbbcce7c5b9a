"""Stands for a process that the nursery has forked (see `nursery`): the script `python` becomes it.

It imports next to nothing, for Python starts in a few milliseconds so: `socket` would double that.
"""

import _socket
import os
import sys


def main() -> None:
    """Sends what it was given, and ends as the fork ends."""
    here = os.getcwdb()  # noqa: PTH109 -- pathlib would take longer than all else here
    body = [b"%d" % len(sys.argv[1:]), *map(os.fsencode, sys.argv[1:]), here]
    text = b"\0".join([*body, *(name + b"=" + value for name, value in os.environb.items())])
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    try:
        nursery = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        nursery.connect(os.environ["TIDEGATE_NURSERY"])
        sent = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
        nursery.sendmsg([len(text).to_bytes(4, "big")], sent)
        nursery.sendall(text)
    except OSError:  # it has gone
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    for number in range(3):
        os.close(number)  # else whoever reads them waits for this process, too
    answer = nursery.recv(4)
    code = int.from_bytes(answer, "big", signed=True) if len(answer) == 4 else 1
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
