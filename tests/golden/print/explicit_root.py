# from loopwright.script import tirx as T

@T.prim_func(s_tir=True)
def explicit_root(A: T.Buffer((16,), "float32")):
    with T.sblock("root"):
        T.reads()
        T.writes(A[0:16])
        for i in range(16):
            A[i] = T.float32(1.0)
