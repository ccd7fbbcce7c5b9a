-- The RFC's strategy that asks the clock, as a CTE (seed 000).
CREATE SOURCE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2))
WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK minutes AS
WITH watermarked_orders AS (
  WATERMARK(orders, order_time,
    CASE WHEN order_time > PROC_TIME() THEN NULL ELSE order_time - INTERVAL '1' MINUTE END)
)
SELECT window_start, count(*) AS n
FROM TUMBLE(watermarked_orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_start
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = 'out/minutes') FORMAT PLAIN ENCODE JSON;
