-- Sessions: the orders of a customer that follow each other within ten minutes, as one visit.
--
--   .venv/bin/tidegate run jobs/sessions.sql
--
-- What it shows:
--   * sessions that merge: an order that comes late, but not too late, joins two visits into one;
--   * a visit leaves once, when the watermark has passed its last order and the gap;

CREATE SOURCE orders (
  id          BIGINT,
  order_time  TIMESTAMP,
  price       DECIMAL(10, 2),
  customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' MINUTE
) WITH (
  connector = 'datagen',
  number-of-rows = '20000',
  splits = '4',
  seed = '2',
  start = '2025-12-01 08:00:00',
  step = '5 s',
  disorder = '5 min',
  late-share = '0.01',
  customers = '300'
);

CREATE VIEW visits AS
SELECT customer_id, window_start, window_end, count(*) AS orders, sum(price) AS spent
FROM SESSION(orders, order_time, customer_id, INTERVAL '10' MINUTE)
GROUP BY customer_id, window_start, window_end
EMIT ON WINDOW CLOSE;

CREATE SINK finished FROM visits
WITH (connector = 'filesystem', path = 'out/sessions') FORMAT PLAIN ENCODE JSON;
