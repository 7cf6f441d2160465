"""The code generator: every refusal names file, line and entry; a small table gives the calls one expects.

Why it exists: the table is edited more often than any other file, and a mistake in it must stop the build with a
sentence, not with a C++ error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import pytest

from codegen.docs import operations_markdown
from codegen.emit_bindings import BindingsEmitter
from codegen.emit_ops import HelpersEmitter, OpsEmitter, has_apply
from codegen.emit_recorded import RecordedEmitter
from codegen.formula import default_value
from codegen.generate import load_table
from codegen.kernels import Kernel, parse_declaration, read_enums, read_kernels
from codegen.schema import Kind, TableError, parse_signature
from codegen.table import Table, build_table

KERNELS_PXD = """
cdef Array* add(Array* a, Array* b) noexcept nogil
cdef Array* mul(Array* a, Array* b) noexcept nogil   # a comment
cdef Array* neg(Array* a) noexcept nogil
cdef Array* exp(Array* a) noexcept nogil
cdef Array* conj(Array* a) noexcept nogil
cdef Array* scale_backward(Array* grad, Array* result) noexcept nogil
cdef Array* sum_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil
cdef Array* expand(Array* a, const IntList* sizes) noexcept nogil
cdef Array* cat(Array** list, int n, Py_ssize_t dim) noexcept nogil
cdef int cut(Array* grad, const Py_ssize_t* lengths, int n, Py_ssize_t dim, Array** outs) noexcept nogil
cdef int equal(Array* a, Array* b) noexcept nogil
cdef Array* loop(InnerLoop inner, Array* a) noexcept nogil
cdef enum Mode:
    MODE_A, MODE_B = 3
"""

BASE = """
- name: mul(Tensor self, Tensor other) -> Tensor
  self: grad * conj(other)
  other: grad * conj(self)
  result: auto_product

- name: conj(Tensor self) -> Tensor
  self: conj(grad)
  result: auto_linear
