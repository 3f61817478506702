# from loopwright.script import tirx as T

@T.prim_func
def gpu(A: T.Buffer((256,), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    B = T.alloc_shared((64,))
    tx = T.env_thread("threadIdx.x")
    with T.launch_thread(tx, 64):
        B[tx] = A[bx * 64 + tx]
    T.tvm_storage_sync("shared", T.bool(False), -1)
    with T.launch_thread(tx, 32):
        A[tx] = B[tx]
    with T.attr({"pragma_auto_unroll": 16, "note": "x"}):
        T.evaluate(bx)
    with T.attr(A.data, "storage_alignment", 64):
        A[0] = T.float32(1.0)
