# from loopwright.script import tirx as T

@T.prim_func
def buffers(A: T.Buffer((16, 16), "float32"), p: T.handle("float32", "global"), q: T.handle, r: T.handle("int8", "shared"), s: T.Buffer((), "int8")):
    B = T.alloc_buffer((4, 4), "int8", strides=(8, 1), elem_offset=2, scope="shared.dyn", align=16, offset_factor=2)
    C = T.alloc_local((4,))
    D = T.alloc_shared((4,), "bool", annotations={"tirx.volatile": True})
    E = T.decl_buffer((256,), data=p)
    F = A.view(256)
    G = T.decl_buffer((16, 16), data=A.data)
    H = A.view("int32")
    J = T.alloc_buffer(())
    x: T.let[T.handle("float32", "global")] = A.data
    J[()] = C[0]
    s[()] = B[0, 0]
    E[0] = F[0]
    G[0, 0] = A[0, 0]
    T.evaluate(H[0, 0])
    T.evaluate(D[0])
    T.evaluate(x)
