-- CURRENT_WATERMARK: one query asks, another doesn't; both share the filter and its account.
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS SOURCE_WATERMARK()
) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json', 'scan.watermark.source.quantile' = '0.99'
);

CREATE SINK behind AS
SELECT id, order_time - CURRENT_WATERMARK(order_time) AS ahead
FROM orders
WHERE CURRENT_WATERMARK(order_time) IS NOT NULL;

CREATE SINK minutes AS
SELECT window_end, count(*) AS n
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_end
EMIT ON WINDOW CLOSE;
