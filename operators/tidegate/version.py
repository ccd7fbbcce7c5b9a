"""Which release this is: the number that pyproject.toml and the chart have too."""

from typing import Final

__version__: Final = "0.1.0"
