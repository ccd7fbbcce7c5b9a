"""Orders as a shop has them, all the time: some late, a few malformed, one region quiet at times.

python orders.py SERVERS TOPIC ROWS_PER_S

Times lie within two seconds of now, 1 % of them up to a minute back; one in a thousand is no JSON.
"""

import json
import random
import signal
import sys
import time

from confluent_kafka import Producer

REGIONS = ("north", "east", "south", "west")


def main() -> None:
    servers, topic, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    producer = Producer(
        {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 20, "log_level": 2}
    )
    numbers = random.Random()
    began, sent = time.time(), 0
    while True:
        due = int((time.time() - began) * rate)
        while sent < due:
            key, value = order(numbers, sent)
            try:
                producer.produce(topic, value, key)
            except BufferError:  # the brokers are away: the rows wait here
                producer.poll(0.5)
                continue
            sent += 1
        producer.poll(0)
        time.sleep(0.05)


def order(numbers: random.Random, number: int) -> tuple[str, bytes]:
    customer = int(numbers.paretovariate(1.2)) % 1_000
    back_s = numbers.uniform(5, 60) if numbers.random() < 0.01 else numbers.uniform(0, 2)
    if numbers.random() < 0.001:
        return str(customer), b'{"id": '
    document = {
        "id": number,
        "order_time": stamp(time.time() - back_s),
        "customer_id": customer,
        "region": REGIONS[customer % len(REGIONS)],
        "price": round(numbers.lognormvariate(3, 1), 2),
    }
    return str(customer), json.dumps(document).encode()


def stamp(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}"


if __name__ == "__main__":
    main()
