-- Expressions that keep the watermark, and expressions that lose it.
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP,
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK derived AS
SELECT
  order_time + INTERVAL '1' HOUR AS later,
  date_trunc('day', order_time) AS day,
  order_time + INTERVAL '1' MONTH AS next_month,
  order_time + id * INTERVAL '1' DAY AS shifted,
  id + 1 AS next_id
FROM orders
WITH (connector = 'filesystem', path = 'out/derived') FORMAT PLAIN ENCODE JSON;
