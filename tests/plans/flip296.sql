-- FLIP-296: the watermark emit strategy by hint, its interval by a setting; ALTER TABLE before it.
SET 'pipeline.auto-watermark-interval' = '500 ms';
SET 'table.exec.source.idle-timeout' = '1min';

CREATE TABLE user_actions (
  user_name STRING,
  user_action_time TIMESTAMP(3),
  WATERMARK FOR user_action_time AS user_action_time - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = 'actions', 'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

ALTER TABLE user_actions
MODIFY WATERMARK FOR user_action_time AS user_action_time - INTERVAL '10' SECONDS;

CREATE SINK minutes AS
SELECT TUMBLE_END(user_action_time, INTERVAL '1' MINUTE) AS minute, count(*) AS n
FROM user_actions /*+ OPTIONS('scan.watermark.emit.strategy' = 'on-periodic') */
GROUP BY TUMBLE(user_action_time, INTERVAL '1' MINUTE);
