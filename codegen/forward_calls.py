"""What an operation does about forward mode: the test for tangents at its end, and the call of its JVP.

Why apart: the JVPs themselves (emit_forward.py) lie in modules a floor above, which operations reach through their
NodeType; here is all that stands in the operations.
"""

from __future__ import annotations

from codegen.schema import Kind
from codegen.table import Operation
from codegen.writer import local, parameters_text


def jvp_result(o: Operation) -> str:
    """What a JVP gives: a tangent, or a list of them."""
    return "list" if o.outputs or o.returns_list else "Tensor"


def jvp_parameters(o: Operation) -> str:
    """The parameters of a JVP: the operation's own, and its result."""
    return f"{parameters_text(o.signature.arguments, False)}, {jvp_result(o)} result_"


def jvp_type(o: Operation) -> str:
    """The C type of a pointer to a JVP."""
    return f"ctypedef {jvp_result(o)} (*Jvp_{o.identifier})({jvp_parameters(o)})"


def _boxed(o: Operation) -> str:
    """The condition under which some input may have a tangent: without a dual level, one load and a jump."""
    tests = [
        f"any_boxed({local(a.name)})" if a.kind is Kind.TENSORS else f"boxed({local(a.name)})"
        for a in o.signature.arguments
        if a.name in o.gradients
    ]
    either = tests[0] if len(tests) == 1 else f"({' or '.join(tests)})"
    return f"unlikely(forward_open) and forward_on() and {either}"


def _call(o: Operation, arguments: list[str], result: str) -> str:
    return f"(<Jvp_{o.identifier}>NT_{o.identifier}.jvp)({', '.join([*arguments, result])})"


def give_tangents(o: Operation) -> list[str]:
    """Statements that give the results of an operation, or of a view, their tangents."""
    if o.missing:
        return [f"if {_boxed(o)}:", f'    forward_refuse(b"{o.signature.name}")']
    call = _call(o, [local(a.name) for a in o.signature.arguments], "result_")
    if o.view:
        source = local(o.signature.arguments[0].name)
        give = "tangents_set_views" if o.returns_list else "tangent_set_view"
        return [f"if {_boxed(o)}:", f"    {give}(result_, {source}, {call})"]
    give = "tangent_set" if jvp_result(o) == "Tensor" else "tangents_set"
    return [f"if {_boxed(o)}:", f"    {give}(result_, {call})"]


def before_write(o: Operation, declarations: list[str]) -> list[str]:
    """Statements before an in-place operation writes: its JVP will read the value and the tangent of now."""
    if o.missing:
        return give_tangents(o)
    this = local(o.signature.arguments[0].name)
    if o.tangents is None:
        return []
    declarations.append("cdef Tensor old_ = None")
    return [f"if {_boxed(o)}:", f"    old_ = written_old({this})"]


def after_write(o: Operation) -> list[str]:
    """Statements after the write: the tangent is written, too."""
    if o.missing:
        return []
    this = local(o.signature.arguments[0].name)
    if o.tangents is None:
        test = f"unlikely(forward_open) and forward_on() and boxed({this})"
        return [f"if {test}:", f"    tangent_write({this}, None)"]
    given = ["old_"] + [
        f"(old_ if {local(a.name)} is {this} else {local(a.name)})" if a.kind.is_array else local(a.name)
        for a in o.signature.arguments[1:]
    ]
    return ["if old_ is not None:", f"    tangent_write({this}, {_call(o, given, this)})"]
