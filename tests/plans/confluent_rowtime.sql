-- Seed 004: $rowtime and its default watermark, which only the query that waits for it has.
CREATE TABLE clicks (
  click_id STRING, user_id INT, url STRING, user_agent STRING, view_time INT,
  PRIMARY KEY (click_id) NOT ENFORCED
) WITH (
  'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

CREATE SINK minutes AS
SELECT window_start, count(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(`$rowtime`), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;

CREATE SINK copy AS SELECT * FROM clicks;
