"""Contractions by subscripts or by lists of dims.

``einsum`` and ``tensordot``, as matrix products of rearranged operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cygrad
from cygrad._core.tensor import Tensor

__all__ = ["einsum", "tensordot"]


def tensordot(
    a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Sequence[int] | Tensor = 2, out: None = None
) -> Tensor:
    """The sum over the products of ``a`` and ``b`` along pairs of dims.

    ``dims``: a number n (the last n dims of ``a`` with the first n of ``b``), or two lists of dims. The result has the
    other dims of ``a``, then those of ``b``. Raises RuntimeError where the sizes of a pair differ or a dim is named
    twice, IndexError for dims that do not exist.
    """
    if out is not None:
        raise RuntimeError("cygrad.tensordot: out= is not supported; use the returned tensor")
    dims_a, dims_b = _dim_pairs(a, b, dims)
    if len(dims_a) != len(dims_b):
        raise RuntimeError(
            f"cygrad.tensordot: both dimension lists should have same length, got {len(dims_a)} and {len(dims_b)}"
        )
    dims_a = [_dim(a, d) for d in dims_a]
    dims_b = [_dim(b, d) for d in dims_b]
    if len(set(dims_a)) != len(dims_a) or len(set(dims_b)) != len(dims_b):
        raise RuntimeError("cygrad.tensordot: dim appears multiple times in the list of dims")
    for i, (p, q) in enumerate(zip(dims_a, dims_b, strict=True)):
        if a.shape[p] != b.shape[q]:
            if a.shape[p] == 1:
                b = b.sum(q, keepdim=True)
            elif b.shape[q] == 1:
                a = a.sum(p, keepdim=True)
            else:
                raise RuntimeError(
                    f"cygrad.tensordot: contracted dimensions need to match, but first has size {a.shape[p]} in dim "
                    f"{p} and second has size "
                    f"{b.shape[q]} in dim {q} (pair {i})"
                )
    kept_a = [d for d in range(a.dim()) if d not in dims_a]
    kept_b = [d for d in range(b.dim()) if d not in dims_b]
    sizes_a = [a.shape[d] for d in kept_a]
    sizes_b = [b.shape[d] for d in kept_b]
    inner = math.prod(a.shape[d] for d in dims_a)
    left = a.permute([*kept_a, *dims_a]).reshape(math.prod(sizes_a), inner)
    right = b.permute([*dims_b, *kept_b]).reshape(inner, math.prod(sizes_b))
    return left.mm(right).reshape([*sizes_a, *sizes_b])


def _dim(t: Tensor, d: int) -> int:
    n = max(t.dim(), 1)
    if not -n <= d < n:
        raise IndexError(
            f"cygrad.tensordot: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
        )
    return d % n


def _dim_pairs(
    a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Sequence[int] | Tensor
) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        return _dim_pairs(a, b, dims.tolist())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"cygrad.tensordot: tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"cygrad.tensordot: tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.dim() - dims, a.dim())), list(range(dims))
    first, second = dims
    return [first] if isinstance(first, int) else list(first), [second] if isinstance(second, int) else list(second)


def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """The sum of products that ``equation`` names: ``"ij,jk->ik"`` is a matrix product.

    Each letter is a dim; letters missing behind ``->`` are summed over; a letter twice in one operand takes the
    diagonal; ``...`` stands for dims that broadcast. Operands are contracted from left to right, each pair as one
    batched matrix product. Raises RuntimeError for malformed equations and for sizes that do not fit.
    """
    tensors: list[Tensor] = []
    for operand in operands:
        if isinstance(operand, Tensor):
            tensors.append(operand)
        else:
            tensors.extend(operand)
    if not isinstance(equation, str):
        raise TypeError(f"cygrad.einsum: the equation must be a str, not {type(equation).__name__}")
    if not tensors:
        raise RuntimeError("cygrad.einsum: must provide at least one operand")
    inputs, output, ellipsis = _parse(equation, tensors)
    sizes: dict[str, int] = {}
    pairs = [
        _labelled(t, labels, ellipsis, sizes, i) for i, (t, labels) in enumerate(zip(tensors, inputs, strict=True))
    ]
    current, labels = pairs[0]
    for i, (other, other_labels) in enumerate(pairs[1:], 1):
        later = set(output).union(*(names for _, names in pairs[i + 1 :]))
        current, labels = _contract(current, labels, other, other_labels, later)
    summed = [i for i, name in enumerate(labels) if name not in output]
    if summed:
        current = current.sum(summed)
        labels = [name for name in labels if name in output]
    if labels != output:
        current = current.permute([labels.index(name) for name in output])
    return current


def _parse(equation: str, tensors: list[Tensor]) -> tuple[list[list[str]], list[str], int]:
    """Labels of each operand and of the result, and the number of ellipsis dims, which are labelled "0", "1", ...."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise RuntimeError(
            f"cygrad.einsum: {'more' if len(tensors) > len(terms) else 'fewer'} operands were provided than specified "
            f"in the equation {equation!r}: {len(tensors)} for {len(terms)}"
        )
    ellipsis = 0
    for i, (term, tensor) in enumerate(zip(terms, tensors, strict=True)):
        named = len(term.replace("...", "", 1))
        if "..." in term:
            ellipsis = max(ellipsis, tensor.dim() - named)
        if named > tensor.dim() or ("..." not in term and named < tensor.dim()):
            raise RuntimeError(
                f"cygrad.einsum: the number of subscripts in the equation ({named}) does not match the number of "
                f"dimensions ({tensor.dim()}) for operand {i}"
            )
    inputs = [_labels(term, tensor.dim(), equation) for term, tensor in zip(terms, tensors, strict=True)]
    if arrow:
        output = _labels(right, len(right.replace("...", "", 1)) + (ellipsis if "..." in right else 0), equation)
        for name in output:
            if output.count(name) > 1:
                raise RuntimeError(
                    f"cygrad.einsum: output subscript {name} appears more than once in the output of {equation!r}"
                )
            if not name.isdigit() and not any(name in names for names in inputs):
                raise RuntimeError(
                    f"cygrad.einsum: output subscript {name} does not appear in the equation for any input operand: "
                    f"{equation!r}"
                )
    else:
        letters = [name for names in inputs for name in names if not name.isdigit()]
        output = [str(k) for k in range(ellipsis - 1, -1, -1)] + sorted(
            name for name in set(letters) if letters.count(name) == 1
        )
    return inputs, output, ellipsis


