# from loopwright.script import tirx as T

@T.prim_func
def calls(A: T.Buffer((16,), "float32"), n: T.int32):
    A[0] = T.exp(A[1]) + T.sqrt(T.max(A[2], T.float32(0.0)))
    A[1] = T.if_then_else(n < 3, A[0], T.Select(n < 4, A[1], A[2]))
    A[2] = T.if_then_else(n > 2 and not n == 4 or n != 5, A[3], A[4])
    T.call_packed("f", n, "text", A.data)
    T.call_extern("int32", "g", T.address_of(A[0]))
    A[3] = T.call_pure_extern("float32", "sqrtf", A[4])
    T.reinterpret("int32", A[0])
    T.evaluate(T.truncmod(n, 3) + T.Div(n, 3) + n // 3 + n % 3)
    T.evaluate(n << 2 | n >> 1 & ~n ^ 3)
    m = T.int32()
    T.evaluate(T.Let(m + 1, where={m: 2}))
    T.likely(n < 3)
    assert n < 16, ("ValueError", ["n is ", "too large"])
