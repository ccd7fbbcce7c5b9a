-- Each order with the rate that was valid at its time, then their sum by minute.
CREATE TABLE orders (
  id BIGINT, currency STRING, note STRING, t TIMESTAMP(3),
  WATERMARK FOR t AS t - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'in/orders', 'format' = 'json');
CREATE TABLE rates (
  currency STRING, rate DECIMAL(10, 4), since TIMESTAMP(3),
  WATERMARK FOR since AS since - INTERVAL '1' MINUTE
) WITH ('connector' = 'filesystem', 'path' = 'in/rates', 'format' = 'json');

SELECT window_start, sum(rate) AS total
FROM TABLE(TUMBLE((
  SELECT o.t, r.rate
  FROM orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.t AS r
  ON o.currency = r.currency AND r.rate > 0
), DESCRIPTOR(t), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
