# from loopwright.script import tirx as T

@T.prim_func
def names(A: T.Buffer((16,), "float32"), A_1: T.Buffer((16,), "float32"), é: T.int32):
    for i in range(4):
        A[i] = A_1[i]
    for i in range(4):
        i_1: T.let[T.int32] = i + é
        A[i_1] = A_1[i]
