@T.prim_func
def indices(A: T.Buffer((8, 8), "float32"), n: T.int32):
    A[0] = 1.0  # error: index-count
    A[0, 0, n] = 1.0  # error: index-count
    A[0, 0] = A[n]  # error: index-count
    A[0, 1.5] = 1.0  # error: index-type
    A[0, 0] = A[A[0, 0], 0]  # error: index-type
    A[0, 0] = n[0]  # error: not-a-buffer
    A[T.Ramp(0, 1, 4), 0] = 1.0  # error: vector-index
    A[0, 0] = A[0:4, 0] + 1.0  # error: type-mismatch
