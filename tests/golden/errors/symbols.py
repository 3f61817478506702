@T.prim_func
def symbols(A: T.Buffer(("m",), "float32"), B: T.Buffer(("m * k",), "float32")):
    m = T.int64()  # error: symbol-type
    A[m + q] = 1.0  # error: undefined-name
