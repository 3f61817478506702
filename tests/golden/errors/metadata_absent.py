@T.prim_func
def metadata_absent(A: T.Buffer((8,), "float32")):
    A[0] = metadata["constant"][3]  # error: missing-metadata
