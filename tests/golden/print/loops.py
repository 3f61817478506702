# from loopwright.script import tirx as T

@T.prim_func
def loops(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in range(n):
        A[i] = i
    for i in range(1, 5):
        A[i] = i
    for i in range(0, 16, 4):
        A[i] = i
    for i in T.parallel(4):
        for j in T.vectorized(4):
            A[i * 4 + j] = j
    for i in T.unroll(4, annotations={"k": [1, 2.5, "x", None]}):
        A[i] = i
    for i in T.serial(4, unroll=3):
        A[i] = i
    for i in range(T.int64(4)):
        A[T.Cast("int32", i)] = 0
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            A[bx * 16 + tx] = tx
    for i, j in T.grid(2, 3):
        for k in range(j):
            A[i + j + k] = k
    while A[0] < 10:
        A[0] = A[0] + 1
        if A[0] == 5:
            T.break_loop()
        else:
            if A[0] == 6:
                T.continue_loop()
            else:
                A[1] = 7
