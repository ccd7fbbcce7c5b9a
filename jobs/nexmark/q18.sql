-- Nexmark q18. The last bid of each bidder for each auction, in each ten seconds: what is last is known once
-- the window is over.

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q18 AS
SELECT window_start, bidder, auction, price, date_time
FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND)
QUALIFY row_number() OVER (
  PARTITION BY window_start, window_end, bidder, auction ORDER BY date_time DESC, price DESC, url
) = 1
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q18'
) FORMAT PLAIN ENCODE JSON;
