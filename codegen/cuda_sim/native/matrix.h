// Matrix instructions of a warp, computed by whoever comes last.
#pragma once
#include "memory.h"
#include "warp.h"

#define LW_INLINE inline
template <class To, class From>
inline To lw_bits(From value) {
  To to;
  memcpy(&to, &value, sizeof to);
  return to;
}
#include "small_floats.h"

namespace lw {

// How elements of a matrix lie in memory, and their values.
struct Format {
  const char* name;
  int bits;
  bool integer;
};

static const Format* find_format(const char* name) {
  static const Format all[] = {{"f16", 16, false}, {"bf16", 16, false}, {"tf32", 32, false}, {"f32", 32, false},
                               {"f64", 64, false}, {"e4m3", 8, false},  {"e5m2", 8, false},  {"s8", 8, true},
                               {"u8", 8, true},    {"s4", 4, true},     {"u4", 4, true},     {"s32", 32, true}};
  for (const Format& f : all)
    if (!strcmp(f.name, name)) return &f;
  return nullptr;
}

static double get(const Format& f, const void* from, int i) {
  auto* bytes = static_cast<const unsigned char*>(from) + i * f.bits / 8;
  auto read = [&](auto value) {
    memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (f.name[0]) {
    case 'b': return static_cast<double>(lw_bits<float>(read(uint16_t{}) << 16));
    case 't': return static_cast<double>(lw_bits<float>(read(uint32_t{}) & ~0x1fffu));
    case 'e':
      return static_cast<double>(f.name[1] == '4' ? lw_decode<4, 3, LW_NAN_ONLY>(*bytes)
                                                  : lw_decode<5, 2, LW_IEEE>(*bytes));
    case 'f':
      if (f.bits == 16) return static_cast<double>(lw_decode<5, 10, LW_IEEE>(read(uint16_t{})));
      return f.bits == 32 ? static_cast<double>(read(0.0f)) : read(0.0);
    default: break;
  }
  if (f.bits == 32) return read(int32_t{});
  int value = f.bits == 8 ? *bytes : *bytes >> (i & 1) * 4 & 15;
  bool negative = f.name[0] == 's' && value >> (f.bits - 1);
  return negative ? value - (1 << f.bits) : value;
}

static void set(const Format& f, void* to, int i, double value) {
  auto* bytes = static_cast<unsigned char*>(to) + i * f.bits / 8;
  auto write = [&](auto v) { memcpy(bytes, &v, sizeof v); };
  if (f.integer) write(static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(value))));
  else if (f.bits == 64) write(value);
  else if (f.bits == 32) write(static_cast<float>(value));
  else write(static_cast<uint16_t>(lw_encode<5, 10, LW_IEEE>(value, false)));
}

// A product that the lanes of a warp ask for, each with the parts that it holds.
struct Product {
  int m, n, k;
  const Format *a_format, *b_format, *c_format, *d_format;
  void* d;
  const void *a, *b, *c;
  bool registers;  // the parts lie as mma.sync wants them, else as mma.h does
};

struct Spot {
  int row, column;
};

