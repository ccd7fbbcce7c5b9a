"""Puts `tests` on the path, so that the kit has the name that mypy knows it by."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
