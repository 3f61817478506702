# from loopwright.script import tirx as T

@T.prim_func(s_tir=True)
def blocks(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    # with T.sblock("root"):
    C = T.sblock_alloc_buffer((4, 4), scope="shared")
    for i in range(2, 6):
        with T.sblock("say \"twice\""):
            vi = T.axis.spatial((2, 6), i)
            vk = T.axis.reduce(4, i - 2)
            T.where(i < 5)
            T.reads(A[vi:vi + 2, 0:4])
            T.writes(B[vi])
            T.sblock_attr({"flag": True, "k": 1})
            D = T.match_buffer(A[vi:vi + 2, 0:4], (2, 4), strides=("s", 1), offset_factor=1)
            B[vi] = D[0, 0] + T.Cast("float32", D.strides[0] + D.elem_offset)
    with T.sblock("say \"twice\""):
        T.reads()
        T.writes(C[0:4, 0:4])
        for x, y in T.grid(4, 4):
            with T.sblock(""):
                vx, vy = T.axis.remap("SS", [x, y])
                T.reads()
                T.writes(C[vx, vy])
                C[vx, vy] = T.float32(1.0)