"""


def with_results(text: str) -> str:
    """The entries, each differentiable one with `result:`: most of the small tables are not about forward mode."""
    entries = re.split(r"(?m)^(?=- name: )", text)
    done = []
    for entry in entries:
        signature = entry.partition("\n")[0]
        inputs = re.findall(r"Tensor\??(?:\[\])? (\w+)", signature)
        formulas = [name for name in inputs if re.search(rf"(?m)^  {name}:", entry)]
        if formulas and "result:" not in entry and "not_implemented" not in entry:
            rule = "auto_linear" if len(formulas) == 1 else "auto_element_wise"
            entry = f"{entry.rstrip()}\n  result: {rule}\n"
        done.append(entry)
    return "".join(done)


class Build(Protocol):
    """Builds a table from YAML text, after the two operations of BASE."""

    def __call__(self, text: str, helpers: str = "", *, results: bool = True) -> Table:
        """The checked table; `results`: entries get a rule for tangents where they say none."""
        ...


@pytest.fixture
def make(tmp_path: Path) -> Build:
    """A builder whose table and kernels lie in a folder of this test."""

    def build(text: str, helpers: str = "", *, results: bool = True) -> Table:
        kernels = tmp_path / "kernels"
        folder = tmp_path / "derivatives"
        kernels.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
        (kernels / "some.pxd").write_text(KERNELS_PXD)
        (folder / "arithmetic.yaml").write_text(BASE + (with_results(text) if results else text))
        (folder / "helpers.yaml").write_text(helpers)
        return build_table(folder, read_kernels(kernels), read_enums(kernels))

    return build


def code(table: Table) -> tuple[str, str, str]:
    """What is written for the family: operations, recorded VJPs, bindings."""
    return (
        OpsEmitter(table, "arithmetic").emit()[0],
        RecordedEmitter(table, "arithmetic").emit(),
        BindingsEmitter(table, "arithmetic").emit(),
    )


# ---- signatures and kernels


def test_signature_is_parsed_into_kinds_and_defaults() -> None:
    """Every part of the notation arrives as a record."""
    s = parse_signature("f.over(Tensor self, int[2]? dim=None, *, Scalar alpha=1, str mode='a, b') -> (Tensor, Tensor)")
    assert (s.name, s.overload, s.identifier, s.returns) == ("f", "over", "f_over", ("Tensor", "Tensor"))
    assert [(a.name, a.kind, a.keyword_only, a.length) for a in s.arguments] == [
        ("self", Kind.TENSOR, False, None),
        ("dim", Kind.INTS_OPT, False, 2),
        ("alpha", Kind.SCALAR, True, None),
        ("mode", Kind.STR, True, None),
    ]
    assert [default_value(a) for a in s.arguments[1:]] == [None, 1, "a, b"]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("f(Tensor self", "cannot read the signature"),
        ("f(Tensors self) -> Tensor", "unknown type 'Tensors'"),
        ("f(Tensor self, Tensor self) -> Tensor", "named twice"),
        ("f(int a=1, int b) -> Tensor", "follows one with a default"),
        ("f(=3) -> Tensor", "cannot read the argument"),
    ],
)
def test_wrong_signatures_are_refused(text: str, phrase: str) -> None:
    """A signature that cannot be meant says why."""
    with pytest.raises(TableError, match=phrase):
        parse_signature(text)


def test_kernels_are_read_from_their_declarations(tmp_path: Path) -> None:
    """Lists count as one parameter; what no formula can call is left out; enumerators are known."""
    (tmp_path / "some.pxd").write_text(KERNELS_PXD)
    kernels = read_kernels(tmp_path)
    assert "loop" not in kernels
    assert kernels["cat"].parameters == (("list", Kind.TENSORS), ("dim", Kind.INT))
    assert kernels["cut"].several
    assert kernels["cut"].parameters == (("grad", Kind.TENSOR), ("lengths", Kind.INTS), ("dim", Kind.INT))
    assert kernels["cut"].plain_lists == {"lengths"}
    assert kernels["equal"].result is Kind.INT
    assert read_enums(tmp_path) == dict.fromkeys(("MODE_A", "MODE_B"), "cygrad._core.kernels.some")


def test_kernel_with_out_loses_it() -> None:
    """`Array* out` is the generator's to give."""
    kernel = parse_declaration("cdef Array* unary(int uf, Array* a, Array* out) noexcept nogil", "m")
    assert kernel == Kernel("unary", "m", (("uf", Kind.DTYPE), ("a", Kind.TENSOR)), False, True)


# ---- refusals, with file, line and entry

