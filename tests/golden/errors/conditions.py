@T.prim_func
def conditions(A: T.Buffer((8,), "float32"), n: T.int32):
    if A[0]:  # error: condition-type
        A[0] = 1.0
    while A[0] * 2.0:  # error: condition-type
        A[0] = 1.0
    A[0] = A[1] if A[2] else 0.0  # error: condition-type
    if n > 0 and A[0]:  # error: condition-type
        A[0] = 1.0
    assert A[0], "bad"  # error: condition-type
    assert n > 0, 3  # error: assert-message
