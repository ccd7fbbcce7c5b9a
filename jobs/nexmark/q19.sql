-- Nexmark q19. The ten highest bids for each auction, in each ten seconds: a Top-N of windows.

CREATE SOURCE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (
  connector = 'nexmark', nexmark.table.type = 'Bid', nexmark.event.num = 500000, splits = 2,
  disorder = '2 s', late-share = 0.01
);

CREATE SINK q19 AS
SELECT *
FROM (
  SELECT window_start, auction, bidder, price, date_time, row_number() OVER (
    PARTITION BY window_start, window_end, auction ORDER BY price DESC, date_time, bidder
  ) AS place
  FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND)
)
WHERE place <= 10
EMIT ON WINDOW CLOSE
WITH (
  connector = 'filesystem', path = 'out/nexmark/q19'
) FORMAT PLAIN ENCODE JSON;
