"""From SQL text to a plan: dialect, binder, planner. The only importer of sqlglot."""

from tidegate.frontend.compiler import compile, compile_file, declared_sink
from tidegate.frontend.script import Script

__all__ = ["Script", "compile", "compile_file", "declared_sink"]
