-- The main job: orders from several disordered splits, in RisingWave's syntax.
--
--   .venv/bin/tidegate run jobs/orders.sql
--
-- What it shows:
--   * one watermark per split: each directory below out/demo/orders is a split, and a row is late
--     only against what its own split has already shown;
--   * windows that close, and sorted rows that leave, in the epoch in which the slowest split's
--     watermark passes them;
--   * one Spark query for all of it: `orders` is read once, whatever the number of sinks;
--   * every late or unreadable row in the ledger: .venv/bin/tidegate ledger CHECKPOINT

CREATE SOURCE orders (
  id          BIGINT,
  order_time  TIMESTAMP,
  price       DECIMAL(10, 2),
  customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  connector = 'filesystem',
  path = 'out/demo/orders'
) FORMAT PLAIN ENCODE JSON;

-- Revenue of each customer in each minute, written once, when the minute is over for every split.
CREATE SINK revenue AS
SELECT window_start, window_end, customer_id, count(*) AS order_count, sum(price) AS sum_price
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_start, window_end, customer_id
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem',
  path = 'out/demo/revenue'
) FORMAT PLAIN ENCODE JSON;

-- Large orders in the order of their time: one total order over all files of the sink.
CREATE SINK large_orders AS
SELECT order_time, id, customer_id, price
FROM orders
WHERE price >= 90
ORDER BY order_time
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem',
  path = 'out/demo/large_orders'
) FORMAT PLAIN ENCODE JSON;
