"""Generator of cygrad's operations: the table in codegen/derivatives becomes Cython modules and stubs.

Why it exists: an operation's signature, formula, saved tensors, bindings and types are one fact each; everything that
repeats them is made from the table.
"""
