-- Everything that keeps state behind one input: windows, sorts, over-windows, results that change.
-- A path is part of what a job is, and these are the same wherever the job is unpacked and run.
CREATE TABLE orders (
  id BIGINT, order_time TIMESTAMP, customer_id INT, price DECIMAL(10, 2), note STRING, paid BOOLEAN,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/orders', 'format' = 'json',
  'source.monitor-interval' = '1 s'
);

CREATE SINK tumbling AS
SELECT window_start, window_end, customer_id, count(*) AS n, count(note) AS notes,
  count(*) FILTER (WHERE paid) AS paid, sum(price) AS total, avg(price) AS mean,
  min(price) AS least, max(order_time) AS newest, bool_and(paid) AS all_paid, bit_xor(id) AS bits,
  first_value(id ORDER BY price) AS cheapest, last_value(id ORDER BY order_time) AS last_id,
  max_by(note, price) AS dearest_note, round(stddev(price), 6) AS deviation
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_start, window_end, customer_id
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/tumbling') FORMAT PLAIN ENCODE JSON;

-- Groups that keep their values.
CREATE SINK valued AS
SELECT window_end, count(DISTINCT note) AS notes, sum(DISTINCT customer_id) AS customers,
  median(price) AS middle, percentile_disc(0.9) WITHIN GROUP (ORDER BY price) AS ninth, mode(note) AS most,
  array_agg(id ORDER BY price DESC) AS ids, string_agg(DISTINCT note, ',') AS texts
FROM TUMBLE(orders, order_time, INTERVAL '90' SECOND)
GROUP BY window_start, window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/valued') FORMAT PLAIN ENCODE JSON;

CREATE SINK hopping AS
SELECT window_start, customer_id, sum(price) AS total, first_value(id ORDER BY order_time) AS first_id
FROM HOP(orders, order_time, INTERVAL '1' MINUTE, INTERVAL '3' MINUTE)
GROUP BY window_start, window_end, customer_id
HAVING count(*) > 2
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/hopping') FORMAT PLAIN ENCODE CSV;

CREATE SINK cumulating AS
SELECT window_start, window_end, count(*) AS n, max(price) AS dearest
FROM CUMULATE(orders, order_time, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)
GROUP BY window_start, window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/cumulating') FORMAT PLAIN ENCODE PARQUET;

CREATE SINK sessions AS
SELECT customer_id, window_start, window_end, count(*) AS n, sum(price) AS total
FROM SESSION(orders, order_time, customer_id, INTERVAL '8' SECOND)
GROUP BY customer_id, window_start, window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/sessions') FORMAT PLAIN ENCODE JSON;

CREATE SINK session_rows AS
SELECT id, customer_id, window_start, window_end
FROM TABLE(SESSION(TABLE orders PARTITION BY customer_id, DESCRIPTOR(order_time), INTERVAL '6' SECOND))
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/session_rows') FORMAT PLAIN ENCODE JSON;

-- Windows of windows: a final aggregate above another.
CREATE SINK busiest AS
WITH minutes AS (
  SELECT window_end AS minute, customer_id, count(*) AS n
  FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE) GROUP BY window_end, customer_id
)
SELECT window_start, max(n) AS most, min_by(customer_id, n) AS quietest
FROM TUMBLE(minutes, minute, INTERVAL '4' MINUTE)
GROUP BY window_start
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/busiest') FORMAT PLAIN ENCODE JSON;

CREATE SINK grouping AS
SELECT window_end, customer_id, paid, GROUPING(customer_id, paid) AS which, count(*) AS n
FROM TUMBLE(orders, order_time, INTERVAL '2' MINUTE)
GROUP BY window_end, ROLLUP (customer_id, paid)
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/grouping') FORMAT PLAIN ENCODE JSON;

CREATE SINK distinct_notes AS
SELECT DISTINCT DATE_TRUNC('minute', order_time) AS minute, note FROM orders
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/distinct_notes') FORMAT PLAIN ENCODE JSON;

CREATE SINK sorted AS
SELECT order_time, price, id FROM orders
ORDER BY order_time, price DESC
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/sorted') FORMAT PLAIN ENCODE JSON;

CREATE SINK printed AS
SELECT window_end, n FROM (
  SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '30' SECOND) GROUP BY window_end
)
ORDER BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'print');

-- The rows of each partition in their order.
CREATE SINK neighbours AS
SELECT id,
  lag(price) OVER w AS price_before, lag(id, 2, -1) OVER w AS two_before, lead(id) OVER w AS id_after,
  lag(note) IGNORE NULLS OVER w AS note_before
FROM orders
WINDOW w AS (PARTITION BY customer_id ORDER BY order_time)
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/neighbours') FORMAT PLAIN ENCODE JSON;

CREATE SINK running AS
SELECT id,
  row_number() OVER (PARTITION BY customer_id ORDER BY order_time, id) AS number,
  sum(price) OVER (PARTITION BY customer_id ORDER BY order_time) AS so_far,
  max(price) OVER (PARTITION BY customer_id ORDER BY order_time ROWS BETWEEN 4 PRECEDING AND 2 FOLLOWING) AS around,
  count(*) OVER (PARTITION BY customer_id ORDER BY order_time RANGE BETWEEN INTERVAL '20' SECOND PRECEDING AND CURRENT ROW) AS lately
FROM orders
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/running') FORMAT PLAIN ENCODE JSON;

CREATE SINK first_of_each AS
SELECT id, order_time, customer_id, cents FROM (SELECT *, price % 1 AS cents FROM orders)
QUALIFY row_number() OVER (PARTITION BY customer_id, cents ORDER BY order_time) = 1
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/first_of_each') FORMAT PLAIN ENCODE JSON;

-- Partitions that close: the dearest three of each window.
CREATE SINK dearest AS
SELECT window_end, id, price,
  row_number() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS n
FROM TUMBLE(orders, order_time, INTERVAL '2' MINUTE)
QUALIFY n <= 3
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/dearest') FORMAT PLAIN ENCODE JSON;

-- Results that change: kept for ever, until their windows close, and shown before they do.
CREATE MATERIALIZED VIEW spent AS
SELECT customer_id, count(*) AS n, sum(price) AS total, max(order_time) AS newest
FROM orders GROUP BY customer_id;

CREATE TABLE minutes (window_end TIMESTAMP, notes BIGINT, n BIGINT, PRIMARY KEY (window_end) NOT ENFORCED)
WITH ('connector' = 'delta', 'path' = '/proc/self/cwd/out/minutes');
INSERT INTO minutes
SELECT window_end, count(DISTINCT note), count(*)
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE) GROUP BY window_end;

CREATE SINK changes AS
SELECT customer_id, paid, count(*) AS n FROM orders GROUP BY customer_id, paid
WITH (connector = 'print');

CREATE MATERIALIZED VIEW early AS
SELECT window_end, customer_id, count(*) AS n, sum(price) AS total
FROM HOP(orders, order_time, INTERVAL '1' MINUTE, INTERVAL '4' MINUTE)
GROUP BY window_end, customer_id
EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '45' SECOND;
