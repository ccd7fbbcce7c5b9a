-- METADATA columns, with and without a cast, RisingWave's INCLUDE, and a topic that gets metadata.
CREATE TABLE carts (
  id INT,
  k STRING METADATA FROM 'key',
  sent TIMESTAMP(3) METADATA FROM 'timestamp',
  part INT METADATA FROM 'partition' VIRTUAL,
  WATERMARK FOR sent AS sent - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = 'carts', 'properties.bootstrap.servers' = 'broker:9092',
  'value.format' = 'json'
);

CREATE SOURCE events (id INT)
INCLUDE key AS k
INCLUDE timestamp
WITH (connector = 'kafka', topic = 'events', properties.bootstrap.server = 'broker:9092')
FORMAT PLAIN ENCODE JSON;

CREATE TABLE target (
  id INT,
  sent TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  k STRING METADATA FROM 'key',
  o BIGINT METADATA FROM 'offset' VIRTUAL
) WITH (
  'connector' = 'kafka', 'topic' = 'target', 'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

INSERT INTO target SELECT id, sent, k FROM carts WHERE part = 0;
INSERT INTO target SELECT id, _rw_kafka_timestamp, 'event' FROM events;
