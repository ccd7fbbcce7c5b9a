-- Nexmark q3. Local item suggestion: who sells in three states, and what. An event-time temporal join: each
-- auction meets its seller as known at its time, so of each seller the last version is all that is kept.

CREATE SOURCE person (
  id BIGINT, name VARCHAR, email_address VARCHAR, city VARCHAR, state VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Person', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SOURCE auction (
  id BIGINT, item_name VARCHAR, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Auction', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q3 AS
SELECT p.name, p.city, p.state, a.id
FROM auction AS a JOIN person FOR SYSTEM_TIME AS OF a.date_time AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
WITH (
  connector = 'filesystem', path = 'out/nexmark/q3'
) FORMAT PLAIN ENCODE JSON;
