-- Nexmark q11. User sessions: how many bids each bidder made before ten seconds went by without one.

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q11 AS
SELECT bidder, count(*) AS bids, window_start, window_end
FROM SESSION(bid, date_time, bidder, INTERVAL '10' SECOND)
GROUP BY bidder, window_start, window_end
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q11'
) FORMAT PLAIN ENCODE JSON;
