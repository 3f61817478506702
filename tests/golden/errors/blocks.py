@T.prim_func(s_tir=True)
def blocks(A: T.Buffer((8,), "float32"), n: T.int32):
    T.reads(A[0])  # error: outside-block
    v = T.axis.spatial(8, n)  # error: outside-block
    for i in range(8):
        with T.sblock("b"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.reads(A[vi])  # error: duplicate-declaration
            T.writes(A[vi])
            T.writes(A[vi])  # error: duplicate-declaration
            T.sblock_attr({"a": 1})
            T.sblock_attr({"a": 2})  # error: duplicate-declaration
            with T.init():
                A[vi] = 0.0
            with T.init():  # error: duplicate-declaration
                A[vi] = 0.0
            A[vi] = 1.0
    for i in range(8):
        with T.sblock("c"):
            va = T.axis.remap("X", [i])  # error: axis-kind
            vb = T.axis.remap("S", [i + 1])  # error: axis-remap
            vc = T.axis.remap("SS", [i])  # error: axis-remap
            vd = T.axis.spatial(8, i)
            vd = T.axis.spatial(8, i)  # error: immutable
            T.reads(n)  # error: region
            A[vd] = 1.0
    with A:  # error: with-frame
        A[0] = 1.0
    T.sblock("d")  # error: with-needed