def _labels(term: str, ndim: int, equation: str) -> list[str]:
    """One label a dim; the dims of an ellipsis are numbered from the last one."""
    before, dots, after = term.partition("...")
    for letter in before + after:
        if not (letter.isascii() and letter.isalpha()):
            raise RuntimeError(
                f"cygrad.einsum: invalid subscript given: {letter!r} in {equation!r}; subscripts must be in [a-zA-Z]"
            )
    spread = ndim - len(before) - len(after) if dots else 0
    return [*before, *(str(k) for k in range(spread - 1, -1, -1)), *after]


def _labelled(
    tensor: Tensor, labels: list[str], ellipsis: int, sizes: dict[str, int], operand: int
) -> tuple[Tensor, list[str]]:
    """Diagonals of repeated labels taken, sizes checked."""
    for i, name in enumerate(labels):
        size = tensor.shape[i]
        known = sizes.get(name, 1)
        if size != known and size != 1 and known != 1:
            raise RuntimeError(
                f"cygrad.einsum: operands do not broadcast with remapped shapes: subscript {name} has size {known} "
                f"and, in operand {operand}, size {size}"
            )
        sizes[name] = max(size, known) if size and known else 0
    for name in dict.fromkeys(labels):
        while labels.count(name) > 1:
            first = labels.index(name)
            second = labels.index(name, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"cygrad.einsum: subscript {name} is repeated for operand {operand} but the sizes don't match, "
                    f"{tensor.shape[second]} != {tensor.shape[first]}"
                )
            tensor = tensor.diagonal(0, first, second)
            labels = [n for k, n in enumerate(labels) if k not in (first, second)] + [name]
    return tensor, labels


def _contract(
    a: Tensor, names_a: list[str], b: Tensor, names_b: list[str], later: set[str]
) -> tuple[Tensor, list[str]]:
    """One pair as a batched matrix product.

    Labels in both and needed later are the batch, labels in both and not needed are summed.
    """
    for names, other in ((names_a, names_b), (names_b, names_a)):
        alone = [n for n in names if n not in later and n not in other]
        if alone:
            dims = [names.index(n) for n in alone]
            if names is names_a:
                a = a.sum(dims)
                names_a = [n for n in names_a if n not in alone]
            else:
                b = b.sum(dims)
                names_b = [n for n in names_b if n not in alone]
    for name in [n for n in names_a if n in names_b and n not in later]:
        # A dim of size 1 against a larger one is summed on the larger side.
        size_a, size_b = a.shape[names_a.index(name)], b.shape[names_b.index(name)]
        if size_a != size_b:
            if size_a == 1:
                b = b.sum(names_b.index(name), keepdim=True)
            else:
                a = a.sum(names_a.index(name), keepdim=True)
    batch = [n for n in names_a if n in names_b and n in later]
    summed = [n for n in names_a if n in names_b and n not in later]
    only_a = [n for n in names_a if n not in names_b]
    only_b = [n for n in names_b if n not in names_a]
    batch_sizes = [
        max(a.shape[names_a.index(n)], b.shape[names_b.index(n)])
        if a.shape[names_a.index(n)] and b.shape[names_b.index(n)]
        else 0
        for n in batch
    ]
    a = a.permute([names_a.index(n) for n in [*batch, *only_a, *summed]])
    b = b.permute([names_b.index(n) for n in [*batch, *summed, *only_b]])
    k = len(batch)
    sizes_a, inner, sizes_b = (
        list(a.shape[k : k + len(only_a)]),
        list(a.shape[k + len(only_a) :]),
        list(b.shape[k + len(summed) :]),
    )
    a = a.expand([*batch_sizes, *a.shape[k:]]).reshape([math.prod(batch_sizes), math.prod(sizes_a), math.prod(inner)])
    b = b.expand([*batch_sizes, *b.shape[k:]]).reshape([math.prod(batch_sizes), math.prod(inner), math.prod(sizes_b)])
    product = cygrad.bmm(a, b).reshape([*batch_sizes, *sizes_a, *sizes_b])
    return product, [*batch, *only_a, *only_b]
