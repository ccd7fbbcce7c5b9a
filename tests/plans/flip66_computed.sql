-- FLIP-66, "Expected rowtime field does not exist in the schema".
CREATE TABLE kafka_source (
  order_id STRING,
  ts STRING,
  rowtime AS to_timestamp(ts),
  WATERMARK FOR rowtime AS rowtime - '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'in/kafka_source', 'format' = 'json');

CREATE TABLE per_window (window_start TIMESTAMP(3), first_order STRING, n BIGINT)
WITH ('connector' = 'filesystem', 'path' = 'out/per_window', 'format' = 'json');

INSERT INTO per_window
SELECT window_start, FIRST_VALUE(order_id ORDER BY rowtime), COUNT(*)
FROM TABLE(TUMBLE(TABLE kafka_source, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
GROUP BY window_start
EMIT ON WINDOW CLOSE;