REFUSALS = [
    ("- name: exp(Tensor self) -> Tensor\n  self: grad * nothing", "self", "the name 'nothing' is not in scope"),
    ("- name: exp(Tensor self) -> Tensor\n  self: nothing(grad)", "self", "unknown function 'nothing'"),
    ("- name: exp(Tensor self) -> Tensor\n  self: mul(grad)", "self", "misses its argument 'other'"),
    ("- name: exp(Tensor self) -> Tensor\n  self: conj(grad, grad)", "self", "takes 1 arguments, but 2"),
    ("- name: exp(Tensor self) -> Tensor\n  self: conj(x=grad)", "self", "misses its argument 'self'"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad *", "self", "cannot read the formula"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad @ grad", "self", "no operator"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad - grad", "self", "needs the function 'sub'"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad[0]", "self", "can be subscripted"),
    ("- name: exp(Tensor self) -> Tensor\n  self: sizes(self)", "self", "that of a tensor a tensor"),
    ("- name: exp(Tensor self) -> Tensor\n  self: conj(sizes(self))", "self", "must be Tensor, not int"),
    ("- name: exp(Tensor self) -> Tensor\n  self: sizes(1)", "self", "takes the name of a tensor"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad if grad else grad", "self", "a condition must be bool or int"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad if self is None else grad", "self", "`is` compares an optional"),
    (
        "- name: exp(Tensor self, Scalar a) -> Tensor\n  forward: exp(self)\n  self: number_value(self) * grad",
        "self",
        "would lose its gradient",
    ),
    ("- name: exp(Tensor self) -> Tensor", "name", "the input 'self' has no formula"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad\n  nondif: self", "name", "unused key 'nondif'"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad\n  nondiff: other", "nondiff", "'other' is no input"),
    (
        "- name: exp(Tensor self, int n) -> Tensor\n  forward: exp(self)\n  self: grad\n  n: grad",
        "n",
        "only tensors have formulas",
    ),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad\n  exact: other", "exact", "no differentiable input"),
    ("- name: exp(Tensor self) -> Tensor\n  self: grad\n  variants: metod", "name", "unknown variant 'metod'"),
    ("- name: sin(Tensor self) -> Tensor\n  self: grad", "forward", "there is no kernel 'sin'"),
    ("- name: exp(Tensor self) -> Tensor\n  forward: sinus(self)\n  self: grad", "forward", "unknown function 'sinus'"),
    (
        "- name: exp(Tensor self) -> Tensor\n  forward: exp(self)\n  compose: conj(self)\n  self: grad",
        "name",
        "exclude each other",
    ),
    ("- name: exp(Tensor self) -> Tensor\n  compose: conj(self)\n  self: grad", "self", "no formulas of its own"),
    ("- name: exp(Tensor self) -> bool\n  forward: exp(self)", "forward", "calls a kernel that returns int"),
    ("- name: exp(Tensor self, str mode) -> Tensor\n  self: grad", "choices", "choices must name the string arguments"),
    (
        (
            "- name: exp(Tensor self, str mode) -> Tensor\n  choices: {mode: [a, b]}\n  forward: exp(self)\n"
            "  self: grad if mode == 'c' else grad"
        ),
        "self",
        "never 'c'",
    ),
    (
        "- name: cut(Tensor[] tensors, int dim) -> Tensor\n  forward: cat(tensors, dim)\n  tensors: grad",
        "tensors",
        "the formula of a list gives a list",
    ),
    ("- name: pieces(Tensor self) -> Tensor[]\n  forward: exp(self)\n  self: grad", "count", "count tells the number"),
    ("- name: conj(Tensor self) -> Tensor\n  self: grad", "name", "taken already"),
]


@pytest.mark.parametrize(("entry", "key", "phrase"), REFUSALS, ids=[r[2] for r in REFUSALS])
def test_wrong_entries_name_file_line_and_entry(make: Build, entry: str, key: str, phrase: str) -> None:
    """The message starts with file and line of the key at fault, and names the entry."""
    lines = (BASE + entry).splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("- name: "))
    at = [i for i in range(start, len(lines)) if lines[i].lstrip("- ").startswith(f"{key}:")]
    line = (at[0] if at else start) + 1
    with pytest.raises(TableError) as caught:
        make(entry)
    message = str(caught.value)
    assert message.startswith(f"arithmetic.yaml:{line}: {lines[start].removeprefix('- name: ')}: {key}: ")
    assert phrase in message


EXP = "- name: exp(Tensor self) -> Tensor\n  self: grad\n"
ADD = "- name: add(Tensor self, Tensor other) -> Tensor\n  self: grad\n  other: grad\n"
RESULTS = [
    (EXP, "a differentiable operation needs `result:`"),
    (
        "- name: exp(Tensor self) -> Tensor\n  self: not_implemented\n  result: self_t",
        "only operations with derivatives",
    ),
    ("- name: exp(Tensor self) -> Tensor\n  compose: conj(self)\n  result: self_t", "only operations with derivatives"),
    (EXP + "  result: auto_magic", "unknown rule 'auto_magic'"),
    (ADD + "  result: auto_linear", "with one differentiable input"),
    (ADD + "  result: self_t", "must map the differentiable inputs"),
    (ADD + "  result: {self: self_t}", "needs a term for each of: self, other"),
    (ADD + "  result: {self: other_t, other: other_t}", "the name 'other_t' is not in scope"),
    (EXP + "  result: grad", "the name 'grad' is not in scope"),
    (EXP + "  result: sizes(self)", "gives no tensor"),
    (
        (
            "- name: cat(Tensor[] tensors, int dim=0) -> Tensor\n  variants: function\n"
            "  tensors: cut(grad, lengths(tensors, dim), dim)\n  result: auto_element_wise"
        ),
        "is for operations on tensors with one result",
    ),
]