// Where element `i` of a lane's part lies: as PTX describes for registers of 32 bits, R elements in each.
static Spot spot_a(const Product& p, int lane, int i) {
  int each = std::max(1, 32 / p.a_format->bits), r = i / each, bands = p.m / 8;
  return {lane / 4 + 8 * (r % bands), r / bands * 4 * each + lane % 4 * each + i % each};
}
static Spot spot_b(const Product& p, int lane, int i) {
  int each = std::max(1, 32 / p.b_format->bits), r = i / each;
  return {r * 4 * each + lane % 4 * each + i % each, lane / 4};
}
static Spot spot_c(const Product&, int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// mma.h deals the elements out in order.
static Spot dealt(int columns, int lane, int i) { return {(i * 32 + lane) / columns, (i * 32 + lane) % columns}; }

void multiply(Fiber* running, Group& g) {
  const Product& p = *static_cast<const Product*>(g.lanes[running->lane]->data);
  std::vector<double> a(p.m * p.k), b(p.k * p.n), c(p.m * p.n);
  for (int lane = 0; lane < 32; lane++) {
    const Product& q = *static_cast<const Product*>(g.lanes[lane]->data);
    for (int i = 0; i < p.m * p.k / 32; i++) {
      Spot s = p.registers ? spot_a(p, lane, i) : dealt(p.k, lane, i);
      a[s.row * p.k + s.column] = get(*p.a_format, q.a, i);
    }
    for (int i = 0; i < p.k * p.n / 32; i++) {
      Spot s = p.registers ? spot_b(p, lane, i) : dealt(p.n, lane, i);
      b[s.row * p.n + s.column] = get(*p.b_format, q.b, i);
    }
    for (int i = 0; i < p.m * p.n / 32; i++) {
      Spot s = p.registers ? spot_c(p, lane, i) : dealt(p.n, lane, i);
      c[s.row * p.n + s.column] = get(*p.c_format, q.c, i);
    }
  }
  for (int i = 0; i < p.m; i++)
    for (int k = 0; k < p.k; k++)
      for (int j = 0; j < p.n; j++) c[i * p.n + j] += a[i * p.k + k] * b[k * p.n + j];
  for (int lane = 0; lane < 32; lane++) {
    const Product& q = *static_cast<const Product*>(g.lanes[lane]->data);
    for (int i = 0; i < p.m * p.n / 32; i++) {
      Spot s = p.registers ? spot_c(p, lane, i) : dealt(p.n, lane, i);
      set(*p.d_format, q.d, i, c[s.row * p.n + s.column]);
    }
  }
}

extern "C" void lw_sim_mma(const char* shape, const char* a_type, const char* b_type, const char* c_type, void* d,
                           const void* a, const void* b, const void* c) {
  Fiber* f = current;
  f->place = LW_PLACE;
  Product p{0, 0, 0, find_format(a_type), find_format(b_type), find_format(c_type), find_format(c_type), d, a, b, c,
            true};
  bool read = sscanf(shape, "m%dn%dk%d", &p.m, &p.n, &p.k) == 3 && p.a_format && p.b_format && p.c_format;
  bool known = read && (p.m == 8 || p.m == 16) && p.n == 8 && p.k % (4 * std::max(1, 32 / p.a_format->bits)) == 0;
  if (!known) fault(f, Finding(kTrap, *f), "mma.sync %s of %s, %s, %s is not known", shape, a_type, b_type, c_type);
  f->data = &p;
  arrive(f, LW_MMA, 0xffffffffu, __builtin_return_address(0));
}

extern "C" void lw_wmma(int m, int n, int k, const char* a_type, const char* b_type, const char* c_type,
                        const char* d_type, void* d, const void* a, const void* b, const void* c) {
  Fiber* f = current;
  Product p{m, n, k, find_format(a_type), find_format(b_type), find_format(c_type), find_format(d_type), d, a, b, c,
            false};
  f->data = &p;
  arrive(f, LW_WMMA, 0xffffffffu, __builtin_return_address(0));
}

extern "C" void lw_warp_meets() { arrive(current, LW_MEET, 0xffffffffu, __builtin_return_address(0)); }

// ldmatrix: lane 8 * j + i holds the address of row i of matrix j.

struct Rows {
  void* registers;
  const char* row;
  int matrices;
  bool transposed;
  void* caller;
};

void load_matrices(Fiber* running, Group& g) {
  const Rows& first = *static_cast<const Rows*>(running->data);
  const Rows* rows[32];
  for (int lane = 0; lane < 32; lane++) {
    rows[lane] = static_cast<const Rows*>(g.lanes[lane]->data);
    if (lane < 8 * first.matrices)
      access<kRead>(g.lanes[lane], reinterpret_cast<uintptr_t>(rows[lane]->row), 16, 16, rows[lane]->caller);
  }
  for (int lane = 0; lane < 32; lane++) {
    auto* to = static_cast<char*>(rows[lane]->registers);
    for (int j = 0; j < first.matrices; j++, to += 4) {
      if (first.transposed) {
        for (int i = 0; i < 2; i++) memcpy(to + 2 * i, rows[8 * j + lane % 4 * 2 + i]->row + lane / 4 * 2, 2);
      } else {
        memcpy(to, rows[8 * j + lane / 4]->row + lane % 4 * 4, 4);
      }
    }
  }
}

extern "C" void lw_sim_ldmatrix(void* registers, const void* row, int matrices, bool transposed) {
  Fiber* f = current;
  Rows rows{registers, static_cast<const char*>(row), matrices, transposed, __builtin_return_address(0)};
  f->data = &rows;
  arrive(f, LW_LDMATRIX, 0xffffffffu, __builtin_return_address(0));
}

}  // namespace lw
