@T.prim_func
def assignments(A: T.Buffer((8,), "float32"), n: T.int32):
    x = y = 3  # error: chained-assignment
    p, p = n, n  # error: duplicate-target
    p, q = n, n, n  # error: unpacking
    n = 3  # error: immutable
    n += 1  # error: immutable
    A.data = 3  # error: invalid-target
    r: T.let = n
    r = 4  # error: immutable
    h = A.data
    h = A.data  # error: immutable
    z = T.evaluate(0)  # error: no-value
    A[0] = A  # error: type-mismatch
    A[0] = "text"  # error: type-mismatch
    A[0:4] = T.Broadcast(T.float32(0), 8)  # error: lanes
    n[0] = 1.0  # error: not-a-buffer