@pytest.mark.parametrize(("entry", "phrase"), RESULTS, ids=[r[1] for r in RESULTS])
def test_wrong_tangents_name_file_and_entry(make: Build, entry: str, phrase: str) -> None:
    """Every differentiable entry says how its tangent follows, by a rule or by a term an input."""
    helpers = "- name: cut(grad, int[] lengths, int dim)\n  python: true\n  several: true\n"
    with pytest.raises(TableError) as caught:
        make(entry, helpers, results=False)
    assert re.match(r"arithmetic\.yaml:\d+: (exp|add|cat)\(.*: result: ", str(caught.value))
    assert phrase in str(caught.value)


def test_tangents_are_sums_of_terms(make: Build) -> None:
    """A term for each input that has a tangent; rules write it from the operation or from its VJP."""
    _, recorded, _ = code(make(ADD + "  result:\n    self: self_t\n    other: mul(other_t, self)\n", results=False))
    assert "sum_0_ = tangent_fresh(self_t, self_t)" in recorded
    assert "sum_0_ = tangent_add(sum_0_, tangent_fresh(o_mul(other_t, self), other_t))" in recorded
    assert "tangent_fresh(o_mul(self_t, other), self_t)" in recorded  # mul of BASE: auto_product
    _, recorded, _ = code(
        make("- name: exp(Tensor self) -> Tensor\n  self: grad * result\n  result: auto_element_wise")
    )
    assert "g_0_ = o_conj(self_t)" in recorded
    assert "tangent_fresh(o_conj(o_mul(g_0_, result_)), self_t)" in recorded


def test_operations_look_for_tangents_where_a_level_is_open(make: Build) -> None:
    """One test of a global at the end of an operation; in place, the JVP reads the value before the write."""
    ops, _, _ = code(make("- name: exp(Tensor self) -> Tensor\n  inplace: true\n  self: grad * result\n"))
    assert "if unlikely(forward_open) and forward_on() and boxed(self):\n        tangent_set(result_, (<Jvp_exp>" in ops
    assert "old_ = written_old(self)" in ops
    assert "tangent_write(self, (<Jvp_exp>NT_exp.jvp)(old_, self))" in ops


def test_same_key_twice_is_refused(make: Build) -> None:
    """YAML would silently keep the last one."""
    with pytest.raises(TableError, match=r"arithmetic\.yaml:12: key 'self' is given twice"):
        make("- name: exp(Tensor self) -> Tensor\n  self: grad\n  self: grad")


def test_helper_without_body_is_refused(make: Build) -> None:
    """A helper is a body or a Python function."""
    with pytest.raises(
        TableError, match=r"helpers\.yaml:1: scale_backward\(grad, result\): body: a helper needs a body"
    ):
        make("", "- name: scale_backward(grad, result)")


def test_inplace_of_a_composition_needs_an_inplace_operation(make: Build) -> None:
    """Its in-place variant would otherwise write nothing."""
    table = make("- name: exp(Tensor self) -> Tensor\n  inplace: true\n  compose: conj(self)")
    with pytest.raises(TableError, match="must end in an in-place operation"):
        OpsEmitter(table, "arithmetic").emit()


# ---- what follows from a formula


def test_a_variable_is_saved_where_a_wanted_formula_reads_it(make: Build) -> None:
    """Mul saves each factor only for the gradient of the other one."""
    mul = make("").operations["mul"]
    assert [(s.name, s.number, set(s.needed_by)) for s in mul.saved] == [("other", 1, {0}), ("self", 0, {1})]
    ops, recorded, bindings = code(make(""))
    assert "if other.requires_grad_:\n            save_input(n_, 1, self, 0)" in ops.replace(
        "needs_grad(other)", "other.requires_grad_"
    )
    assert "t0_0_ = k_conj(other)\n        t0_1_ = k_mul(grad, t0_0_)\n        gout[0] = t0_1_" in ops
    assert 'node_type_set(&NT_mul, b"MulBackward0", apply_mul, 1, b"other,self", b"tt", b"", b"")' in ops
    assert "out_[0] = o_mul(grad, o_conj(other))" in recorded
    assert 'B_mul.spec = b"T self;T other"' in bindings
    assert "return c_mul(arg_tensor(&c, 0), arg_tensor(&c, 1))" in bindings


