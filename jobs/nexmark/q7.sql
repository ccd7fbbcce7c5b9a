-- Nexmark q7. The highest bids of each ten seconds: rows joined with a window's result by their time.

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q7 AS
SELECT b.auction, b.price, b.bidder, b.date_time, h.window_end
FROM bid AS b JOIN (
  SELECT max(price) AS price, window_end
  FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND)
  GROUP BY window_start, window_end
) AS h
ON b.price = h.price AND b.date_time >= h.window_end - INTERVAL '10' SECOND
AND b.date_time < h.window_end
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q7'
) FORMAT PLAIN ENCODE JSON;
