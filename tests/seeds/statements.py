"""The statements of the five documents that Tidegate is made from, as they write them.

Where a document leaves a place open (``...``) or has a typing error, ``differs`` says so. The page
docs/seeds.md is made from this, and tested to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_KAFKA: Final = (
    "'connector' = 'kafka', 'topic' = 'in', 'format' = 'json',"
    " 'properties.bootstrap.servers' = 'broker:9092'"
)
_COPIED: Final = _KAFKA.replace("'in'", "'out'")
_ORDERS: Final = f"""
CREATE SOURCE `orders` (
  `id` BIGINT,
  `order_time` TIMESTAMP,
  `price` DECIMAL,
  `customer_id` BIGINT,
) WITH (
  {_KAFKA}
);
"""


@dataclass(frozen=True)
class Seed:
    """Statements of one document: after ``given``, which it has said before or takes as known."""

    number: str
    about: str
    sql: str
    given: str = ""
    differs: str = ""


_ACTIONS: Final = """
CREATE TABLE user_actions (
  user_name STRING,
  `data` STRING,
  user_action_time TIMESTAMP(3),
  WATERMARK FOR user_action_time AS user_action_time - INTERVAL '5' SECOND
) WITH ({options});
"""
_FILLED: Final = "`...` is filled in"
_SELECTED: Final = "`...` is filled in, and the CREATE TABLE beside it"
_WITH: Final = "a WITH is not a statement: `SELECT * FROM watermarked_orders` follows"


def _actions(option: str) -> str:
    return _ACTIONS.format(options=f"{option}, {_KAFKA}" if option else _KAFKA)


def _hinted(hint: str) -> Seed:
    name = hint.split("'")[1]
    return Seed(
        "002",
        f"hint {name}",
        f"select * from user_actions /*+ OPTIONS({hint}) */;",
        _actions(""),
        _SELECTED,
    )


def _optioned(option: str) -> Seed:
    name = option.split("'")[1]
    sql = _actions(option)
    return Seed("002", f"option {name}", sql, differs=_FILLED)


_ON_PERIODIC: Final = "'scan.watermark.emit.strategy'='on-periodic'"
_ON_EVENT: Final = "'scan.watermark.emit.strategy'='on-event'"
_IDLE: Final = "'scan.watermark.idle-timeout'='1min'"
_ALIGNED: Final = (
    "'scan.watermark.alignment.group'='alignment-group-1',"
    " 'scan.watermark.alignment.max-drift'='1min',"
    " 'scan.watermark.alignment.update-interval'='1s'"
)
_TUMBLED: Final = """
SELECT customer_id, window_end as order_hour, SUM(price) as sum_price
FROM TUMBLE(
  WATERMARK(orders, order_time, {strategy}),
  order_time,
  INTERVAL '1' HOUR)
GROUP BY window_end, customer_id{emit};
"""
_MINUTE: Final = "order_time - INTERVAL '1' MINUTE"
_CLICKS: Final = f"""
CREATE TABLE `examples`.`marketplace`.`clicks` (
  click_id STRING NOT NULL, user_id INT NOT NULL, url STRING NOT NULL,
  user_agent STRING NOT NULL, view_time INT NOT NULL
) WITH ({_KAFKA});
"""
_FOUR: Final = f"""
CREATE TABLE clicks_4_partitions (
click_id STRING,
user_id INT,
url STRING,
user_agent STRING,
view_time INT,
PRIMARY KEY (click_id) NOT ENFORCED
) DISTRIBUTED BY HASH(click_id) INTO 4 BUCKETS
WITH (
'changelog.mode' = 'append',
{_KAFKA.replace("'in'", "'clicks_4_partitions'")}
)
AS SELECT click_id, user_id, url, user_agent, view_time FROM `examples`.`marketplace`.clicks;
"""
_LOGS: Final = "CREATE TABLE kafka_source ({columns}) WITH (" + _KAFKA + ");"
_FLAG: Final = """
CREATE FUNCTION watermarkOnFlag(rowtime TIMESTAMP(3), isEndOfSequence BOOLEAN)
RETURNS TIMESTAMP(3) LANGUAGE python AS $$
def watermarkOnFlag(rowtime, isEndOfSequence):
    return rowtime if isEndOfSequence else None
$$;
"""

SEEDS: Final = (
    Seed(
        "000", "state cleaning", _TUMBLED.format(strategy="INTERVAL '1' MINUTE", emit=""), _ORDERS
    ),
    Seed("000", "a source", _ORDERS, differs=_FILLED),
    Seed("000", "a streaming plan", _TUMBLED.format(strategy=_MINUTE, emit=""), _ORDERS),
    Seed(
        "000",
        "emit on window close",
        "CREATE SINK AS" + _TUMBLED.format(strategy=_MINUTE, emit=" EMIT ON WINDOW CLOSE"),
        _ORDERS,
        "`CREAT` is mended",
    ),
    Seed(
        "000",
        "sessions",
        """
SELECT customer_id, window_end as order_hour, SUM(price) as sum_price
FROM SESSION(
  WATERMARK(orders, order_time, order_time - INTERVAL '1' MINUTE),
  order_time,
  customer_id,
  INTERVAL '1' HOUR)
GROUP BY window_end, customer_id EMIT ON WINDOW CLOSE;
""",
        _ORDERS,
    ),
    Seed(
        "000",
        "fraud detection",
        """
