-- The watermark filter as a fragment of its own, behind an exchange by split.
SET 'tidegate.watermark.pushdown' = 'false';

CREATE SOURCE ticks (ts BIGINT, amount INT, WATERMARK FOR ts AS ts - 500)
WITH (connector = 'filesystem', path = 'in/ticks') FORMAT PLAIN ENCODE JSON;

CREATE SINK windows AS
SELECT window_start, window_end, sum(amount) AS total
FROM TUMBLE(ticks, ts, 1000)
GROUP BY window_start, window_end
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = 'out/windows') FORMAT PLAIN ENCODE JSON;
