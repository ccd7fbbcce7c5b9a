"""Whether the columns of a `kafka` table fit its options: said when a file is checked, with the
place of the option, not when the first message is read or written."""

from __future__ import annotations

from tidegate.connectors.formats import avro_format, raw_format
from tidegate.connectors.formats.changes import check_changes
from tidegate.connectors.kafka.options import KafkaOptions, KafkaSinkOptions, KafkaSourceOptions
from tidegate.connectors.option_types import VERSION, OptionProblem
from tidegate.errors import OptionsError, did_you_mean
from tidegate.plan.tables import ChangingTable, Table
from tidegate.types import Schema


def check_source(table: Table, options: KafkaSourceOptions) -> None:
    """Raises OptionProblem."""
    check_changes(table)
    if options.type == "upsert":
        _check_changes(table, options)
    elif options.key_format:
        _check_key_fields(table, options)
    key = columns_of_key_alone(table, options)
    stored = _stored(table)
    # Of avro-confluent the registry's schema says what is read, whatever the columns are called.
    if not options.format.endswith("avro-confluent"):
        _check_format("format", options.format, tuple(c for c in stored if c.name not in key))
    if key and options.key_form != "avro-confluent":
        _check_format("key.format", options.key_form, tuple(c for c in stored if c.name in key))


def check_sink(table: Table, options: KafkaSinkOptions) -> None:
    """Raises OptionProblem."""
    _check_key_fields(table, options)
    if options.type == "upsert":
        _check_upsert(table, options)
    metadata = {key: name for name, key in table.metadata}
    if options.key_fields and "key" in metadata:
        raise OptionProblem(
            "key.fields",
            f"table '{table.name}' has two keys: 'key.fields', and the column"
            f" '{metadata['key']}' from metadata",
            hint="leave one of them out",
        )
    stored = _stored(table)
    only_key = options.key_fields if options.value_fields == "EXCEPT_KEY" else ()
    _check_format("format", options.format, tuple(c for c in stored if c.name not in only_key))
    if options.key_fields:
        key = tuple(column for column in stored if column.name in options.key_fields)
        _check_format("key.format", options.key_format or "json", key)


def _check_changes(table: Table, options: KafkaSourceOptions) -> None:
    """Whether an upsert topic's key is that of its messages, and its version beside the value."""
    assert isinstance(table, ChangingTable)
    metadata = dict(table.metadata)
    if [metadata.get(name) for name in table.key] != ["key"]:
        beside = [name for name in table.key if name in metadata]
        if beside:
            raise OptionProblem(
                "connector",
                f"the key of the upsert topic '{table.name}' has '{beside[0]}' in it, which its"
                " messages have elsewhere",
                hint="its PRIMARY KEY are columns that the key has, or one column that is the key:"
                " k BYTES METADATA FROM 'key'",
            )
        if set(options.key_fields) != set(table.key):
            raise OptionProblem(
                "key.fields",
                f"the key of the upsert topic '{table.name}' is its PRIMARY KEY,"
                f" {', '.join(table.key)}",
                hint="leave 'key.fields' out",
            )
    for name in table.version:
        if name not in metadata and name not in table.key and name in _names(table):
            raise OptionProblem(
                VERSION,
                f"'{name}' is in the value of a message, and a delete has none",
                hint="take what a message has beside it: ts TIMESTAMP_LTZ(3) METADATA FROM"
                " 'timestamp'",
            )


def _check_upsert(table: Table, options: KafkaSinkOptions) -> None:
    if not options.key_fields:
        raise OptionProblem(
            "connector",
            f"'{table.name}' is an upsert topic without a key",
            hint="declare PRIMARY KEY (…) NOT ENFORCED, or give 'key.fields'",
        )
    if options.partitioner != "default":
        raise OptionProblem(
            "sink.partitioner",
            f"rows of an upsert topic go by their key, not '{options.partitioner}'",
            hint="leave it out",
        )


def columns_of_key_alone(table: Table, options: KafkaSourceOptions) -> tuple[str, ...]:
    """Those columns of a source that are decoded from the key, not from the value. Of an upsert
    topic that is its key, which a message without a value has, too."""
    alone = options.value_fields == "EXCEPT_KEY" or options.key_prefix or options.type == "upsert"
    if not options.key_form or not alone:
        return ()
    return tuple(column.name for column in _stored(table) if column.name in options.key_fields)


def _names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def _stored(table: Table) -> Schema:
    metadata = {name for name, _ in table.metadata}
    return tuple(column for column in table.columns if column.name not in metadata)


def _check_key_fields(table: Table, options: KafkaOptions) -> None:
    names = [column.name for column in _stored(table)]
    for name in options.key_fields:
        if name not in names:
            raise OptionProblem(
                "key.fields",
                f"'key.fields' names '{name}', which is not a column of table '{table.name}'",
                hint=did_you_mean(name, names),
            )


def _check_format(option: str, form: str, schema: Schema) -> None:
    try:
        if form == "raw":
            raw_format.check(schema)
        elif form in ("avro", "avro-confluent"):
            avro_format.check(schema)
    except OptionsError as error:
        raise OptionProblem(option, error.message, hint=error.hint) from None
