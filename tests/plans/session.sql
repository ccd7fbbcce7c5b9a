-- Sessions grouped where they are, rows of sessions, and groups that need another exchange.
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10,2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND
) WITH (connector = 'filesystem', path = 'in') FORMAT PLAIN ENCODE JSON;

CREATE SINK visits AS
SELECT customer_id AS who, window_start, window_end, count(*) AS n
FROM SESSION(orders, order_time, customer_id, INTERVAL '30' SECOND)
GROUP BY window_start, window_end, customer_id EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');

CREATE SINK ends AS
SELECT window_end, count(*) AS n
FROM SESSION(orders, order_time, customer_id, INTERVAL '30' SECOND)
GROUP BY window_end EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');

CREATE SINK rows AS
SELECT id, order_time, window_end
FROM SESSION(orders, order_time, INTERVAL '30' SECOND)
EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');
