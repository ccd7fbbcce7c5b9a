"""The peers' jobs: each a script that runs in an environment of its own, without anything of ours.

    python JOB.py QUERY SERVERS SOURCE TARGET DIRECTORY SETTINGS

QUERY is ``windows`` or ``copy``; SETTINGS a JSON object, all of it in the results. Each writes JSON
with the columns that tests/bench/queries.py names into TARGET.
"""
