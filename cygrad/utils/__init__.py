"""Helpers around the core that torch keeps in ``torch.utils``."""
