"""Optimizers with torch's API: they read `.grad` of their parameters and update the parameters in place.

They are plain Python over a handful of in-place tensor operations, so that they stay readable and work on every device.
"""

from cygrad.optim.adam import Adam, AdamW
from cygrad.optim.optimizer import Optimizer
from cygrad.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
