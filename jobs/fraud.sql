-- Fraud detection: two orders of one customer within half a minute whose prices lie far apart.
--
--   .venv/bin/tidegate run jobs/fraud.sql --checkpoint out/fraud
--
-- What it shows:
--   * LEAD in the order of event time, over orders that come up to half a minute out of order: an
--     order leaves when the next one of its customer is known for good;
--   * a watermark that the query declares, not the table;
--   * aliases of the SELECT list in WHERE;
--   * a materialized view: out/fraud/views/alerts is a Delta table, to be queried meanwhile.

CREATE SOURCE orders (
  id          BIGINT,
  order_time  TIMESTAMP,
  price       DECIMAL(10, 2),
  customer_id BIGINT
) WITH (
  connector = 'datagen',
  number-of-rows = '20000',
  splits = '4',
  seed = '1',
  start = '2025-12-01 08:00:00',
  step = '2 s',
  disorder = '30 s',
  late-share = '0.01',
  customers = '200'
);

CREATE MATERIALIZED VIEW alerts AS
SELECT
  customer_id,
  price,
  order_time,
  lead(price, 1) OVER w AS next_price,
  lead(order_time, 1) OVER w AS next_order_time
FROM
  WATERMARK(orders, order_time, order_time - INTERVAL '30' SECOND)
WHERE
  abs(next_price - price) > 800
  AND next_order_time - order_time < INTERVAL '30' SECOND
WINDOW w AS (
  PARTITION BY customer_id
  ORDER BY order_time
);
