"""Generator of cygrad's operations: reads the table in codegen/derivatives and writes Cython modules, stubs and the operation table.

Why it exists: an operation's signature, formula, saved tensors, bindings and types are one fact each; everything that repeats them is made from the table.
"""
