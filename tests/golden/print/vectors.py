# from loopwright.script import tirx as T

@T.prim_func
def vectors(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    A[0:4] = B[T.Ramp(0, 1, 4)] + T.Broadcast(T.float32(1.0), 4)
    A[1:9:2] = B[T.Ramp(8, -1, 4)]
    A[0:T.vscale() * 4] = B[T.Ramp(0, 1, T.vscale() * 4)]
    A[T.Broadcast(3, 4)] = T.Shuffle([B[T.Ramp(0, 1, 4)]], [3, 2, 1, 0])
    x: T.let[T.int32x4] = T.Cast("int32x4", B[T.Ramp(0, 1, 4)])
    T.masked_store(A, T.Broadcast(T.float32(0.0), 4), T.Ramp(0, 1, 4), T.Broadcast(T.bool(True), 4))
    T.evaluate(x)
