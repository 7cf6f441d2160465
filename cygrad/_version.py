"""The version, said once: pyproject.toml and `cygrad.__version__` both read it here, without importing anything."""

__version__ = "0.1.0"
