"""Files of random, hostile values against an independent reading of them (S7, S15).

A seed gives a *world*: a table of random types in a random format, its files, and a job that passes
its rows on. The job runs by the simulator's front door, with real files, connectors, epochs and
commits; the reading of this package shares no code with the product and imports none of it
(`judge` alone runs the job). Judged are that the job ends, that every row is accounted for, that
each refused one is in the ledger once, with its record and a cause, and that what is accepted
equals the reading, to the bit.

    texts     what a text is as a number, a time, a boolean
    json_line a document of JSON, parsed by hand, and its fields as declared types
    csv_line  a line of CSV likewise
    parquet   what is stored with one type and declared with another, by the `kinds` of storing
    account   late, future, without a time, filtered: whose row is it
    spellings values that nobody writes, and those that everybody does, by the `hand` that writes
    worlds    a seed's table, files and rows as they should be read; `declared` are its types
    messages  the same of a topic, by the decoders of Kafka without a broker
    judge     the job, and what is wrong with it

`python -m hostile --seconds 3600 --seed 7` (`make hostile`) tries worlds for a time, and says of
each that fails its seed; `--only SEED` tries that one.
"""
