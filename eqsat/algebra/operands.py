"""What a program computes twice, with operands in another order: x @ A.T is A @ x."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from eqsat.ir.dtypes import is_complex
from eqsat.ir.index import substitute
from eqsat.ir.tensor import Build, Call, Gather, Read, Reduce, Scalar, Tensor, axes, has_fold, operands, over, scalars, sources

# operations on elements that give the same bits for operands in either order, but for which NaN it is
COMMUTATIVE = frozenset(
    ("add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
)


class Computed:
    """The tensors with folds that a program computes, up to one of them; they are told apart with operands in one order, and movements
    read as what they move."""

    def __init__(self) -> None:
        self._orders = _Orders()
        self._first: dict[int, Build] = {}

    def before(self, tensor: Build) -> Build | None:
        """The first of the tensors until now that is computed alike, if it is not this one, which is one of them from now on."""
        number = self._orders.of_tensor(tensor)
        first = self._first.setdefault(number, tensor) if has_fold(tensor.body) else tensor
        return first if first is not tensor else None

    def instead(self, made: Iterable[Build]) -> dict[Tensor, Build]:
        """For tensors that are made for another one, sources first: those of the program that are computed alike, or else the same over
        what there is instead of their sources."""
        found: dict[Tensor, Build] = {}
        for tensor in made:
            now = over(tensor, {source: found.get(source, source) for source in sources(tensor)})
            assert isinstance(now, Build)
            found[tensor] = self._first.get(self._orders.of_tensor(now), now) if has_fold(now.body) else now
        return found

    def __contains__(self, tensor: Tensor) -> bool:
        return isinstance(tensor, Build) and self._first.get(self._orders.of_tensor(tensor)) is tensor


class _Orders:
    """Numbers of tensors and elements: the same for what differs in the order of operands alone."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._tensors: dict[Tensor, int] = {}
        self._terms: dict[Scalar, int] = {}

    def of_tensor(self, tensor: Tensor) -> int:
        """The number of a tensor; those of its sources are known, or follow."""
        if tensor not in self._tensors:
            key: Hashable = (tensor.shape, self._of_term(tensor.body)) if isinstance(tensor, Build) else tensor
            self._tensors[tensor] = self._number(key)
        return self._tensors[tensor]

    def _of_term(self, root: Scalar) -> int:
        for term in scalars(root):
            if term not in self._terms:
                self._terms[term] = self._number(self._key(term))
        return self._terms[root]

    def _key(self, term: Scalar) -> Hashable:
        if isinstance(term, Read):
            moved = unmoved(term)
            return self.of_tensor(moved.tensor), moved.indices
        parts = [self._terms[arg] for arg in operands(term)]
        if isinstance(term, Call):
            return term.op, term.dtype, *(sorted(parts) if term.op in COMMUTATIVE and not is_complex(term.dtype) else parts)
        if isinstance(term, Reduce):
            return term.op, term.variable, *parts
        return (self.of_tensor(term.tensor), term.checked, *parts) if isinstance(term, Gather) else term

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def unmoved(read: Read) -> Read:
    """A read of movements as a read of what they move."""
    while isinstance(read.tensor, Build) and isinstance(read.tensor.body, Read):
        env = dict(zip(axes(read.tensor.shape), read.indices, strict=True))
        read = Read(read.tensor.body.tensor, tuple(substitute(index, env) for index in read.tensor.body.indices))
    return read
