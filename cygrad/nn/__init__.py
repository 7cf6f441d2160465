"""What ``torch.nn`` has as functions; modules are a later floor."""

from cygrad.nn import functional

__all__ = ["functional"]
