@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        return x

    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = R.add(A[0], A[1])  # error: outside-graph
        A[0] = T.ptx.mma(1)  # error: unsupported
        tx = T.thread_id([32])  # error: unsupported
