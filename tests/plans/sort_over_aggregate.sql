-- A sort over an aggregate: three exchanges, two stages of state and one of the last merge.
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2),
  WATERMARK FOR order_time AS order_time - INTERVAL '1' MINUTE
) WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;

CREATE SINK ranked AS
SELECT window_end, total FROM (
  SELECT window_end, sum(price) AS total
  FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
  GROUP BY window_end
  EMIT ON WINDOW CLOSE
)
ORDER BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = 'out/ranked') FORMAT PLAIN ENCODE JSON;
