@T.prim_func
def statements(A: T.Buffer((8,), "float32")):
    import math  # error: unsupported-syntax
    class C:  # error: unsupported-syntax
        pass
    def helper():  # error: undecorated
        pass
    @T.prim_func
    def inner(B: T.Buffer((8,), "float32")):  # error: nested-function
        B[0] = 1.0
