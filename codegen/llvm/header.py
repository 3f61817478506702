"""C headers: the functions of an exported library with their types."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...dtype import DType
from ...ir import BufferType, PointerType, Var
from .arguments import describe
from .signature import Signature, dtype_of

_TYPES = """\
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#if __has_include(<tvm/ffi/c_api.h>)
#include <tvm/ffi/c_api.h>
#endif
#endif

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data;
  DLDevice device; /* {1, 0} is the CPU */
  int32_t ndim;
  DLDataType dtype; /* code 0: int, 1: uint, 2: float, 4: bfloat, 6: bool */
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major without gaps */
  uint64_t byte_offset;
} DLTensor;
#endif

#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_
typedef struct {
  int32_t type_index; /* 0: none, 1: int, 2: bool, 3: float, 4: pointer, 7: DLTensor *, 8: C string */
  uint32_t zero_padding;
  union { int64_t v_int64; double v_float64; void *v_ptr; const char *v_c_str; };
} TVMFFIAny;
#endif
"""

_COMMENT = """\
/* Each function has an entry by the convention of TVM-FFI, and here a wrapper with its types.

   A wrapper gives 0, or -1 for an error. Then `*error` is the text, which the caller frees with free();
   with NULL for `error` the error goes to the runtime of TVM-FFI where the program has it. */
"""


def header(stem: str, signatures: Mapping[str, Signature]) -> str:
    """The header of a library called `stem`."""
    guard = f"{_identifier(stem).upper()}_H_"
    parts = [f"#ifndef {guard}", f"#define {guard}", "", _TYPES]
    parts += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", _COMMENT]
    for name, sig in signatures.items():
        parts += _function(stem, name, sig)
    parts += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(parts)


def _function(stem: str, name: str, sig: Signature) -> list[str]:
    entry = f"__tvm_ffi_{name}"
    prototype = f"int32_t {entry}(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result);"
    if _identifier(name) != name:
        return [f"/* {_comment(describe(sig))}: its symbol `{_comment(entry)}` is no name in C */", ""]
    names = _names(sig)
    params = [f"{_c_type(p)}{n}" for n, p in zip(names, sig.params)]
    results = [dtype_of(r) for r in sig.results]
    params += [f"{_scalar(r)} *value" for r in results]
    count = len(sig.params)
    body = [f"  TVMFFIAny args[{max(count, 1)}], result;", "  int32_t status;"]
    body += ["  memset(args, 0, sizeof args);", "  memset(&result, 0, sizeof result);"]
    for k, (n, p) in enumerate(zip(names, sig.params)):
        index, field = _cell(p)
        body += [f"  args[{k}].type_index = {index};", f"  args[{k}].{field} = {n};"]
    body += ["  result.type_index = error ? 8 : 0;"]
    body += [f"  status = {entry}(NULL, args, {count}, &result);"]
    body += ["  if (error) *error = status ? (char *)result.v_c_str : NULL;"]
    body += ["  else if (status && result.type_index == 8) free((void *)result.v_c_str);"]
    for r in results:
        field = "v_float64" if r.is_float else "v_ptr" if r.is_handle else "v_int64"
        body += [f"  if (!status) *value = ({_scalar(r)})result.{field};"]
    head = f"static inline int32_t {_identifier(stem)}_{name}({', '.join([*params, 'char **error'])}) {{"
    return [f"/* {_comment(describe(sig))} */", prototype, head, *body, "  return status;", "}", ""]


def _names(sig: Signature) -> list[str]:
    """The names of the parameters, as C allows them."""
    taken = {"args", "result", "status", "error", "value", *_KEYWORDS}
    out: list[str] = []
    for name in sig.names:
        made = _identifier(name)
        while made in taken:
            made += "_"
        taken.add(made)
        out.append(made)
    return out


_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while and bool catch class delete explicit export false friend mutable namespace new not
    operator or private protected public template this throw true try typeid typename using virtual xor
""".split()


def _identifier(name: str) -> str:
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{made}" if made[:1].isdigit() or not made else made


def _comment(text: str) -> str:
    return text.replace("*/", "* /")


def _c_type(p: Var) -> str:
    if isinstance(p.ty, BufferType):
        return "DLTensor *"
    return "void *" if isinstance(p.ty, PointerType) else f"{_scalar(dtype_of(p.ty))} "


def _scalar(dtype: DType) -> str:
    """The type in which C has a scalar; formats that C lacks are the next larger one."""
    if dtype.is_handle:
        return "void *"
    if dtype.is_float:
        return "double" if dtype.bits == 64 else "float"
    if dtype.is_bool:
        return "int"
    bits = next((b for b in (8, 16, 32, 64) if dtype.bits <= b), 64)
    return f"{'u' if dtype.is_uint else ''}int{bits}_t"


def _cell(p: Var) -> tuple[int, str]:
    """The type index of an argument and the field of the cell."""
    if isinstance(p.ty, BufferType):
        return 7, "v_ptr"
    if isinstance(p.ty, PointerType):
        return 4, "v_ptr"
    return (3, "v_float64") if dtype_of(p.ty).is_float else (1, "v_int64")
