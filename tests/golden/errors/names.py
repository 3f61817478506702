@T.prim_func
def names(A: T.Buffer((8,), "float32")):
    for i in range(8):
        C[i] = A[i] + 1.0  # error: undefined-name
        A[i] = gain * 2.0  # error: undefined-name
        B = T.alloc_buffer((gain,))  # error: undefined-name
        B[i] = 1.0
    A[i] = 0.0  # error: undefined-name
    if A[0] > 0.0:
        x: T.int32 = 1
    A[x] = 0.0  # error: undefined-name
