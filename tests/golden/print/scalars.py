# from loopwright.script import tirx as T

@T.prim_func
def scalars(A: T.Buffer((16,), "float32"), n: T.int64):
    x: T.int32 = 1
    y: T.int64 = n + T.int64(1)
    x = x + 1
    x = x + 2
    z: T.let[T.int64] = n * T.int64(2)
    v = T.alloc_local((4,))
    for i in range(16):
        v[i % 4] = A[i] * T.Cast("float32", x)
        A[i] = v[i % 4]
    w = T.alloc_local((1,))
    T.evaluate(y + z)
    w[0] = A[0]
