from __future__ import annotations

from kits.frontend import job, lines


def _filters(sql: str) -> list[list[str]]:
    return [
        [line.split(":")[0] for line in lines(sink) if line.startswith(("Watermark", "Scan"))]
        for sink in job(sql).sinks
    ]


def test_two_declarations_on_a_table_are_two_accounts() -> None:
    assert _filters(
        "SELECT * FROM WATERMARK(plain, t, t); SELECT * FROM WATERMARK(plain, t, t - '1' DAY);"
        "SELECT id FROM WATERMARK(plain, t, t)"
    ) == [
        ["WatermarkFilter plain.t (plain)", "Scan plain"],
        ["WatermarkFilter plain#2.t (plain#2)", "Scan plain#2"],
        ["WatermarkFilter plain.t (plain)", "Scan plain"],
    ]


def test_a_chain_is_one_account() -> None:
    sql = "SELECT * FROM WATERMARK(WATERMARK(orders, id, id), order_time, order_time)"
    assert _filters(sql) == [
        [
            "WatermarkFilter orders.order_time#2 (orders)",
            "WatermarkFilter orders.id (orders)",
            "WatermarkFilter orders.order_time (orders)",
            "Scan orders",
        ]
    ]  # fmt: skip


def test_a_table_without_watermark_is_an_account_too() -> None:
    assert _filters("SELECT id FROM plain; SELECT * FROM WATERMARK(plain, t, t)") == [
        ["Scan plain"],
        ["WatermarkFilter plain#2.t (plain#2)", "Scan plain#2"],
    ]
