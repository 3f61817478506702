"""Comments and blank lines keep their places in the tree."""

from __future__ import annotations

from loopwright.grammar import read, same_tree
from loopwright.grammar import tree as t
from loopwright.grammar.lark_reader import read_lark
from loopwright.printer.layout import layout

TEXT = '''# head

# second
@T.prim_func  # decorator
# between
def f(  # open
    a: int,  # a

    # own line
):  # end

    # body
    for i in range(3):  # for
        x = 1; y = 2  # y
        if x:
            a = """
# no comment

"""  # string

            # tail a
      # odd
        # tail b

        else:  # else
            # in else
            b

            # c

    # after for
  # middle
z = f(
   # in call
   1,  # one

   2)

# end


'''

LAID_OUT = '''# head

# second
@T.prim_func
def f(a: int):  # decorator  # between  # open  # a  # own line  # end

    # body
    for i in range(3):  # for
        x = 1
        y = 2  # y
        if x:
            a = """
# no comment

"""  # string

            # tail a
            # odd
            # tail b

        else:  # else
            # in else
            b

            # c

    # after for
# middle
z = f(1, 2)  # in call  # one

# end
'''


def test_where_comments_belong() -> None:
    tree = read(TEXT).tree
    assert layout(tree) == LAID_OUT
    assert same_tree(read_lark(TEXT).tree, tree, spans=True)
    assert layout(read(LAID_OUT).tree) == LAID_OUT


def test_comments_have_places() -> None:
    comment = read(TEXT).tree.body[2]
    assert isinstance(comment, t.Comment)
    assert (comment.span.line, comment.span.column, comment.span.end_column) == (3, 1, 9)


def test_a_hash_in_a_string_is_no_comment() -> None:
    [statement] = read("x = '#a' + \"#b\" + '''\n#c''' + r'\\\\' # d").tree.body
    assert statement.comment == "# d"
