"""The peers' jobs: each a script that runs in an environment of its own, without anything of ours.

    python JOB.py CASE

CASE is a JSON object: ``query``, ``windows``, ``copy`` or one of Nexmark's; ``servers``;
``sources``, topics by table; ``target``, a topic; ``directory``; ``settings``, an object, all of it
in the results. Each writes JSON into the target, with the columns that the query has in
tests/bench/queries.py, or in jobs/nexmark.
"""
