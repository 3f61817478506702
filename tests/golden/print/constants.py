# from loopwright.script import tirx as T

@T.prim_func
def constants(A: T.Buffer((8,), "float32")):
    A[0] = T.float32("inf")
    A[1] = T.float32("-inf")
    A[2] = T.float32("nan")
    A[3] = T.float32(-0.0)
    A[4] = T.float32(0.1)
    A[5] = T.float32(16777216.0)
    T.evaluate(T.int64(-9223372036854775808))
    T.evaluate(T.uint64(18446744073709551615))
    T.evaluate(T.float16(65504.0))
    T.evaluate(T.bfloat16(3.0))
    T.evaluate(T.float8_e4m3fn(0.5))
    T.evaluate(T.bool(True))
    T.evaluate(-2147483648)
    T.evaluate(T.Add(1, 2) * T.Max(3, 4))
    T.evaluate("text with \"quotes\", \t and\nlines")
