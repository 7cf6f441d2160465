"""Tests of the operations: a table of sample inputs, and the checks that run over every row of it."""
