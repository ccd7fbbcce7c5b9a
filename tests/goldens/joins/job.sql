-- Joins, patterns, and sources that end: the run that made the checkpoint was killed in the middle.
-- A path is part of what a job is, and these are the same wherever the job is unpacked and run.
CREATE TABLE orders (
  id BIGINT, currency STRING, amount DECIMAL(10, 2), t TIMESTAMP(3), customer_id BIGINT,
  WATERMARK FOR t AS t - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '/proc/self/cwd/in/orders/*/2024-*', 'format' = 'json');

CREATE TABLE payments (
  id BIGINT, order_id BIGINT, paid DECIMAL(10, 2), t TIMESTAMP(3),
  WATERMARK FOR t AS t - INTERVAL '8' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/payments', 'format' = 'csv',
  'csv.field-delimiter' = ';', 'source.split' = 'file'
);

CREATE TABLE rates (
  currency STRING, rate DECIMAL(10, 4), since TIMESTAMP(3),
  WATERMARK FOR since AS since - INTERVAL '2' SECOND, PRIMARY KEY (currency) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '/proc/self/cwd/in/rates', 'format' = 'parquet');

-- They have no watermark and end: lookups. One has ended when the run is killed, one has not.
CREATE TABLE customers (id BIGINT, name STRING)
WITH ('connector' = 'filesystem', 'path' = '/proc/self/cwd/in/customers', 'format' = 'csv', 'csv.header' = 'true');
CREATE TABLE places (customer_id BIGINT, place STRING)
WITH ('connector' = 'filesystem', 'path' = '/proc/self/cwd/in/places', 'format' = 'json');

CREATE SINK within AS
SELECT o.id, o.t, p.id AS payment, p.paid
FROM orders AS o JOIN payments AS p
ON o.id = p.order_id AND p.t BETWEEN o.t - INTERVAL '10' SECOND AND o.t + INTERVAL '20' SECOND AND p.paid < o.amount
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/within') FORMAT PLAIN ENCODE JSON;

CREATE SINK both_sides AS
SELECT o.id, p.id AS payment
FROM orders AS o FULL JOIN payments AS p
ON o.id = p.order_id AND p.t BETWEEN o.t AND o.t + INTERVAL '12' SECOND
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/both_sides') FORMAT PLAIN ENCODE JSON;

CREATE SINK unpaid AS
SELECT o.id, o.t FROM orders AS o LEFT ANTI JOIN payments AS p
ON o.id = p.order_id AND p.t BETWEEN o.t - INTERVAL '30' SECOND AND o.t + INTERVAL '30' SECOND
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/unpaid') FORMAT PLAIN ENCODE JSON;

CREATE SINK in_windows AS
SELECT o.window_end, o.id, p.id AS payment
FROM TUMBLE(orders, t, INTERVAL '20' SECOND) AS o
LEFT JOIN TUMBLE(payments, t, INTERVAL '20' SECOND) AS p
ON o.window_start = p.window_start AND o.window_end = p.window_end AND o.id = p.order_id
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/in_windows') FORMAT PLAIN ENCODE JSON;

-- What is joined is grouped by windows in turn.
CREATE SINK rated AS
SELECT window_end, currency, sum(amount * rate) AS total, count(rate) AS n
FROM TUMBLE((
  SELECT o.t, o.currency, o.amount, r.rate
  FROM orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.t AS r ON o.currency = r.currency
), t, INTERVAL '30' SECOND)
GROUP BY window_end, currency
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/rated') FORMAT PLAIN ENCODE JSON;

CREATE SINK named AS
SELECT o.id, c.name FROM orders AS o LEFT JOIN customers AS c ON o.customer_id = c.id
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/named') FORMAT PLAIN ENCODE JSON;
CREATE SINK placed AS
SELECT o.id, x.place FROM orders AS o JOIN places AS x ON o.customer_id = x.customer_id AND o.amount > 85
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/placed') FORMAT PLAIN ENCODE JSON;

CREATE SINK united AS
SELECT window_start, count(*) AS n, sum(x) AS total
FROM TUMBLE((SELECT t, amount AS x FROM orders UNION ALL SELECT t, paid FROM payments), t, INTERVAL '15' SECOND)
GROUP BY window_start
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/united') FORMAT PLAIN ENCODE JSON;

CREATE SINK valleys AS
SELECT customer_id, began, lowest, ended, n FROM orders MATCH_RECOGNIZE (
  PARTITION BY customer_id ORDER BY t
  MEASURES FIRST(A.t) AS began, MIN(DOWN.amount) AS lowest, LAST(UP.t) AS ended, COUNT(*) AS n
  AFTER MATCH SKIP TO LAST UP
  PATTERN (A DOWN+ UP) WITHIN INTERVAL '2' MINUTE
  DEFINE DOWN AS DOWN.amount < PREV(DOWN.amount), UP AS UP.amount > LAST(DOWN.amount)
)
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/valleys') FORMAT PLAIN ENCODE JSON;

CREATE SINK pairs AS
SELECT a, b FROM payments
MATCH_RECOGNIZE (ORDER BY t MEASURES A.id AS a, B.id AS b PATTERN (A B) DEFINE B AS B.paid > 1.2 * A.paid)
WITH (connector = 'print');

-- Made from a seed, and read as far as epochs go.
CREATE TABLE generated (
  id BIGINT, order_time TIMESTAMP(3), price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '3' SECOND
) WITH (
  'connector' = 'datagen', 'number-of-rows' = '1500', 'splits' = '2', 'seed' = '5', 'disorder' = '5 s',
  'late-share' = '0.02', 'customers' = '7'
);
CREATE SINK of_datagen AS
SELECT window_end, customer_id, count(*) AS n, sum(price) AS total
FROM TUMBLE(generated, order_time, INTERVAL '1' MINUTE) GROUP BY window_end, customer_id
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_datagen') FORMAT PLAIN ENCODE PARQUET;

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP, WATERMARK FOR date_time AS date_time - INTERVAL '1' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'bid', nexmark.event.num = '1600', step = '50 ms', seed = '3',
  scan.watermark.alignment.group = 'nexmark', scan.watermark.alignment.max-drift = '4 s'
);
CREATE SOURCE auction (
  id BIGINT, seller BIGINT, date_time TIMESTAMP, WATERMARK FOR date_time AS date_time - INTERVAL '1' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'auction', nexmark.event.num = '1600', step = '50 ms', seed = '3',
  scan.watermark.alignment.group = 'nexmark', scan.watermark.alignment.max-drift = '4 s'
);
CREATE SINK of_nexmark AS
SELECT a.id, b.price, b.date_time AS at FROM auction AS a JOIN bid AS b
ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.date_time + INTERVAL '10' SECOND
ORDER BY at, price, id
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_nexmark') FORMAT PLAIN ENCODE JSON;
