@T.prim_func
def operators(A: T.Buffer((8,), "float32"), n: T.int32):
    A[0] = n / 2  # error: integer-division
    A[0] = A[0] ** 2  # error: unsupported-operator
    A[0] = A[0] << 1  # error: type-mismatch
    A[0] = A + 1.0  # error: type-mismatch
    A[0] = n + "a"  # error: type-mismatch
    A[0] = 1 / 0  # error: division
    A[0] = T.Ramp(0, 1, 4) + T.Ramp(0, 1, 8)  # error: lanes
    A[0] = T.int8(300)  # error: literal-range
    A[0] = T.float32("one")  # error: literal-dtype
    A[0] = T.Cast("float33", n)  # error: unknown-dtype
