@T.prim_func
def old_words(a: T.handle):
    T.preflattened_buffer(a, (8,))  # error: unsupported
    with T.realize(a[0:8]):  # error: not-a-buffer
        T.evaluate(0)
