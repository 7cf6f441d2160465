"""Sample inputs of views and of operations that rearrange elements."""

from __future__ import annotations

from types import ModuleType

from ops.spec import Call, Dtype, Entry, Operand, S, Sample, both, function, method, syntax, t

IMAGES: tuple[Sample, ...] = (S(t(2, 3, 4, 5)), S(t(2, 3, 2, 4, layout="t")), S(t(2, 1, 1, 3)), S(t(0, 2, 3, 4)))
WHOLE: tuple[Sample, ...] = (S(t(2, 3)), S(t(3, 2, layout="t")), S(t(2, 3, layout="s")))


def pieces(call_name: str) -> Call:
    """Sum of every second part a multi-output operation gives: the others' cotangents stay undefined."""

    def call(m: ModuleType, x: object, *args: object, **kwargs: object) -> object:
        target = getattr(m, call_name)
        assert callable(target)
        parts = target(x, *args, **kwargs)
        assert isinstance(parts, tuple | list)
        return parts[::2]

    return call


def transposed(_: ModuleType, x: Operand) -> object:
    """x.T."""
    return x.T


def matrix_transposed(_: ModuleType, x: Operand) -> object:
    """x.mT."""
    return x.mT


def conjugate_transposed(_: ModuleType, x: Operand) -> object:
    """x.mH."""
    return x.mH


def in_format(call_name: str, format_name: str) -> Call:
    """A copy (or the tensor itself) that lies as a memory format says."""

    def call(m: ModuleType, x: object) -> object:
        target = getattr(x, call_name)
        assert callable(target)
        return target(memory_format=getattr(m, format_name))

    return call


def permuted(_: ModuleType, x: Operand) -> object:
    """The method takes dimensions one by one."""
    return x.permute(2, 0, 1)


RESHAPES: tuple[Sample, ...] = (
    S(t(2, 3), (3, 2)),
    S(t(2, 3), (-1,)),
    S(t(2, 3), (6,)),
    S(t(2, 3), (1, 2, 1, 3)),
    S(t(2, 3), (2, -1)),
    S(t(), (1, 1)),
    S(t(1), ()),
    S(t(0, 3), (3, 0)),
    S(t(2, 0), (0, 5)),
    S(t(2, 3), (2, 3)),
)
BAD_RESHAPES = (S(t(2, 3), (4, 2)), S(t(2, 3), (-1, -1)), S(t(2, 3), (-1, 4)), S(t(0), (-1, 0)), S(t(2, 3), (2, -3)))
BAD_DIMS = (S(t(2, 3), 0, 2), S(t(2, 3), -3, 0))

