-- Topics in, topics out; the run that made the checkpoint was killed when its tasks had written an
-- epoch of which the epoch log knows nothing yet.
-- A path is part of what a job is, and this one is the same wherever the job is unpacked and run.
CREATE TABLE orders (
  id BIGINT, customer_id INT, price DECIMAL(10, 2), at TIMESTAMP(3),
  `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = 'golden-orders', 'format' = 'json', 'properties.bootstrap.servers' = '{servers}'
);
-- It ends where it ended when the job began, and has the watermark that topics have by default.
CREATE TABLE clicks (customer_id INT, url STRING) WITH (
  'connector' = 'kafka', 'topic' = 'golden-clicks', 'format' = 'csv', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:3',
  'scan.bounded.mode' = 'latest-offset', 'scan.watermark.source.records' = '100',
  'scan.watermark.source.margins' = '40:10s'
);

-- Each order as it comes.
CREATE TABLE copies (id BIGINT, price DECIMAL(10, 2), `partition` INT, `offset` BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'golden-copies', 'format' = 'json', 'key.format' = 'json', 'key.fields' = 'id',
  'properties.bootstrap.servers' = '{servers}'
);
INSERT INTO copies SELECT id, price, `partition`, `offset` FROM orders;

CREATE TABLE spent (customer_id INT, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (customer_id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'golden-spent', 'properties.bootstrap.servers' = '{servers}',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO spent SELECT customer_id, count(*), sum(price) FROM orders GROUP BY customer_id HAVING count(*) < 50;

CREATE SINK minutes AS
SELECT window_end, count(*) AS n FROM TUMBLE(orders, at, INTERVAL '1' MINUTE) GROUP BY window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'kafka', topic = 'golden-minutes', properties.bootstrap.server = '{servers}', 'sink.transactional-id-prefix' = 'golden')
FORMAT PLAIN ENCODE JSON;

CREATE SINK visits AS
SELECT window_start, customer_id, count(*) AS n
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR($rowtime), INTERVAL '20' SECOND))
GROUP BY window_start, window_end, customer_id
WITH (connector = 'filesystem', path = '/proc/self/cwd/out/visits') FORMAT PLAIN ENCODE JSON;
