-- The RFC's order query: the watermark declared in the query (seed 000).
CREATE SOURCE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL, customer_id BIGINT)
WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK hourly AS
SELECT customer_id, window_end AS order_hour, SUM(price) AS sum_price
FROM TUMBLE(
  WATERMARK(orders, order_time, order_time - INTERVAL '1' MINUTE), order_time, INTERVAL '1' HOUR)
GROUP BY window_end, customer_id
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = 'out/hourly') FORMAT PLAIN ENCODE JSON;
