"""Warnings that name the user's line, from wherever in the package they come.

Why it exists: compiled functions have no Python frame and Python's own have, so that a fixed ``stacklevel`` names a
line of the package in one call and the caller's caller in another. Python's "once for each line" counts by that line.
"""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """``warnings.warn`` for the innermost frame that is not the package's own."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "cygrad":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
