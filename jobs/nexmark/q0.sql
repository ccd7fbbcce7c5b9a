-- Nexmark q0. Pass through: what it costs to read, judge and write every row.

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q0 AS
SELECT auction, bidder, price, date_time
FROM bid
WITH (
  connector = 'filesystem', path = 'out/nexmark/q0'
) FORMAT PLAIN ENCODE JSON;
