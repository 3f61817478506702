"""Normal form of functions, and of the names of a module's functions."""

from __future__ import annotations

from ...ir import IRModule
from ...ir.relax.function_table import rename_functions, settle_names
from ...ir.relax.rewrite import GraphRewriter
from ..registry import register_pass


@register_pass("relax.Normalize")
def normalize(mod: IRModule) -> IRModule:
    """Arguments of calls are variables, constants, shapes, scalars or tuples of those: the rest has names.

    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            y = R.exp(R.add(x, x))
            return y

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            gv = R.add(x, x)
            y = R.exp(gv)
            return y
    """
    made: IRModule = GraphRewriter()(mod)
    return made


@register_pass("relax.NormalizeGlobalVar")
def normalize_global_var(mod: IRModule) -> IRModule:
    """Each public function's name is its attribute "global_symbol"; no private one has the same name.

    Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                y = R.exp(x)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                R.func_attr({"global_symbol": "f"})
                y = cls.f(x)
                return y

    after:
        @I.ir_module
        class Module:
            @R.function
            def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.f1(x)
                return y

            @R.function(private=True)
            def f1(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                y = R.exp(x)
                return y
    """
    return settle_names(mod)


__all__ = ["normalize", "normalize_global_var", "rename_functions"]
