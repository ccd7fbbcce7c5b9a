-- Nexmark q4. Closing prices by category: the average of the winning bids of the auctions that began in the
-- same ten seconds. An auction is open for less than 4 seconds, which bounds the join.

CREATE SOURCE auction (
  id BIGINT, item_name VARCHAR, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Auction', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q4 AS
SELECT window_start, window_end, category, avg(final) AS average
FROM TUMBLE((
  SELECT a.id, a.category, a.date_time, max(b.price) AS final
  FROM auction AS a JOIN bid AS b
  ON a.id = b.auction AND b.date_time <= a.expires
  AND b.date_time BETWEEN a.date_time AND a.date_time + INTERVAL '4' SECOND
  GROUP BY a.id, a.category, a.date_time
), date_time, INTERVAL '10' SECOND)
GROUP BY window_start, window_end, category
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q4'
) FORMAT PLAIN ENCODE JSON;
