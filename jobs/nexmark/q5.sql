-- Nexmark q5. Hot items: every two seconds, the auctions with the most bids in the last ten. The counts and
-- their maximum are two windows over one stream, joined by window.

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q5 AS
WITH counted AS (
  SELECT auction, count(*) AS num, window_start, window_end
  FROM HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)
  GROUP BY window_start, window_end, auction
), most AS (
  SELECT max(num) AS num, window_start, window_end
  FROM counted
  GROUP BY window_start, window_end
)
SELECT c.window_start, c.window_end, c.auction, c.num
FROM counted AS c JOIN most AS m
ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.num
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q5'
) FORMAT PLAIN ENCODE JSON;