create materialized view ALERTS as
SELECT
  customer_id,
  price,
  order_time,
  lead(price, 1) over w as next_price,
  lead(order_time, 1) over w as next_order_time
FROM
  WATERMARK(orders, order_time, order_time - INTERVAL '1' MINUTE),
WHERE
  abs(next_price - price) > 10000
  AND next_order_time - order_time < INTERVAL '30' SECOND
WINDOW w AS (
  PARTITION BY customer_id
  ORDER BY order_time
)
""",
        _ORDERS,
    ),
    Seed(
        "000",
        "timeout",
        """
with watermarked_orders as (
  WATERMARK(orders, order_time, order_time - INTERVAL '1' MINUTE),
)
select * from watermarked_orders;
""",
        _ORDERS,
        _WITH,
    ),
    Seed(
        "000",
        "timeout with a check",
        """
with watermarked_orders as (
  WATERMARK(
  orders,
  order_time,
  CASE
    WHEN order_time > PROC_TIME() THEN Null
    ELSE order_time - INTERVAL '1' MINUTE
  END),
)
select * from watermarked_orders;
""",
        _ORDERS,
        _WITH,
    ),
    Seed(
        "000",
        "timeout without outliers",
        """
with watermarked_orders as (
  WATERMARK(
  (
    select *,
      max(order_time)
        OVER(ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) as win_max_time
    from orders
  ),
  order_time,
  CASE
    WHEN order_time == win_max_time THEN Null
    ELSE order_time - INTERVAL '1' MINUTE
  END),
)
select * from watermarked_orders;
""",
        _ORDERS,
        _WITH + "; the window's syntax, which the seed leaves open, is SQL's: `ROWS`, and the"
        " alias behind `OVER`",
    ),
    Seed(
        "002",
        "processing time",
        f"""
CREATE TABLE user_actions (
  user_name STRING,
  `data` STRING,
  current_time as proctime(),
  WATERMARK FOR current_time AS current_time
) WITH (
  {_KAFKA}
);
""",
        differs=_FILLED,
    ),
    Seed("002", "lateness", _actions(""), differs=_FILLED),
    *(_optioned(option) for option in (_ON_PERIODIC, _ON_EVENT, _IDLE, _ALIGNED)),
    *(_hinted(option) for option in (_ON_PERIODIC, _ON_EVENT, _IDLE, _ALIGNED)),
    Seed(
        "002",
        "compiled plan",
        "COMPILE PLAN 'plan.json' FOR INSERT INTO copied SELECT user_name FROM user_actions;",
        _actions("") + f"CREATE TABLE copied (user_name STRING) WITH ({_COPIED});",
        "the seed shows the plan's `watermarkParams`; Tidegate's plan has them at each watermark of"
        " a source, and the statements in the place of Flink's operators",
    ),
    Seed(
        "003",
        "bounded out of orderness",
        _LOGS.format(
            columns="user_id STRING, log_ts TIMESTAMP(3), ingestion_ts TIMESTAMP(3),"
            " WATERMARK FOR log_ts AS log_ts - INTERVAL '5' SECOND"
        ),
        differs="the declaration is lost in the document, its text says it",
    ),
    Seed(
        "003",
        "watermarks of the source",
        _LOGS.format(
            columns="user_id STRING, rowtime AS SYSTEM_ROWTIME(),"
            " WATERMARK FOR rowtime AS SYSTEM_WATERMARK()"
        ),
        differs=_FILLED,
    ),
    Seed(
        "003",
        "a strategy by a function",
        _LOGS.format(
            columns="user_id STRING, log_ts TIMESTAMP(3), flag BOOLEAN,"
            " WATERMARK FOR log_ts AS watermarkOnFlag(log_ts, flag)"
        ),
        _FLAG,
        "functions are Python; it takes and gives a TIMESTAMP, where the seed's Java has the"
        " milliseconds of one",
    ),
    Seed(
        "003",
        "a nested field",
        _LOGS.format(
            columns="order_id STRING, event ROW<log_ts TIMESTAMP(3), message STRING, type INT>,"
            " WATERMARK FOR event.log_ts AS event.log_ts - '5' SECOND"
        ),
        differs=_FILLED,
    ),
    Seed(
        "003",
        "a computed column",
        _LOGS.format(
            columns="order_id STRING, ts STRING, rowtime AS to_timestamp(ts),"
            " WATERMARK FOR rowtime AS rowtime - '5' SECOND"
        ),
        differs=_FILLED,
    ),
    Seed(
        "003",
        "properties",
        "CREATE TABLE kafka_source (f1 ROW<q2 TIMESTAMP(3)>) WITH ("
        "'schema.watermark.0.rowtime' = 'f1.q2',"
        " 'schema.watermark.0.strategy.expression' = '`f1`.`q2` - INTERVAL ''5'' SECOND',"
        f" 'schema.watermark.0.strategy.datatype' = 'TIMESTAMP(3)', {_KAFKA});",
        differs="the quotes within the text are doubled",
    ),
    Seed("004", "describe", "DESCRIBE EXTENDED `examples`.`marketplace`.`clicks`;", _CLICKS),
    Seed(
        "004",
        "a table with four partitions",
        _FOUR,
        _CLICKS,
        "the connector is named: there is no cluster that goes without saying",
    ),
    Seed(
        "004",
        "alter the watermark",
        "ALTER TABLE `clicks_4_partitions` MODIFY WATERMARK for `$rowtime` AS `$rowtime`"
        " - INTERVAL '10' SECONDS",
        _CLICKS + _FOUR,
    ),
)
