"""Headers that Python's client cannot write, by the library that it stands on."""

from __future__ import annotations

import ctypes
from pathlib import Path

import confluent_kafka

_TOPIC, _PARTITION, _VALUE, _FLAGS, _HEADER, _END = 1, 3, 4, 7, 9, 0
_COPY = 2


def put_header(bootstrap: str, topic: str, value: bytes, name: bytes, content: bytes) -> None:
    """Writes a message with one header into partition 0. ``name`` may be any bytes but zero."""
    (path,) = Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*")
    library = ctypes.CDLL(str(path))
    library.rd_kafka_conf_new.restype = library.rd_kafka_new.restype = ctypes.c_void_p
    error = ctypes.create_string_buffer(500)
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    servers = bootstrap.encode()
    assert library.rd_kafka_conf_set(conf, b"bootstrap.servers", servers, error, 500) == 0
    producer = ctypes.c_void_p(library.rd_kafka_new(0, conf, error, 500))
    assert producer.value, error.value
    arguments = [
        *(ctypes.c_int(_TOPIC), ctypes.c_char_p(topic.encode())),
        *(ctypes.c_int(_PARTITION), ctypes.c_int32(0)),
        *(ctypes.c_int(_VALUE), ctypes.c_char_p(value), ctypes.c_size_t(len(value))),
        *(ctypes.c_int(_FLAGS), ctypes.c_int(_COPY)),
        *(ctypes.c_int(_HEADER), ctypes.c_char_p(name), ctypes.c_char_p(content)),
        *(ctypes.c_ssize_t(len(content)), ctypes.c_int(_END)),
    ]
    assert library.rd_kafka_producev(producer, *arguments) == 0
    assert library.rd_kafka_flush(producer, 30_000) == 0
    library.rd_kafka_destroy(producer)
