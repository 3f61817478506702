// What each access is checked for: bounds, alignment, races. g++ calls the hooks before each access.
#pragma once
#include "races.h"

namespace lw {

static bool is_local(const Fiber* f, uintptr_t address, size_t bytes) {
  auto low = reinterpret_cast<uintptr_t>(f->stack);
  return address - low < kStack && address + bytes <= low + kStack;
}

static Region* find_region(Worker& w, uintptr_t address, Place place) {
  const Region*& recent = w.recent[place >> 2 & 63];
  if (recent && address - recent->begin < recent->end - recent->begin) return const_cast<Region*>(recent);
  auto look_in = [&](std::vector<Region>& regions) -> Region* {
    for (Region& r : regions)
      if (address - r.begin < r.end - r.begin) return &r;
    return nullptr;
  };
  Region* r = look_in(w.shared);
  if (!r) r = look_in(w.launch->regions);
  if (r) recent = r;
  return r;
}

[[noreturn]] static void out_of_bounds(Fiber* f, uintptr_t address, size_t bytes, bool writes, Place place) {
  Worker& w = *f->worker;
  const char* verb = writes ? "writes" : "reads";
  const Region* nearest = nullptr;
  uintptr_t distance = ~uintptr_t{0};
  auto near = [&](const std::vector<Region>& regions) {
    for (const Region& r : regions) {
      uintptr_t d = address < r.begin ? r.begin - address : address - r.end;
      if (*r.name && d < distance) distance = d, nearest = &r;
    }
  };
  near(w.shared);
  near(w.launch->regions);
  for (const Region& r : w.shared)
    if (address < r.end && address + bytes > r.begin) nearest = &r, distance = 0;
  if (nearest && distance < (1u << 30))
    fault(f, Finding(kOutOfBounds, *f, place), "%s %zu bytes at byte %lld of %s `%s`, which has %llu bytes", verb,
          bytes, static_cast<long long>(address - nearest->begin), kind_of(*nearest), nearest->name,
          static_cast<unsigned long long>(nearest->end - nearest->begin));
  fault(f, Finding(kOutOfBounds, *f, place), "%s %zu bytes at the address 0x%llx, where no array lies", verb, bytes,
        static_cast<unsigned long long>(address));
}

template <Access A>
static void check_cells(Fiber* f, Region& r, uintptr_t address, size_t bytes, Place place) {
  Worker& w = *f->worker;
  size_t size = size_t{1} << r.shift;
  if (bytes < size) {
    if (!r.shared) return;  // an element seen as several smaller ones: not followed
    refine(r, __builtin_ctzll(bytes | (address - r.begin) | size));
  }
  size_t first = (address - r.begin) >> r.shift, last = (address + bytes - 1 - r.begin) >> r.shift;
  for (size_t i = first; i <= last; i++) {
    Cell& cell = r.cells[i];
    uintptr_t at = std::max(address, r.begin + (i << r.shift));
    if (r.shared) {
      Record pending{cell.seen[kWrites]};
      if (pending.bits & kPending && pending.block() == w.block_id) {
        const Launch& l = *w.launch;
        Finding finding(kPendingCopy, *f, place);
        finding.set_other(w.block, thread_index(l, pending.thread()), cell.places[kWrites]);
        fault(f, finding, "%s|%s `%s`, byte %llu", A == kRead || A == kAtomicRead ? "reads" : "writes", kind_of(r),
              r.name, static_cast<unsigned long long>(at - r.begin));
      }
    }
    if (r.shared) note_access<true, A>(f, r, cell, at, place);
    else note_access<false, A>(f, r, cell, at, place);
  }
}

// Everything that an access must satisfy; ends the thread if it does not.
template <Access A>
static Region* access(Fiber* f, uintptr_t address, size_t bytes, size_t align, void* caller) {
  step(f, 1, caller);
  if (is_local(f, address, bytes)) return nullptr;
  Worker& w = *f->worker;
  constexpr bool writes = A == kWrite || A == kAtomicWrite;
  Place place = place_of(w, caller);
  Region* r = find_region(w, address, place);
  if (!r || bytes > r->end - address) out_of_bounds(f, address, bytes, writes, place);
  if (address & (align - 1))
    fault(f, Finding(kMisaligned, *f, place), "%s %zu bytes of %s `%s` at byte %llu, which is not a multiple of %zu",
          writes ? "writes" : "reads", bytes, kind_of(*r), r->name,
          static_cast<unsigned long long>(address - r->begin), align);
  if (writes && !r->writable) fault(f, Finding(kReadOnly, *f, place), "%s `%s`", kind_of(*r), r->name);
  if (r->cells && w.races) {
    if (w.now >= kLatest) w.races = false;  // more barriers than records can tell apart
    else check_cells<A>(f, *r, address, bytes, place);
  }
  return r;
}

// A volatile access may wait for another thread.
template <Access A>
static void hook(void* address, size_t bytes, size_t align, void* caller) {
  Fiber* f = current;
  access<A>(f, reinterpret_cast<uintptr_t>(address), bytes, align, caller);
  if (A != kAtomicRead) return;
  f->place = place_of(*f->worker, caller);
  let_others(f, 20);
}

#define LW_HOOK(name, kind, bytes, align) \
  extern "C" void name(void* address) { hook<kind>(address, bytes, align, __builtin_return_address(0)); }
#define LW_HOOKS(bytes)                                                  \
  LW_HOOK(__tsan_read##bytes, kRead, bytes, bytes)                       \
  LW_HOOK(__tsan_write##bytes, kWrite, bytes, bytes)                     \
  LW_HOOK(__tsan_unaligned_read##bytes, kRead, bytes, 1)                 \
  LW_HOOK(__tsan_unaligned_write##bytes, kWrite, bytes, 1)               \
  LW_HOOK(__tsan_volatile_read##bytes, kAtomicRead, bytes, bytes)        \
  LW_HOOK(__tsan_volatile_write##bytes, kAtomicWrite, bytes, bytes)      \
  LW_HOOK(__tsan_unaligned_volatile_read##bytes, kAtomicRead, bytes, 1)  \
  LW_HOOK(__tsan_unaligned_volatile_write##bytes, kAtomicWrite, bytes, 1)
LW_HOOKS(1)
LW_HOOKS(2)
LW_HOOKS(4)
LW_HOOKS(8)
LW_HOOKS(16)
#undef LW_HOOKS
#undef LW_HOOK

extern "C" void __tsan_init() {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_read_range(void* address, size_t bytes) {
  if (bytes) access<kRead>(current, reinterpret_cast<uintptr_t>(address), bytes, 1, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, size_t bytes) {
  if (bytes) access<kWrite>(current, reinterpret_cast<uintptr_t>(address), bytes, 1, __builtin_return_address(0));
}
extern "C" void lw_copy(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  access<kRead>(current, reinterpret_cast<uintptr_t>(from), bytes, 1, __builtin_return_address(0));
  access<kWrite>(current, reinterpret_cast<uintptr_t>(to), bytes, 1, __builtin_return_address(0));
  memmove(to, from, bytes);
}

extern "C" void lw_fill(void* to, int value, size_t bytes) {
  if (!bytes) return;
  access<kWrite>(current, reinterpret_cast<uintptr_t>(to), bytes, 1, __builtin_return_address(0));
  memset(to, value, bytes);
}

// What g++ calls where the bounds of an array that it knows, or of an object, are left.
extern "C" void __ubsan_handle_out_of_bounds(void*, intptr_t index) {
  Fiber* f = current;
  fault(f, Finding(kLocalBounds, *f, LW_PLACE), "the index %lld lies outside the array", static_cast<long long>(index));
}
struct Mismatch {  // as g++ lays it out
  const char* file;
  uint32_t line, column;
  const void* type;
  unsigned char log_align, kind;
};
extern "C" void __ubsan_handle_type_mismatch_v1(const Mismatch* about, uintptr_t address) {
  Fiber* f = current;
  uintptr_t align = uintptr_t{1} << about->log_align;
  if (address & (align - 1))
    fault(f, Finding(kMisaligned, *f, LW_PLACE), "accesses the address 0x%llx, which is not a multiple of %zu",
          static_cast<unsigned long long>(address), align);
  fault(f, Finding(kLocalBounds, *f, LW_PLACE), "the access leaves the array");
}
extern "C" void __ubsan_handle_divrem_overflow(void*, intptr_t, intptr_t right) {
  Fiber* f = current;
  fault(f, Finding(kDivision, *f, LW_PLACE), right == 0 ? "integer division by zero"
                                                       : "integer division of the smallest value by -1");
}

}  // namespace lw
