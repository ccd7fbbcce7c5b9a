-- Every kind of watermark filter. What it keeps stands in the epoch log, or, where the filters are not
-- pushed down (tidegate.watermark.pushdown), in the state store: there are checkpoints of both.
-- Almost all show each row's watermark, so that no difference stays hidden.
-- A path is part of what a job is, and these are the same wherever the job is unpacked and run.
SET 'pipeline.auto-watermark-interval' = '1 ms';

CREATE TABLE fixed (
  id BIGINT, at TIMESTAMP, k INT, WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/fixed', 'format' = 'json',
  'source.monitor-interval' = '1 s'
);
CREATE SINK of_fixed AS SELECT id, CURRENT_WATERMARK(at) AS w FROM fixed WHERE k > 0
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_fixed') FORMAT PLAIN ENCODE JSON;
CREATE SINK of_fixed_closed AS
SELECT window_end, k, count(*) AS n FROM TUMBLE(fixed, at, INTERVAL '30' SECOND)
GROUP BY window_end, k EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_fixed_closed') FORMAT PLAIN ENCODE JSON;

-- Files that are splits, of which one that was finished goes on and others join; a strategy that is
-- no shift, with a user's function; a time with a zone.
CREATE FUNCTION marked(t TIMESTAMPTZ, k INT) RETURNS TIMESTAMPTZ LANGUAGE python AS $$
from datetime import timedelta

def marked(t, k):
    return t - timedelta(seconds=2 * k) if k else None
$$;
CREATE TABLE by_file (
  id BIGINT, at TIMESTAMPTZ, k INT, WATERMARK FOR at AS marked(at, k)
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/by_file', 'format' = 'csv', 'csv.header' = 'true',
  'source.split' = 'file', 'source.monitor-interval' = '1 s'
);
CREATE SINK of_files AS SELECT id, CURRENT_WATERMARK(at) AS w FROM by_file
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_files') FORMAT PLAIN ENCODE CSV;

CREATE TABLE adaptive (
  id BIGINT, at BIGINT, k INT, WATERMARK FOR at AS SOURCE_WATERMARK()
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/adaptive', 'format' = 'parquet',
  'source.monitor-interval' = '1 s', 'scan.watermark.unit' = 'ms',
  'scan.watermark.source.records' = '120', 'scan.watermark.source.quantile' = '0.8',
  'scan.watermark.source.margins' = '20:10s,60:2s'
);
CREATE SINK of_adaptive AS SELECT id, CURRENT_WATERMARK(at) AS w FROM adaptive
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_adaptive') FORMAT PLAIN ENCODE JSON;

CREATE TABLE per_key (
  id BIGINT, at TIMESTAMP, k INT,
  WATERMARK FOR at AS at - INTERVAL '3' SECOND PER (k) EXPIRE AFTER INTERVAL '20' SECOND
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/per_key', 'format' = 'json',
  'source.monitor-interval' = '1 s'
);
CREATE SINK of_keys AS SELECT id, CURRENT_WATERMARK(at) AS w FROM per_key
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_keys') FORMAT PLAIN ENCODE JSON;

-- At most one advance in an interval that is shorter than any epoch: one at the end of each.
CREATE TABLE periodic (
  id BIGINT, at DECIMAL(13, 3), k INT, WATERMARK FOR at AS at - 4
) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/periodic', 'format' = 'json',
  'source.monitor-interval' = '1 s', 'scan.watermark.emit.strategy' = 'on-periodic'
);
CREATE SINK of_periodic AS SELECT id, CURRENT_WATERMARK(at) AS w FROM periodic
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_periodic') FORMAT PLAIN ENCODE JSON;

-- One chain of two; beside it another account of the same table, behind the last rows of a split.
CREATE SOURCE twice (id BIGINT, at TIMESTAMP, paid_at TIMESTAMP) WITH (
  connector = 'filesystem', path = '/proc/self/cwd/in/twice', 'source.monitor-interval' = '1 s'
) FORMAT PLAIN ENCODE JSON;
CREATE SINK of_stacked AS
SELECT id, CURRENT_WATERMARK(paid_at) AS w FROM WATERMARK(
  WATERMARK(twice, at, at - INTERVAL '6' SECOND), paid_at, paid_at - INTERVAL '1' SECOND)
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_stacked') FORMAT PLAIN ENCODE JSON;
CREATE SINK of_recent AS
WITH judged AS (
  WATERMARK(
    (SELECT *, max(at) OVER (ROWS BETWEEN 4 PRECEDING AND CURRENT ROW) AS highest, lag(id, 2) OVER () AS before FROM twice),
    at, CASE WHEN at = highest THEN NULL ELSE at - INTERVAL '2' SECOND END)
)
SELECT id, before, highest, CURRENT_WATERMARK(at) AS w FROM judged
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_recent') FORMAT PLAIN ENCODE JSON;

-- The clock: what depends on when a run was is left out. All times are in one window, which is over
-- in the year 2242, and in the order of epochs.
CREATE TABLE clocked (id BIGINT, k INT, p AS PROCTIME()) WITH (
  'connector' = 'filesystem', 'path' = '/proc/self/cwd/in/clocked', 'format' = 'json',
  'source.monitor-interval' = '1 s'
);
CREATE MATERIALIZED VIEW of_clock AS
SELECT window_start, window_end, k, count(*) AS n, sum(id) AS ids
FROM TUMBLE(clocked, p, INTERVAL '99500' DAY) GROUP BY window_start, window_end, k;
CREATE SINK of_clock_rows AS
SELECT id, k, row_number() OVER w AS number, lag(id) OVER w AS id_before FROM clocked
WINDOW w AS (PARTITION BY k ORDER BY p)
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/of_clock_rows') FORMAT PLAIN ENCODE JSON;
