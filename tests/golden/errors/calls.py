@T.prim_func
def calls(A: T.Buffer((8,), "float32"), n: T.int32):
    A[0] = T.exp(A[0], A[1])  # error: argument-count
    B = T.alloc_buffer()  # error: wrong-arguments
    T.func_attr({"a": 1}, b=2)  # error: wrong-arguments
    A[0] = n(3)  # error: not-callable
    A[0] = "text"(3)  # error: not-callable
    T.evaluate  # error: invalid-statement
    A[0:4]  # error: invalid-statement
    T.match_buffer(n, (8,))  # error: match-buffer
    C = T.decl_buffer((8,), data=3)  # error: type-mismatch
    T.func_attr({"x": 1})
    T.func_attr({"x": 2})  # error: duplicate-declaration
    T.func_attr(3)  # error: invalid-argument
