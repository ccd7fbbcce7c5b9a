"""From SQL text to a plan: dialect, binder, planner. The only importer of sqlglot."""

from tidegate.frontend.compiler import compile, compile_file, declared_sink

__all__ = ["compile", "compile_file", "declared_sink"]
