class Module:  # error: undecorated
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = 1.0
