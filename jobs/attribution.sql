-- Attribution: which pages a customer had seen in the ten minutes before each order.
--
--   .venv/bin/tidegate run jobs/attribution.sql --set tidegate.epoch.rows.max=2000
--
-- What it shows:
--   * a join of two sources by time: each order with the views of its customer, or with none as soon
--     as the watermark of the views has passed the order, so that none can come any more; what both
--     watermarks have passed leaves the state;
--   * two sources of different pace in one alignment group. The views of a split are a second apart,
--     its orders ten, and an epoch reads equally many of both: left alone, the orders run
--     hours ahead of the views, and wait in the join's state for them. Here they are not read on
--     while they are more than half an hour ahead: nothing is buffered, and nothing is lost.
--     .venv/bin/tidegate watermarks CHECKPOINT shows how far each split is.

CREATE SOURCE views (
  id          BIGINT,
  seen_at     TIMESTAMP,
  customer_id BIGINT,
  WATERMARK FOR seen_at AS seen_at - INTERVAL '20' SECOND
) WITH (
  connector = 'datagen',
  number-of-rows = '60000',
  splits = '2',
  seed = '3',
  start = '2025-12-01 08:00:00',
  step = '1 s',
  disorder = '20 s',
  late-share = '0.01',
  customers = '300',
  scan.watermark.alignment.group = 'shop',
  scan.watermark.alignment.max-drift = '30 min',
  scan.watermark.alignment.update-interval = '1 ms'
);

CREATE SOURCE orders (
  id          BIGINT,
  order_time  TIMESTAMP,
  price       DECIMAL(10, 2),
  customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH (
  connector = 'datagen',
  number-of-rows = '6000',
  splits = '2',
  seed = '4',
  start = '2025-12-01 08:00:00',
  step = '10 s',
  disorder = '1 min',
  late-share = '0.01',
  customers = '300',
  scan.watermark.alignment.group = 'shop',
  scan.watermark.alignment.max-drift = '30 min',
  scan.watermark.alignment.update-interval = '1 ms'
);

CREATE SINK attribution AS
SELECT o.id AS order_id, o.order_time, o.price, v.id AS view_id, v.seen_at
FROM orders AS o LEFT JOIN views AS v
ON o.customer_id = v.customer_id
  AND v.seen_at BETWEEN o.order_time - INTERVAL '10' MINUTE AND o.order_time
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem',
  path = 'out/attribution'
) FORMAT PLAIN ENCODE JSON;
