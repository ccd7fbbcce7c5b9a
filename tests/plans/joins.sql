-- A window join, counted by its own windows; an interval join whose output is windowed; a union of
-- grouped and plain rows. EXPLAIN says which watermarks each minimum is of.
CREATE SOURCE orders (
  id BIGINT, customer BIGINT, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL '5' SECOND
) WITH (connector = 'filesystem', path = 'in/orders') FORMAT PLAIN ENCODE JSON;
CREATE SOURCE payments (
  order_id BIGINT, amount BIGINT, paid_at TIMESTAMP,
  WATERMARK FOR paid_at AS paid_at - INTERVAL '1' MINUTE
) WITH (connector = 'filesystem', path = 'in/payments') FORMAT PLAIN ENCODE JSON;

CREATE SINK both_at_once AS
SELECT o.window_start, o.window_end, o.customer, count(*) AS n
FROM TUMBLE(orders, t, INTERVAL '1' MINUTE) AS o
JOIN TUMBLE(payments, paid_at, INTERVAL '1' MINUTE) AS p
ON o.window_start = p.window_start AND o.window_end = p.window_end AND o.id = p.order_id
GROUP BY o.window_start, o.window_end, o.customer
EMIT ON WINDOW CLOSE
WITH (connector = 'blackhole');

CREATE SINK paid AS
SELECT window_end, sum(amount) AS amount
FROM TUMBLE((
  SELECT o.t, p.amount FROM orders AS o LEFT JOIN payments AS p
  ON o.id = p.order_id AND p.paid_at BETWEEN o.t AND o.t + INTERVAL '1' HOUR AND p.amount > o.customer
), t, INTERVAL '1' MINUTE)
GROUP BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'blackhole');

CREATE SINK traffic AS
SELECT window_end, count(*) AS n
FROM TUMBLE((SELECT t FROM orders UNION ALL SELECT paid_at FROM payments), t, INTERVAL '1' MINUTE)
GROUP BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'blackhole');
