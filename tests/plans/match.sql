CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT, note STRING,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

-- A match ends within an hour; its times have the watermark, and windows of them close.
CREATE SINK falls AS
SELECT window_end, count(*) AS falls, max(depth) AS deepest
FROM TUMBLE(
  (
    SELECT * FROM orders MATCH_RECOGNIZE (
      PARTITION BY customer_id ORDER BY order_time
      MEASURES LAST(DOWN.order_time) AS ended, FIRST(price) - LAST(DOWN.price) AS depth
      AFTER MATCH SKIP TO LAST DOWN
      PATTERN (BEGIN_ DOWN{2,} UP?) WITHIN INTERVAL '1' HOUR
      DEFINE DOWN AS price < PREV(price), UP AS COUNT(DOWN.*) > 3
    )
  ),
  ended, INTERVAL '1' DAY
)
GROUP BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'print');

-- So many rows at the most.
CREATE SINK pairs AS
SELECT a, b FROM orders
MATCH_RECOGNIZE (ORDER BY order_time MEASURES A.id AS a, B.id AS b PATTERN (A B) DEFINE B AS B.price = A.price)
WITH (connector = 'print');

-- As many as there may be.
CREATE SINK runs AS
SELECT customer_id, n FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer_id ORDER BY order_time MEASURES COUNT(*) AS n
  PATTERN (A+ B) DEFINE A AS price > 10
) ALLOW UNBOUNDED
WITH (connector = 'print');
