"""From SQL text to a plan: dialect, binder, planner. The only importer of sqlglot."""

from tidegate.frontend.compiler import compile, compile_call, compile_file, declared_sink
from tidegate.frontend.tables.catalog import Catalog

__all__ = ["Catalog", "compile", "compile_call", "compile_file", "declared_sink"]
