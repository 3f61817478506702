@T.prim_func
def attributes(A: T.Buffer((8,), "float32")):
    A[0] = T.expp(A[0])  # error: unknown-attribute
    A[0] = T.cuda.nothing(A[0])  # error: unknown-attribute
    A[0] = A.size  # error: unknown-attribute
    A[0] = A[0].real  # error: unknown-attribute
    A[0] = "x".format(1)  # error: unknown-attribute
    T.axis.diagonal(8, 1)  # error: unknown-attribute
