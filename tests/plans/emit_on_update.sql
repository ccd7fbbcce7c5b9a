-- Results that change: of windows, whose groups go; of all time, whose groups stay; in a view.
CREATE TABLE orders (
  order_time TIMESTAMP(3), price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH ('connector' = 'filesystem', 'path' = '/in/orders', 'format' = 'json');

CREATE MATERIALIZED VIEW spent AS
SELECT customer_id, count(DISTINCT price) AS prices, sum(price) AS total FROM orders
GROUP BY customer_id
ALLOW UNBOUNDED;

CREATE SINK hourly WITH (connector = 'print') AS
SELECT window_end, count(*) AS n
FROM HOP(orders, order_time, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)
GROUP BY window_end
HAVING count(*) > 10;

SELECT count(*) AS n FROM orders;
