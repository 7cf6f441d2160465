"""The compiled core of cygrad: arrays, kernels, graph and engine. Floors and arrows between them: docs/design.md."""
