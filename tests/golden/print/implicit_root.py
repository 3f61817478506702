# from loopwright.script import tirx as T

@T.prim_func(s_tir=True)
def implicit_root(A: T.Buffer((16,), "float32")):
    # with T.sblock("root"):
    for i in range(16):
        with T.sblock("A"):
            vi = T.axis.spatial(16, i)
            T.reads()
            T.writes(A[vi])
            A[vi] = T.float32(1.0)
