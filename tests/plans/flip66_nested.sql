-- FLIP-66, "Expected rowtime is nested in schema".
CREATE TABLE kafka_source (
  order_id STRING,
  event ROW<log_ts TIMESTAMP(3), message STRING, type INT>,
  WATERMARK FOR event.log_ts AS event.log_ts - '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'in/kafka_source', 'format' = 'json');

CREATE TABLE per_window (window_end TIMESTAMP(3), n BIGINT, types BIGINT)
WITH ('connector' = 'filesystem', 'path' = 'out/per_window', 'format' = 'json');

INSERT INTO per_window
SELECT window_end, COUNT(*), COUNT(DISTINCT event.type)
FROM TABLE(TUMBLE(TABLE kafka_source, DESCRIPTOR(event.log_ts), INTERVAL '1' MINUTE))
GROUP BY window_end
EMIT ON WINDOW CLOSE;
