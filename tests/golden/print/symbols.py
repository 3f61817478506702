# from loopwright.script import tirx as T

@T.prim_func
def symbols(A: T.Buffer(("n", n * 2), "float32"), B: T.Buffer(("n + m", m), "int8"), C: T.Buffer((4, 4), "float16", strides=("s", 1), offset_factor=4), k: T.int32, D: T.Buffer((k,), "float32")):
    n = T.int32()
    m = T.int32()
    T.evaluate(n + m + C.strides[0] + C.elem_offset + k)
