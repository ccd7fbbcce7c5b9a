"""Shared parts of tests: executors, plans, jobs and stores to try things on."""