def test_results_and_facts_are_saved_under_torchs_names(make: Build) -> None:
    """The result as an output; sizes as self_sym_sizes; arguments under their own names."""
    table = make(
        "- name: exp(Tensor self) -> Tensor\n  self: grad * result\n"
        "- name: sum.dim(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor\n  node: SumBackward1\n"
        "  forward: sum_dims(self, dim, keepdim, None)\n  saves: dim, keepdim\n  self: expand(grad, sizes(self))\n"
        "- name: expand(Tensor self, int[] size) -> Tensor\n  view: true\n  self: grad\n"
    )
    assert [(s.name, s.is_output) for s in table.operations["exp"].saved] == [("result", True)]
    assert {v.name for v in table.operations["sum_dim"].values} == {"self_sym_sizes", "dim", "keepdim"}
    ops, _, _ = code(table)
    assert "save_output(n_, 0, result_, 0)" in ops
    assert "val_save_sizes(&n_.s, " in ops
    assert "out_ = k_sum_dims(a_self_, ints_or_none(dim), keepdim, -1)" in ops
    assert "view_set(result_, self)" in ops


def test_a_fact_of_a_saved_tensor_is_read_off_it(make: Build) -> None:
    """No second copy of the sizes where the tensor itself is saved."""
    table = make(
        "- name: exp(Tensor self) -> Tensor\n  self: expand(grad * self, sizes(self))\n"
        "- name: expand(Tensor self, int[] size) -> Tensor\n  self: grad\n"
    )
    assert table.operations["exp"].values == ()
    assert "ints_sizes(&l0_1_, self)" in code(table)[0]


def test_helper_runs_as_kernel_without_the_gil_and_as_body_when_recorded(make: Build) -> None:
    """The same formula, twice."""
    table = make(
        "- name: exp(Tensor self) -> Tensor\n  self: scale_backward(grad, result)",
        "- name: scale_backward(grad, result)\n  body: grad * result",
    )
    ops, recorded, _ = code(table)
    assert "k_scale_backward(grad, result)" in ops
    assert "out_[0] = o_scale_backward(grad, result)" in recorded
    helpers, _ = HelpersEmitter(table).emit()
    assert "cdef Tensor scale_backward(Tensor grad, Tensor result):\n    return o_mul(grad, result)" in helpers


def test_a_gradient_that_two_formulas_read_is_held(make: Build) -> None:
    """A kernel may overwrite a gradient that nobody else holds: not while another formula needs it."""
    helper = "- name: scale_backward(grad, result)\n  body: grad * result"
    once = make("- name: exp(Tensor self) -> Tensor\n  self: scale_backward(grad, result)", helper)
    twice = make(
        "- name: add(Tensor self, Tensor other) -> Tensor\n  self: scale_backward(grad, result)\n  other: grad", helper
    )
    assert "array_incref(grad)  #" not in code(once)[0]
    assert code(twice)[0].count("array_incref(grad)  #") == 1


def test_an_operation_that_calls_a_backward_kernel_holds_its_input(make: Build) -> None:
    """As an operation its first argument belongs to a Tensor, which must not be overwritten."""
    ops = code(
        make(
            "- name: half(Tensor self, Tensor result) -> Tensor\n  variants: none\n"
            "  forward: scale_backward(self, result)\n  nondiff: all"
        )
    )[0]
    assert "array_incref(a_self_)" in ops
    assert "array_decref(a_self_)" in ops


def test_formula_without_a_kernel_runs_with_the_gil(make: Build) -> None:
    """A Python helper has no form on Arrays: the node has no apply."""
    table = make("- name: exp(Tensor self) -> Tensor\n  self: slow(grad)", "- name: slow(grad)\n  python: true")
    assert not has_apply(table, table.operations["exp"])
    ops, recorded, _ = code(table)
    assert 'node_type_set(&NT_exp, b"ExpBackward0", NULL, 1' in ops
    assert "formulas_.slow(grad)" in recorded


