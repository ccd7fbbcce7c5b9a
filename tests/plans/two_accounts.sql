-- Two WATERMARK() on one table: read once, two filters, two accounts.
CREATE SOURCE orders (id BIGINT, order_time TIMESTAMP)
WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK strict AS SELECT id FROM WATERMARK(orders, order_time, order_time)
WITH (connector = 'filesystem', path = 'out/strict') FORMAT PLAIN ENCODE JSON;

CREATE SINK patient AS
SELECT id, order_time FROM WATERMARK(orders, order_time, order_time - INTERVAL '1' HOUR)
WITH (connector = 'filesystem', path = 'out/patient') FORMAT PLAIN ENCODE JSON;