ENTRIES: tuple[Entry, ...] = (
    method(
        "view",
        *RESHAPES,
        S(t(2, 3), 3, 2),
        S(t(2, 3, layout="o"), 6),
        S(t(2, 3, layout="s"), (6,)),
        view=True,
        bad=(*BAD_RESHAPES, S(t(3, 2, layout="t"), 6)),
    ),
    both("reshape", *RESHAPES, S(t(3, 2, layout="t"), (6,)), S(t(2, 3, layout="s"), (6,)), view=True, bad=BAD_RESHAPES),
    method("reshape_as", S(t(2, 3), t(3, 2)), view=True, bad=(S(t(2, 3), t(4)),)),
    method("view_as", S(t(2, 3), t(3, 2)), view=True, bad=(S(t(2, 3), t(4)),)),
    both(
        "transpose",
        S(t(2, 3), 0, 1),
        S(t(2, 3), -1, 0),
        S(t(2, 3, 2), 0, 2),
        S(t(2, 3, 2), 1, 1),
        S(t(3, 2, layout="t"), 0, 1),
        S(t(0, 3), 0, 1),
        S(t(), 0, -1),
        fns=("transpose", "swapaxes", "swapdims"),
        view=True,
        bad=BAD_DIMS,
    ),
    both("t", S(t(2, 3)), S(t(3)), S(t()), S(t(0, 2)), view=True, bad=(S(t(2, 3, 2)),)),
    syntax("T", transposed, *WHOLE, S(t(2, 2)), view=True, covers=("numpy_T",)),
    syntax("mT", matrix_transposed, *WHOLE, S(t(2, 3, 2)), view=True),
    both(
        "permute",
        S(t(2, 3), (1, 0)),
        S(t(2, 3, 2), (2, 0, 1)),
        S(t(2, 3, 2), (-1, 0, 1)),
        S(t(2, 3), (0, 1)),
        S(t(), ()),
        S(t(3, 2, layout="t"), (1, 0)),
        view=True,
        bad=(S(t(2, 3), (0, 0)), S(t(2, 3), (0,)), S(t(2, 3), (0, 2))),
    ),
    syntax("permute method", permuted, S(t(2, 3, 2)), view=True),
    both(
        "movedim",
        S(t(2, 3, 2), 0, 2),
        S(t(2, 3, 2), -1, 0),
        S(t(2, 3, 2), (0, 1), (1, 2)),
        S(t(2, 3), 1, 1),
        fns=("movedim", "moveaxis"),
        view=True,
        bad=(S(t(2, 3), 0, 2), S(t(2, 3), (0, 0), (0, 1)), S(t(2, 3), (0, 1), (0,))),
    ),
    both(
        "squeeze",
        S(t(1, 3, 1)),
        S(t(1, 3, 1), 0),
        S(t(1, 3, 1), -1),
        S(t(2, 3), 0),
        S(t(1, 3, 1), (0, 2)),
        S(t(1, 3, 1), (0, 1)),
        S(t()),
        S(t(), 0),
        S(t(1, 0, 1)),
        view=True,
        bad=(S(t(2, 3), 2),),
    ),
    both(
        "unsqueeze",
        S(t(2, 3), 0),
        S(t(2, 3), 2),
        S(t(2, 3), -1),
        S(t(2, 3), -3),
        S(t(), 0),
        S(t(0), 1),
        view=True,
        bad=(S(t(2, 3), 3), S(t(2, 3), -4)),
    ),
    method(
        "expand",
        S(t(1, 3), (2, 3)),
        S(t(1, 3), (2, -1)),
        S(t(3), (2, 3)),
        S(t(), (2, 2)),
        S(t(2, 1), 2, 3),
        S(t(2, 3), (2, 3)),
        S(t(1), (0,)),
        S(t(1, 3), (2, 1, 3)),
        view=True,
        bad=(S(t(2, 3), (3, 3)), S(t(2, 3), (3,)), S(t(2), (-1, 2)), S(t(1), (-2,))),
    ),
    method("expand_as", S(t(1, 3), t(2, 3)), S(t(), t(2)), view=True, bad=(S(t(2), t(3)),)),
    method(
        "sum_to_size",
        S(t(2, 3), (1, 3)),
        S(t(2, 3), 2, 1),
        S(t(4, 2, 3), (3,)),
        S(t(2), ()),
        named=False,
        bad=(S(t(2), (3,)),),
    ),
    both("broadcast_to", S(t(1, 3), (2, 3)), S(t(3), (2, 3)), S(t(), (2,)), view=True, bad=(S(t(2), (3,)),)),
    function("broadcast_tensors", S(t(1, 3), t(2, 1)), S(t(), t(2)), view=True, bad=(S(t(2), t(3)),)),
    both(
        "flatten",
        S(t(2, 3)),
        S(t(2, 3, 2), 1),
        S(t(2, 3, 2), 0, 1),
        S(t(2, 3, 2), start_dim=-2),
        S(t()),
        S(t(3)),
        S(t(3, 2, layout="t")),
        S(t(0, 3)),
        view=True,
        named=False,
        bad=(S(t(2, 3), 2), S(t(2, 3), 1, 0)),
    ),
    both(
        "unflatten",
        S(t(2, 6), 1, (2, 3)),
        S(t(6), 0, (3, -1)),
        S(t(2, 6), -1, (6, 1)),
        view=True,
        bad=(S(t(6), 0, (4, 2)), S(t(6), 1, (2, 3))),
    ),
    both("ravel", S(t(2, 3)), S(t(3, 2, layout="t")), S(t()), view=True, named=False),
    both(
        "select",
        S(t(2, 3), 0, 1),
        S(t(2, 3), 1, -1),
        S(t(2, 3), -1, 0),
        S(t(3), 0, 2),
        S(t(3, 2, layout="t"), 0, 1),
        S(t(0, 3), 1, 2),
        view=True,
        bad=(S(t(2, 3), 0, 2), S(t(2, 3), 2, 0), S(t(), 0, 0)),
    ),
    both(
        "narrow",
        S(t(4, 3), 0, 1, 2),
        S(t(4, 3), 1, 0, 3),
        S(t(4, 3), -1, 2, 1),
        S(t(4, 3), 0, -2, 2),
        S(t(4, 3), 0, 2, 0),
        view=True,
        bad=(S(t(4, 3), 0, 3, 2), S(t(4, 3), 0, 0, -1), S(t(4, 3), 2, 0, 1), S(t(), 0, 0, 0)),
    ),
    both(
        "split",
        S(t(5, 2), 2),
        S(t(4, 2), 2),
        S(t(5, 2), (1, 4)),
        S(t(2, 5), 3, 1),
        S(t(2, 5), [2, 0, 3], dim=-1),
        S(t(3), 5),
        S(t(0, 2), 2),
        view=True,
        covers=("split_with_sizes", "unsafe_split"),
        bad=(S(t(5, 2), 0), S(t(5, 2), -1), S(t(5, 2), (1, 3)), S(t(5, 2), 2, 2), S(t(), 1)),
    ),
    syntax("split, every second part", pieces("split"), S(t(5, 2), 2), S(t(5, 2), [1, 2, 2]), view=True),
    both(
        "chunk",
        S(t(5, 2), 2),
        S(t(5, 2), 3),
        S(t(2, 4), 4, 1),
        S(t(2), 5),
        S(t(0, 3), 2),
        view=True,
        named=False,
        bad=(S(t(2), 0), S(t(), 1)),
    ),
    both(
        "unbind",
        S(t(2, 3)),
        S(t(2, 3), 1),
        S(t(2, 3), dim=-1),
        S(t(3)),
        S(t(0, 2)),
        view=True,
        bad=(S(t(2, 3), 2), S(t())),
    ),
    syntax("unbind, every second part", pieces("unbind"), S(t(3, 2)), view=True),
    both(
        "diagonal",
        S(t(3, 3)),
        S(t(2, 3), 1),
        S(t(2, 3), -1),
        S(t(2, 3, 3), 0, 1, 2),
        S(t(2, 3, 3), offset=1, dim1=-1, dim2=0),
        S(t(2, 3), 5),
        S(t(3, 2, layout="t")),
        view=True,
        bad=(S(t(3)), S(t(2, 3), 0, 0, 0), S(t(2, 3), 0, 0, 2)),
    ),
    both(
        "as_strided",
        S(t(6), (2, 2), (2, 1)),
        S(t(6), (2, 2), (1, 1)),
        S(t(2, 3), (3, 2), (1, 3)),
        S(t(6), (2, 3), (0, 1), 1),
        S(t(6), (3,), (2,)),
        S(t(6), (), ()),
        view=True,
        bad=(S(t(6), (2, 2), (1,)), S(t(6), (7,), (1,)), S(t(6), (2,), (-1,)), S(t(6), (-1,), (1,))),
    ),
    method(
        "unfold",
        S(t(6), 0, 2, 2),
        S(t(6), 0, 3, 1),
        S(t(2, 5), 1, 2, 2),
        S(t(2, 5), -1, 5, 1),
        S(t(3, 2, layout="t"), 0, 2, 1),
        view=True,
        covers=("unfold_backward",),
        bad=(S(t(6), 0, 7, 1), S(t(6), 0, 2, 0), S(t(6), 1, 2, 1), S(t(6), 0, -1, 1)),
    ),
    function(
        "cat",
        S([t(2, 3), t(1, 3)]),
        S([t(2, 3), t(2, 2)], 1),
        S((t(2, 3), t(2, 1)), dim=-1),
        S([t(2, 3)]),
        S([t(2, 3), t(0, 3)]),
        S([t(2, 3), t(0)]).unchecked(),
        S([t(3, 2, layout="t"), t(3, 2)]),
        S([t(2, 3), t(2, 3, grad=False)]),
        S([t(2), t(3), t(1)]),
        S([t(2), t(2, dtype="float32")]).unchecked(),
        S([t(2), t(2, dtype="int64")]).unchecked(),
        fns=("cat", "concat", "concatenate"),
        bad=(S([]), S([t(2, 3), t(2, 2)]), S([t(2), t(2, 2)]), S([t(2)], 1), S([t(), t()]), S(t(2)), S([t(2), 1.0])),
    ),
    function(
        "stack",
        S([t(2, 3), t(2, 3)]),
        S([t(2), t(2), t(2)], 1),
        S((t(), t())),
        S([t(3, 2, layout="t"), t(3, 2)], dim=-1),
        S([t(0), t(0)]),
        S([t(2), t(2, dtype="float32")]).unchecked(),
        bad=(S([]), S([t(2), t(3)]), S([t(2)], 2)),
    ),
    method(
        "repeat",
        S(t(2, 3), (2, 1)),
        S(t(2, 3), 1, 2),
        S(t(3), (2, 2)),
        S(t(), (3,)),
        S(t(2), (0,)),
        S(t(2, 3), (1, 1)),
        S(t(3, 2, layout="t"), 2, 1, 2),
        bad=(S(t(2, 3), (2,)), S(t(2), (-1,))),
    ),
    both("tile", S(t(2, 3), (2,)), S(t(2, 3), (2, 1)), S(t(2), (2, 2)), S(t(), (3,)), bad=(S(t(2), (-1,)),)),
    both(
        "flip",
        S(t(2, 3), (0,)),
        S(t(2, 3), (0, 1)),
        S(t(2, 3), [-1]),
        S(t(3, 2, layout="t"), (1,)),
        S(t(0, 2), (0,)),
        bad=(S(t(2, 3), (0, 0)), S(t(2, 3), (2,))),
    ),
    both("fliplr", S(t(2, 3)), S(t(2, 3, 2)), bad=(S(t(3)),)),
    both("flipud", S(t(2, 3)), S(t(3)), bad=(S(t()),)),
    both(
        "roll",
        S(t(2, 3), 1),
        S(t(2, 3), 1, 0),
        S(t(2, 3), (1, 2), (0, 1)),
        S(t(2, 3), -1, 1),
        S(t(2, 3), 7, 1),
        S(t(0), 1),
        S(t(3, 2, layout="t"), 1, 0),
        bad=(S(t(2, 3), (1, 2), (0,)), S(t(2, 3), 1, 2)),
    ),
    *(
        both(
            name,
            S(t(3, 3)),
            S(t(2, 3), 1),
            S(t(3, 2), -1),
            S(t(2, 3), diagonal=5),
            S(t(2, 2, 3)),
            S(t(3, 2, layout="t")),
            S(t(0, 3)),
            bad=(S(t(3)),),
        )
        for name in ("tril", "triu")
    ),
    both("adjoint", S(t(2, 3)), S(t(2, 3, 2)), view=True, named=False, bad=(S(t(3)),)),
    syntax("mH", conjugate_transposed, S(t(2, 3)), S(t(2, 3, 2)), view=True, named=False),
    both(
        "diag_embed",
        S(t(3)),
        S(t(2, 2)),
        S(t(2), 1),
        S(t(2), offset=-1),
        S(t(2, 3), 0, 0, 2),
        bad=(S(t(3), 0, 0, 0), S(t(3), 0, 0, 5)),
    ),
    both(
        "diag",
        S(t(3)),
        S(t(2), 1),
        S(t(2), -1),
        S(t(3, 3)),
        S(t(2, 3), 1),
        S(t(3, 2), -1),
        S(t(0)),
        named=False,
        covers=("diag_embed",),
        bad=(S(t(2, 2, 2)), S(t())),
    ),
    function(
        "nn.functional.pad",
        S(t(2, 3), (1, 2)),
        S(t(2, 3), (1, 0, 0, 2)),
        S(t(2, 3), (1, 1), "constant", 1.5),
        S(t(2, 3), (0, 1), value=-2.0),
        S(t(2, 3), (-1, 0)),
        S(t(2, 3), (-1, 2, 1, -1)),
        S(t(2, 2, 3), (0, 0, 1, 1)),
        S(t(0, 2), (1, 1)),
        S(t(3, 2, layout="t"), (1, 1)),
        covers=("constant_pad_nd",),
        bad=(S(t(3), (1, 1, 1, 1)), S(t(2, 3), (1,)), S(t(2, 3), (-2, -2))),
    ),
    method(
        "to",
        S(t(2, 3), Dtype("float32")).unchecked(),
        S(t(2, 3), Dtype("float64")).floating(),
        S(t(3, 2, layout="t"), Dtype("complex128")),
        S(t(2, 3), Dtype("complex64")).unchecked(),
        S(t(2, 3, grad=False), Dtype("int64")).unchecked().floating(),
        S(t(2, 3), Dtype("float64"), copy=True).floating(),
        named=False,
        covers=("cast",),
    ),
    method("contiguous", *WHOLE, S(t()), named=False, covers=("contiguous_copy",)),
    both("clone", *WHOLE, S(t()), S(t(0))),
    syntax("clone as", in_format("clone", "channels_last"), *IMAGES, bad=(S(t(2, 3)),), covers=("clone",)),
    syntax("clone in C order", in_format("clone", "contiguous_format"), *WHOLE, *IMAGES, covers=("clone",)),
    syntax("clone as it is", in_format("clone", "preserve_format"), *WHOLE, *IMAGES, covers=("clone",)),
    syntax(
        "contiguous as", in_format("contiguous", "channels_last"), *IMAGES, bad=(S(t(2, 3)),), covers=("contiguous",)
    ),
    syntax(
        "contiguous as it is",
        in_format("contiguous", "preserve_format"),
        S(t(2, 3)),
        bad=WHOLE[1:],
        covers=("contiguous",),
    ),
    both("detach", *WHOLE, grad=False, view=True),
)
