"""The words of a C-like language, and how it spells what differs between the languages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...dtype import DType

if TYPE_CHECKING:
    from ...target import Target
    from .core import Emitter
    from .rules import Rule
    from .stmt import Statements
    from .text import Term, Unit


class Dialect(ABC):
    """One language for one target.

    Formats below 32 bits that the language does not have are *carried*: a value is a `float` that the format
    holds exactly, rounded after each operation, and memory holds the bits as an unsigned integer.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What messages call the target."""
    types: ClassVar[Mapping[str, str]]
    preamble: ClassVar[tuple[str, ...]] = ()
    """The lines that every source begins with."""
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The headers of a type."""
    axes: ClassVar[Mapping[str, str]]
    """How a thread reads its place on an axis."""
    kernel: ClassVar[str]
    function: ClassVar[str]
    helper: ClassVar[str]
    """What stands before a kernel, a function and a helper function."""
    restrict: ClassVar[str]
    bool_cell: ClassVar[str]
    reserved: ClassVar[frozenset[str]]
    rules: ClassVar[Mapping[str, Rule]]
    """Rules that this language has, or has in place of the shared ones."""
    suffixes: ClassVar[Mapping[str, str]]
    """What follows the digits of an integer."""
    infinity: ClassVar[Mapping[int, str]]
    nan: ClassVar[Mapping[int, str]]
    """Infinity and NaN by the bits of a float."""
    widest: ClassVar[int]
    """The most bytes of a vector access."""
    unaligned: ClassVar[bool]
    """Whether a vector access needs no more alignment than its elements."""
    trap: ClassVar[str] = ""
    """The function that ends a kernel, where there is one."""
    print_double: ClassVar[bool] = True
    """Whether printf takes floats as `double`."""
    print_long: ClassVar[str]
    """What printf shows an integer of 64 bits by, without the last letter."""
    dynamic_parameter: ClassVar[bool] = False
    """Whether dynamic shared memory is a parameter of the kernel."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.native = self.native_floats()

    @abstractmethod
    def native_floats(self) -> frozenset[str]:
        """The formats below 32 bits that the language computes with."""

    def carried(self, dtype: DType) -> bool:
        """Whether a value of this format is carried in a `float`."""
        return dtype.is_float and dtype.bits < 32 and str(dtype.element) not in self.native

    def value_type(self, dtype: DType) -> str:
        """The C type of a scalar's value."""
        if self.carried(dtype):
            return self.types["float32"]
        if dtype.is_integral and not dtype.is_bool and dtype.bits < 8:
            return self.types["int8" if dtype.is_int else "uint8"]
        return self.types[str(dtype.element)]

    def cell_type(self, dtype: DType) -> str:
        """The C type of a scalar in memory."""
        if dtype.is_bool:
            return self.bool_cell
        if dtype.is_integral and dtype.bits < 8:
            return self.types["uint8"]
        if self.carried(dtype):
            return self.types["uint16" if dtype.bits == 16 else "uint8"]
        return self.value_type(dtype)

    def extension(self, name: str) -> bool:
        """Whether the target has an extension of the language."""
        return False

    # Spellings

    @abstractmethod
    def pointer(self, cell: str, scope: str, const: bool = False) -> str:
        """The type of a pointer to cells in memory of a scope."""

    def near(self, scope: str) -> str:
        """How the name of a helper ends that takes a pointer of a scope, where pointers differ by scope."""
        return ""

    @abstractmethod
    def shared(self, declaration: str) -> str:
        """The declaration of an array in shared memory."""

    def local(self, declaration: str, size: int) -> str:
        """The declaration of an array in a thread's own memory, of cells of so many bytes."""
        return declaration

    @abstractmethod
    def bounds(self, threads: int | None, shape: tuple[int, int, int] | None) -> str:
        """What stands before a kernel's name to say how many threads a block has at most."""

    @abstractmethod
    def math(self, unit: Unit, name: str, bits: int) -> str:
        """The name of a mathematical function of floats of 32 or 64 bits."""

    @abstractmethod
    def small_constant(self, dtype: DType, value: float) -> str:
        """A constant of a format below 32 bits that the language has."""

    @abstractmethod
    def vector(self, unit: Unit, dtype: DType, lanes: int) -> str:
        """The type of a vector of cells, at most `widest` bytes, a power of two of lanes."""

    @abstractmethod
    def lane(self, dtype: DType, lanes: int, k: int) -> str:
        """How a field of such a vector is called."""

    @abstractmethod
    def load(self, m: Emitter, dtype: DType, lanes: int, address: Term, scope: str) -> str:
        """The expression for the cells from an address on."""

    @abstractmethod
    def store(self, m: Emitter, dtype: DType, address: Term, scope: str, cells: list[str]) -> str:
        """The statement that stores cells from an address on."""

    @abstractmethod
    def bits_to_float(self, unit: Unit, dtype: DType) -> tuple[str, str]:
        """The functions from the bits of a float type to the float, and back."""

    def half_conversions(self) -> tuple[list[str], list[str]] | None:
        """The bodies of functions of `x` from the bits of a float16 to float and back; None: by integers."""
        return None

    def narrow(self, unit: Unit, dtype: DType, source: DType) -> str | None:
        """The function from a wider float to a native one below 32 bits, rounded once; None for a cast."""
        return None

    def before_barriers(self) -> list[str]:
        """The lines that stand before a loop with barriers that is inside of no other loop."""
        return []

    @abstractmethod
    def fail(self, m: Emitter, message: str) -> None:
        """End the thread with a message."""

    @abstractmethod
    def count_bits(self, leading_zeros: bool, bits: int) -> str:
        """The function that counts the one bits, or the leading zeros, of a word of 32 or 64 bits."""

    @abstractmethod
    def atomic_add(self, m: Statements, dtype: DType, place: Term, value: Term) -> Term | None:
        """The expression that adds to a cell; its value is the one before. None: the language has none."""

    @abstractmethod
    def atomic_cas(self, m: Statements, dtype: DType, place: Term, old: Term, new: Term) -> Term | None:
        """The expression that swaps a cell that has the old value; otherwise as `atomic_add`."""

    def shuffle(self, way: str, mask: Term, value: Term, lane: Term, width: Term) -> Term:
        """A shuffle of 32 or 64 bits, for rules of CUDA; `way` is empty, `up`, `down` or `xor`."""
        raise AssertionError(f"{self.name} has other rules for shuffles")

    def find_scope(self, scope: str) -> Any:
        """What emits an allocation in a scope that only this language has; None for other scopes."""
        return None

    @abstractmethod
    def check_division(self, unit: Unit, dtype: DType) -> list[str]:
        """The lines with which a division of `a` by `b` begins."""

    def find_rule(self, name: str) -> Any:
        """The rule of this language for an operator, by its name without the namespace; None without one."""
        from .rules import RULES

        return self.rules.get(name) or RULES.get(name)
