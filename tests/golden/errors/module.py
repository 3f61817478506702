@I.ir_module
class Module:
    I.module_attrs({"a": 1})
    I.module_attrs({"a": 2})  # error: duplicate-declaration
    x.y = 3  # error: unsupported-syntax

    def plain(A: T.Buffer((8,), "float32")):  # error: undecorated
        A[0] = 1.0

    @T.exp  # error: unknown-decorator
    def odd(A: T.Buffer((8,), "float32")):
        A[0] = 1.0

    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        Module.g(A, A)  # error: wrong-arguments
        Module.h(A)  # error: unknown-function

    @T.prim_func
    def g(A: T.Buffer((8,), "float32")):
        A[0] = 1.0

    @T.prim_func
    def g(A: T.Buffer((8,), "float32")):  # error: duplicate-function
        A[0] = 1.0
