-- LEAD as of seed 000, whose WHERE names what it computes; frames of rows and of time, and from the
-- first row on; the dearest three of each window.
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK alerts AS
SELECT customer_id, price, order_time,
  lead(price, 1) OVER w AS next_price,
  lead(order_time, 1) OVER w AS next_order_time
FROM orders
WHERE id > 0 AND abs(next_price - price) > 10000 AND next_order_time - order_time < INTERVAL '30' SECOND
WINDOW w AS (PARTITION BY customer_id ORDER BY order_time)
WITH (connector = 'blackhole');

CREATE SINK totals AS
SELECT id,
  sum(price) OVER (PARTITION BY customer_id ORDER BY order_time) AS so_far,
  avg(price) OVER (PARTITION BY customer_id ORDER BY order_time ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS last_ten,
  count(*) OVER (ORDER BY order_time RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS last_hour
FROM orders
WITH (connector = 'blackhole');

CREATE SINK dearest AS
SELECT window_end, id, price, n
FROM (
  SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS n
  FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)
)
WHERE n <= 3
WITH (connector = 'blackhole');
