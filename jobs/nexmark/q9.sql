-- Nexmark q9. Winning bids: the highest of each auction, the first of equals, once no other one can come.
-- An over-window over an interval join; an auction's time makes its partition whole.

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

CREATE SINK q9 AS
SELECT id, item_name, seller, category, date_time, expires, bidder, price, bid_time
FROM (
  SELECT a.id, a.item_name, a.seller, a.category, a.date_time, a.expires,
    b.bidder, b.price, b.date_time AS bid_time
  FROM auction AS a JOIN bid AS b
  ON a.id = b.auction AND b.date_time <= a.expires
  AND b.date_time BETWEEN a.date_time AND a.date_time + INTERVAL '4' SECOND
)
QUALIFY row_number() OVER (PARTITION BY id, date_time ORDER BY price DESC, bid_time, bidder) = 1
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q9'
) FORMAT PLAIN ENCODE JSON;
