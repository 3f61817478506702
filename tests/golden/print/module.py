# from typing import TypeVar
# from loopwright.script import ir as I
# from loopwright.script import tirx as T

n = TypeVar("n")
@I.ir_module
class Module:
    I.module_attrs({"a": ["x", 2.0], "z": 1})
    @T.prim_func(private=True)
    def helper(p: T.handle("float32", "global"), x: T.int32):
        T.func_attr({"note": "helps"})
        A = T.decl_buffer((16,), data=p)
        A[x] = T.float32(0.0)

    @T.prim_func
    def main(A: T.Buffer((n, "n * T.int64(2)"), "float32"), x: T.int32) -> T.int32:
        T.evaluate(n)
        Module.helper(A.data, x)
        return x
