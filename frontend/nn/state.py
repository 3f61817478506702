"""What models keep between calls: caches of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...errors import Diagnostic, DTypeError, IRError
from ...ir import Expr, StringImm, Var
from ...ir.relax import BlockBuilder, ShapeExpr, TensorType, get_op, null_value
from ...ir.types import AnyType
from .core import Effect, get_default_dtype
from .tensor import Tensor, expr_of, sizes_of


class KVCache(Effect):
    """Rows of one shape, to which each call appends: contiguous memory that grows as needed.

    `append` puts rows behind those that are there, `view(n)` gives the first n.
    """

    def __init__(self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None) -> None:
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(n) for n in unit_shape]
        self.dtype = dtype or get_default_dtype()
        self.cache: Var | None = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """An empty cache with room for `init_seq_len` rows."""
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        room = builder.emit(get_op("relax.zeros")(shape, dtype=self.dtype))
        call = get_op("relax.call_pure_packed")
        made = call("vm.builtin.attention_kv_cache_create", room, shape, 0, ty_args=AnyType())
        return [builder.emit(made, name_hint)]

    def create(self, name_hint: str) -> list[Var]:
        """A parameter for the cache."""
        self.cache = Var(name_hint or "cache", AnyType())
        return [self.cache]

    def set_state(self, state_vars: list[Var]) -> None:
        """Use this variable as the cache."""
        (self.cache,) = state_vars

    def finalize(self) -> list[Var]:
        """The cache after what was appended."""
        made, self.cache = self._at_hand(), None
        return [made]

    def to(self, dtype: str | None = None) -> None:
        """Let it keep rows of this dtype."""
        self.dtype = dtype or self.dtype

    def append(self, new_element: Tensor) -> None:
        """Put rows, a tensor (n, *unit_shape), behind those that are there.

        Raises DTypeError for another dtype.
        """
        if new_element.dtype != self.dtype:
            raise DTypeError(
                Diagnostic("type-mismatch", f"a cache of `{self.dtype}` cannot take a `{new_element.dtype}`")
            )
        name = "vm.builtin.attention_kv_cache_append"
        call = get_op("relax.call_inplace_packed")
        cache = self._at_hand()
        made = call(name, cache, new_element._expr, inplace_indices=[0], ty_args=AnyType())
        self.cache = self._builder().emit(made, cache.name)

    def view(self, seq_len: int | Expr) -> Tensor:
        """The first rows: a tensor (seq_len, *unit_shape)."""
        sizes: Any = sizes_of([seq_len, *self.unit_shape], {})
        call = get_op("relax.call_pure_packed")
        ty = TensorType(sizes, self.dtype)
        name = "vm.builtin.attention_kv_cache_view"
        made = call(name, self._at_hand(), ShapeExpr(sizes), ty_args=ty)
        return Tensor(_expr=self._builder().emit(made, "cache_view"))

    def _at_hand(self) -> Var:
        if self.cache is None:
            raise IRError(Diagnostic("graph-builder", "a cache is used in a method that is being exported"))
        return self.cache

    def _builder(self) -> BlockBuilder:
        builder = BlockBuilder.current()
        assert builder is not None
        return builder


class IOEffect(Effect):
    """The order of what a model being debugged shows: each showing takes it and gives it on."""

    active: ClassVar[list[IOEffect]] = []
    """Those of the methods that are being exported, the innermost last."""

    def __init__(self) -> None:
        self.effect: Var | None = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """Nothing was shown yet."""
        return [builder.emit(null_value(), name_hint)]

    def create(self, name_hint: str) -> list[Var]:
        """A parameter for it."""
        self.effect = Var(name_hint, AnyType())
        return [self.effect]

    def set_state(self, state_vars: list[Var]) -> None:
        """Use this variable."""
        (self.effect,) = state_vars

    def finalize(self) -> list[Var]:
        """What the last showing gave."""
        made, self.effect = self.effect, None
        assert made is not None
        return [made]

    def show(self, function: str, place: str, args: Sequence[Any]) -> None:
        """Call a registered function with the place and these values when the model comes here."""
        builder = BlockBuilder.current()
        assert builder is not None and self.effect is not None
        call = get_op("relax.call_pure_packed")
        given = [StringImm(function), StringImm(place), *expr_of(list(args))]
        made = call("vm.builtin.invoke_debug_func", self.effect, *given, ty_args=AnyType())
        self.effect = builder.emit(made, "_io")


__all__ = ["IOEffect", "KVCache"]
