# The table of recorded_ops.pxd; it lives in a module of its own so that every floor can reach it.
