-- A watermark on another column's: one account.
CREATE SOURCE orders (id BIGINT, order_time TIMESTAMP, paid_time TIMESTAMP)
WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK good AS
SELECT id, order_time, paid_time FROM WATERMARK(
  WATERMARK(orders, order_time, order_time - INTERVAL '1' MINUTE), paid_time, paid_time)
WITH (connector = 'filesystem', path = 'out/good') FORMAT PLAIN ENCODE JSON;
