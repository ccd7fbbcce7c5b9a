-- Panes that two windows share, one that reads its window besides, and rows as they are.
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10,2),
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND
) WITH (connector = 'filesystem', path = 'in') FORMAT PLAIN ENCODE JSON;

CREATE SINK minutely AS
SELECT window_start, window_end, count(*) AS n
FROM HOP(orders, order_time, INTERVAL '20' SECOND, INTERVAL '1' MINUTE)
GROUP BY window_start, window_end EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');

CREATE SINK grown AS
SELECT window_start, window_end, count(*) AS n
FROM CUMULATE(orders, order_time, INTERVAL '20' SECOND, INTERVAL '1' HOUR)
GROUP BY window_start, window_end EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');

CREATE SINK early AS
SELECT window_end, max(order_time - window_start) AS n
FROM HOP(orders, order_time, INTERVAL '20' SECOND, INTERVAL '1' MINUTE)
GROUP BY window_end EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');

CREATE SINK rows AS
SELECT id, window_end FROM HOP(orders, order_time, INTERVAL '20' SECOND, INTERVAL '1' MINUTE)
WITH (connector = 'blackhole');
