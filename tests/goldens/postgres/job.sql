-- Tables of a server; the run that made the checkpoint was killed when one of them had an epoch of
-- which the driver did not know, and the other had not.
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  connector = 'datagen', 'number-of-rows' = '1600', splits = '2', seed = '11', disorder = '8 s', customers = '40'
);

CREATE TABLE spent (customer_id BIGINT, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (customer_id) NOT ENFORCED)
WITH (connector = 'postgres', host = '127.0.0.1', port = '{port}', database = 'tide', 'table' = 'golden_spent',
  user = 'postgres', password = '{password}');
INSERT INTO spent SELECT customer_id, count(*), sum(price) FROM orders GROUP BY customer_id HAVING count(*) < 44;

CREATE SINK minutes AS
SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE) GROUP BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'postgres', host = '127.0.0.1', port = '{port}', database = 'tide', 'table' = 'golden_minutes',
  user = 'postgres', password = '{password}');