def test_a_missing_derivative_refuses_when_gone_back_through(make: Build) -> None:
    """There are operations whose gradient is not implemented."""
    ops, recorded, _ = code(make("- name: exp(Tensor self) -> Tensor\n  self: not_implemented"))
    assert "derivative for exp is not implemented" in ops
    assert "derivative for exp is not implemented" in recorded


def test_conditions_refuse_before_anything_is_computed(make: Build) -> None:
    """A check of the table is an exception of the operation."""
    ops, _, _ = code(
        make('- name: exp(Tensor self) -> Tensor\n  checks: {"ndim(self) >= 2": "exp: too flat"}\n  self: grad * 2')
    )
    assert 'if not ((array_of(self).ndim) >= (2)):\n        raise RuntimeError("cygrad: exp: too flat")' in ops


def test_hidden_facts_have_no_attribute(make: Build) -> None:
    """A name that starts with ! is kept for the formula alone."""
    ops, _, _ = code(
        make(
            "- name: exp(Tensor self) -> Tensor\n  hides: sizes(self)\n  self: expand(grad, sizes(self))\n"
            "- name: expand(Tensor self, int[] size) -> Tensor\n  self: grad\n"
        )
    )
    assert 'b"!self_sym_sizes"' in ops


def test_constants_are_made_once(make: Build) -> None:
    """A number of a formula is one wrapped Array a module."""
    ops, recorded, _ = code(make("- name: exp(Tensor self) -> Tensor\n  self: grad * 2 * 2"))
    assert ops.count("scalar_int(2)") == 1
    assert recorded.count("tensor_number(2)") == 1


def test_overloads_share_a_binding_and_numbers_are_tried_last(make: Build) -> None:
    """Tensor overloads come first whatever the order of the table."""
    bindings = code(
        make(
            "- name: add.number(Tensor self, Scalar other) -> Tensor\n  forward: add(self, other)\n  self: grad\n"
            "- name: add.tensor(Tensor self, Tensor other) -> Tensor\n  forward: add(self, other)\n"
            "  self: grad\n  other: grad\n"
        )
    )[2]
    assert 'B_add.spec = b"T self;T other|T self;S other"' in bindings
    assert "if which == 0:\n        return c_add_tensor(" in bindings


def test_lists_go_to_kernels_as_pointer_and_count(make: Build) -> None:
    """A list of tensors, and a plain list of lengths in its backward."""
    ops, _, _ = code(
        make(
            "- name: cat(Tensor[] tensors, int dim=0) -> Tensor\n  variants: function\n"
            "  tensors: cut(grad, lengths(tensors, dim), dim)\n",
            "- name: cut(grad, int[] lengths, int dim)\n  python: true\n  several: true\n",
        )
    )
    assert "out_ = k_cat(arrays_, count_, dim)" in ops
    assert (
        "k_cut(grad, (<const IntList*>node_.vals[0].list).v, (<const IntList*>node_.vals[0].list).n, "
        "node_.vals[1].i, gout)" in ops
    )


# ---- the real table


def test_the_table_of_this_checkout_is_valid_and_documented() -> None:
    """It builds; every public operation has a docstring; nearly every VJP runs without the GIL."""
    table = load_table()
    by_name: dict[str, list[str]] = {}
    for o in table.operations.values():
        if o.variants != {"none"}:
            by_name.setdefault(o.signature.name, []).append(o.doc)
    assert [name for name, docs in by_name.items() if not any(docs)] == ["view"] * (
        "view" in by_name and not any(by_name["view"])
    )
    with_gil = [o.identifier for o in table.operations.values() if o.gradients and not has_apply(table, o)]
    assert len(with_gil) <= len([o for o in table.operations.values() if o.gradients]) // 20
    assert "| `mul(Tensor self, Tensor other) -> Tensor` | MulBackward0 |" in operations_markdown(table)
