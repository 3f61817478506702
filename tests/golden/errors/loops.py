@T.prim_func
def loops(A: T.Buffer((8,), "float32")):
    for i in A:  # error: loop-form
        A[i] = 0.0
    for i in [1, 2]:  # error: loop-form
        A[i] = 0.0
    for i, j in T.grid(2, 2, 2):  # error: unpacking
        A[i] = 0.0
    for i, i in T.grid(2, 2):  # error: duplicate-target
        A[0] = 0.0
    for i in T.serial(A[0]):  # error: loop-dtype
        A[0] = 0.0
    for i in T.thread_binding(8):  # error: thread-tag
        A[0] = 0.0
    for A[0] in range(4):  # error: invalid-target
        A[0] = 0.0
    break  # error: outside-loop
