@T.prim_func
def annotations(A: T.Buffer((8,), "float32")):
    v: T.float32[4] = 1.0  # error: annotation
    x: T.let  # error: annotation
    p: T.handle = A.data  # error: annotation
    q: 3 = 4  # error: annotation
    A[0]: T.float32 = 1.0  # error: invalid-target
