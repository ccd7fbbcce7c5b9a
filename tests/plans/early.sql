-- Results before they are final: of windows whose panes are shared, in a view; of hours; Flink's form.
CREATE TABLE orders (
  order_time TIMESTAMP(3), price DECIMAL(10, 2), customer_id BIGINT, number BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH ('connector' = 'filesystem', 'path' = '/in/orders', 'format' = 'json');

CREATE MATERIALIZED VIEW spent AS
SELECT window_end, customer_id, count(DISTINCT price) AS prices, sum(price) AS total
FROM HOP(orders, order_time, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)
GROUP BY window_end, customer_id
HAVING count(*) > 10
EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '90' SECOND;

CREATE SINK hourly AS
SELECT DATE_TRUNC('hour', order_time) AS at, max(price) AS highest FROM orders
GROUP BY 1
EMIT EARLY EVERY '5 minutes' ON WINDOW CLOSE;

CREATE VIEW daily AS
SELECT window_end, first_value(number) AS first_number
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' DAY))
GROUP BY window_end;

CREATE SINK days FROM daily EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '1' HOUR;
