-- Flink's windows by name, in GROUP BY, and of windows; keys that descend behind the time.
CREATE TABLE orders (
  id BIGINT, ts TIMESTAMP(3), k STRING,
  WATERMARK FOR ts AS ts - INTERVAL '00:30' MINUTE TO SECOND
) WITH ('connector' = 'filesystem', 'path' = 'in/orders', 'format' = 'json');

CREATE VIEW minutes AS
SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE) AS t, k, count(*) AS n
FROM orders GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE), k;

CREATE SINK hours AS
SELECT window_start, window_time, sum(n) AS n
FROM TUMBLE(DATA => TABLE minutes, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '1' HOUR)
GROUP BY window_start, window_end, window_time
WITH (connector = 'filesystem', path = 'out/hours') FORMAT PLAIN ENCODE JSON;

CREATE SINK busiest AS
SELECT * FROM minutes ORDER BY t, n DESC, k NULLS FIRST EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = 'out/busiest') FORMAT PLAIN ENCODE CSV (delimiter = ';');
