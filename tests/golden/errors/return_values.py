@T.prim_func
def return_values(A: T.Buffer((8,), "float32")) -> T.int32:
    if A[0] > 1.0:
        return A  # error: return-type
    return "text"  # error: return-type
