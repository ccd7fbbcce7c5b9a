"""Nexmark's queries whose results change, as Flink's benchmark has them but for the connectors.

Names are those of our generator. The results have no row that a tie decides, so they are the same
in every engine; that is why q9, q18 and q19 select fewer
columns. AVG is of DOUBLE, since Flink's of
BIGINT is cut. What the queries ask is asked of DuckDB in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_PAIRS: Final = "a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"


@dataclass(frozen=True, slots=True)
class Written:
    """A query: what it ``asks``, of which ``kinds`` of events, and what it gives.

    ``columns`` are names and SQL types of the result, of which ``key`` tells rows apart; none where
    rows only come.
    """

    asks: str
    kinds: tuple[str, ...]
    select: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()

    @property
    def declared(self) -> str:
        """The columns of a table that takes the result."""
        columns = [f"{name} {type_}" for name, type_ in self.columns]
        if self.key:
            columns.append(f"PRIMARY KEY ({', '.join(self.key)}) NOT ENFORCED")
        return ", ".join(columns)


WRITTEN: Final[Mapping[str, Written]] = {
    "q3": Written(
        "who sells in some states",
        ("person", "auction"),
        """
SELECT p.name, p.city, p.state, a.id
FROM auction AS a INNER JOIN person AS p ON a.seller = p.id
WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA')""",
        (("name", "VARCHAR"), ("city", "VARCHAR"), ("state", "VARCHAR"), ("id", "BIGINT")),
    ),
    "q4": Written(
        "the average price of a category",
        ("auction", "bid"),
        f"""
SELECT q.category, avg(CAST(q.final AS DOUBLE)) AS average
FROM (
  SELECT max(b.price) AS final, a.category FROM auction AS a, bid AS b WHERE {_PAIRS}
  GROUP BY a.id, a.category
) AS q GROUP BY q.category""",
        (("category", "BIGINT"), ("average", "DOUBLE")),
        ("category",),
    ),
    "q9": Written(
        "the winning bid of each auction",
        ("auction", "bid"),
        f"""
SELECT id, price FROM (
  SELECT a.*, b.auction, b.bidder, b.price, row_number() OVER (
    PARTITION BY a.id ORDER BY b.price DESC, b.date_time ASC) AS rownum
  FROM auction AS a, bid AS b WHERE {_PAIRS}
) AS x WHERE rownum <= 1""",
        (("id", "BIGINT"), ("price", "BIGINT")),
        ("id",),
    ),
    "q18": Written(
        "a bidder's last bid on each auction",
        ("bid",),
        """
SELECT bidder, auction, date_time FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS rank_number
  FROM bid
) AS x WHERE rank_number <= 1""",
        (("bidder", "BIGINT"), ("auction", "BIGINT"), ("date_time", "TIMESTAMP(3)")),
        ("bidder", "auction"),
    ),
    "q19": Written(
        "the ten highest bids of each auction",
        ("bid",),
        """
SELECT auction, price, rank_number FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
) AS x WHERE rank_number <= 10""",
        (("auction", "BIGINT"), ("price", "BIGINT"), ("rank_number", "BIGINT")),
        ("auction", "rank_number"),
    ),
    "q20": Written(
        "bids with the auction that they are on",
        ("auction", "bid"),
        """
SELECT b.auction, b.bidder, b.price, a.item_name, a.seller, a.category
FROM bid AS b INNER JOIN auction AS a ON b.auction = a.id WHERE a.category = 10""",
        (
            ("auction", "BIGINT"), ("bidder", "BIGINT"), ("price", "BIGINT"),
            ("item_name", "VARCHAR"), ("seller", "BIGINT"), ("category", "BIGINT"),
        ),
    ),
    "q22": Written(
        "the parts of a bid's address",
        ("bid",),
        """
SELECT auction, bidder, price, channel, split_index(url, '/', 3) AS dir1,
  split_index(url, '/', 4) AS dir2, split_index(url, '/', 5) AS dir3 FROM bid""",
        (
            ("auction", "BIGINT"), ("bidder", "BIGINT"), ("price", "BIGINT"),
            ("channel", "VARCHAR"), ("dir1", "VARCHAR"), ("dir2", "VARCHAR"), ("dir3", "VARCHAR"),
        ),
    ),
}  # fmt: skip
"""By name. q22 changes nothing; it is the one that is asked for beside them."""


def in_duckdb(name: str) -> str:
    """The query as DuckDB says it: there a text is split with other words."""
    text = WRITTEN[name].select
    for number in range(3, 6):
        text = text.replace(
            f"split_index(url, '/', {number})", f"nullif(split_part(url, '/', {number + 1}), '')"
        )
    return text
