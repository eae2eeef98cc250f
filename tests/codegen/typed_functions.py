"""Typed index terms as machine code: a function of the variables' values, for the tests of codegen."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from eqsat.codegen.builder import Builder, Value, element_type
from eqsat.codegen.index import Known, emit_index, llvm_type, resized
from eqsat.codegen.llvm.machine import Library, object_code
from eqsat.ir.index import Var
from eqsat.ir.typed import Counter, Name, Typed, typed_terms


class TypedFunction:
    """The values of typed terms, computed after O3; `text` is the LLVM IR before it."""

    def __init__(self, roots: Sequence[Typed], variables: Sequence[Var]) -> None:
        self.lanes = [root.lanes for root in roots]
        b = Builder()
        known: Known = {}
        for term in typed_terms(*roots):
            if isinstance(term, Name | Counter) and term.variable in variables:
                place = b.element("i64", "%env", Value(str(variables.index(term.variable)), "i64"), "inbounds")
                known[term] = resized(b, b.load("i64", place), llvm_type(term), term.bounds)
        for slot, value in enumerate(self._lane_values(b, roots, known)):
            b.store(value, b.element("i64", "%out", Value(str(slot), "i64"), "inbounds"))
        declarations = "\n".join(sorted(b.declarations))
        self.text = f"define void @f(ptr noalias %env, ptr noalias %out) {{\n{b.finish()}\n}}\n{declarations}\n"
        self._library = Library(object_code(self.text), ("f",))
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._library.address("f"))

    def _lane_values(self, b: Builder, roots: Sequence[Typed], known: Known) -> list[Value]:
        found = []
        for root in roots:
            value = emit_index(b, root, known)
            for lane in range(root.lanes):
                scalar = value if root.lanes == 1 else b.emit(element_type(value.type), f"extractelement {value}, i64 {lane}")
                found.append(resized(b, scalar, "i64", root.bounds))
        return found

    def __call__(self, *values: int) -> list[int | tuple[int, ...]]:
        """A number a scalar term, a tuple a vector, in order."""
        env, out = (ctypes.c_int64 * max(len(values), 1))(*values), (ctypes.c_int64 * sum(self.lanes))()
        self._call(env, out)
        flat = iter(out)
        lanes = [tuple(next(flat) for _ in range(count)) for count in self.lanes]
        return [lane[0] if len(lane) == 1 else lane for lane in lanes]
