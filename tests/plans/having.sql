-- HAVING by an aggregate that is not selected, over two keys of which one ends the other's watermark.
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer VARCHAR,
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK big AS
SELECT window_start, order_time, customer, count(*) AS n
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_start, order_time, customer
HAVING sum(price) >= 10
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = 'out/big') FORMAT PLAIN ENCODE JSON;
