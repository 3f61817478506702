// Which accesses are ordered, and which race.
#pragma once
#include "schedule.h"

namespace lw {

// A record of an access in a cell: 24 bits of time, 26 of the block, 10 of the thread, 4 of flags; 0 for none.
constexpr uint64_t kPending = 8;  // of writes: the data is to come
// Of reads and changes: others of the warp, of the block, of other blocks have done so too.
constexpr uint64_t kManyLanes = 1, kManyWarps = 2, kManyBlocks = 3;
constexpr uint32_t kLatest = (1u << 24) - 1;

struct Record {
  uint64_t bits;
  uint32_t time() const { return bits >> 40; }
  uint32_t block() const { return bits >> 14 & 0x3ffffff; }
  uint32_t thread() const { return bits >> 4 & 0x3ff; }
  uint64_t many() const { return bits & 3; }
};

static uint64_t record(const Fiber& f) { return f.worker->stamp | f.linear << 4; }

enum Access { kRead, kWrite, kAtomicRead, kAtomicWrite };

// Whether all that the record stands for happened before what the thread does now. Where only some lanes of a warp
// have met, or blocks have handed on what they did, the last of many readers stands for all.
static bool before(const Record& r, const Fiber& f, bool shared) {
  const Worker& w = *f.worker;
  const Launch& l = *w.launch;
  uint32_t thread = r.thread(), time = r.time();
  uint64_t many = r.many();
  bool knows_all = w.others.size() + 1 >= l.blocks;  // each other block has handed on what it did
  if (r.block() != w.block_id) {
    if (shared || r.block() - l.first_block >= l.blocks) return true;  // of an earlier block or launch
    if (many == kManyBlocks && !knows_all) return false;
    auto known = w.others.find(r.block());
    return known != w.others.end() && time < known->second;
  }
  if (many == kManyBlocks) {
    if (!knows_all) return false;
    many = 0;
  }
  if (time < w.bar || time < f.acquired) return true;
  if (many == 0 && thread == f.linear) return true;
  if (many >= kManyWarps || thread / 32 != f.warp) return false;
  if (time < w.full[f.warp]) return true;
  return w.partial && time < w.known[f.linear * 32 + thread % 32];
}

static const char* kind_of(const Region& r) { return r.shared ? "shared array" : "array"; }

[[noreturn]] static void race(Fiber* f, const Region& r, uintptr_t address, Record other, Place place, Place there,
                              const char* mine, const char* theirs) {
  const Launch& l = *f->worker->launch;
  Finding finding(r.shared ? kSharedRace : kGlobalRace, *f, place);
  finding.set_other(block_index(l, other.block()), thread_index(l, other.thread()), there);
  fault(f, finding, "%s|%s|%s `%s`, byte %llu", mine, theirs, kind_of(r), r.name,
        static_cast<unsigned long long>(address - r.begin));
}

// The quick half of `before`: a barrier of the block lies between.
static bool long_ago(uint64_t bits, const Worker& w) {
  return bits >> 40 < w.bar && ((bits ^ w.stamp) >> 14 & 0x3ffffff) == 0 && (bits & 3) != kManyBlocks;
}

// Whether a record of reads holds those of the thread too.
static bool covers(uint64_t seen, uint64_t mine) {
  if (seen == mine) return true;
  if ((seen ^ mine) >> 14) return false;
  uint64_t many = seen & 3;
  return many >= kManyWarps || (many == kManyLanes && (seen ^ mine) >> 9 == 0);
}

static uint64_t joined(uint64_t seen, uint64_t mine, const Fiber& f, bool shared) {
  Record old{seen};
  if (!seen || long_ago(seen, *f.worker) || before(old, f, shared)) return mine;
  uint64_t flags = old.block() != f.worker->block_id ? kManyBlocks
                   : old.thread() / 32 != f.warp     ? kManyWarps
                   : old.thread() != f.linear        ? kManyLanes
                                                     : 0;
  return mine | std::max(flags, old.many());
}

// Reports that an access races with what a slot held, unless that happened before.
template <bool Shared>
static void judge(Fiber* f, const Region& r, uintptr_t address, Place place, Slot mine, Slot slot, uint64_t seen,
                  Place there) {
  static const char* const verbs[] = {"reads", "writes", "changes"};
  if (!seen || long_ago(seen, *f->worker) || before({seen}, *f, Shared)) return;
  race(f, r, address, {seen}, place, there, verbs[mine], verbs[slot]);
}

// Adds the access to its slot, and judges it with accesses of the other kinds and with other plain writes. It is
// added first, so that of two threads of the system one sees the other.
template <bool Shared, Slot Mine>
static void note(Fiber* f, const Region& r, Cell& cell, uintptr_t address, Place place) {
  uint64_t mine = record(*f), seen = __atomic_load_n(&cell.seen[Mine], __ATOMIC_RELAXED);
  Place there = cell.places[Mine];
  if (Mine == kWrites || !covers(seen, mine)) {
    auto next = [&] { return Mine == kWrites ? mine : joined(seen, mine, *f, Shared); };
    if (Shared) {
      cell.seen[Mine] = next();
    } else {
      while (!__atomic_compare_exchange_n(&cell.seen[Mine], &seen, next(), false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED)) {
      }
    }
    cell.places[Mine] = place;
  }
  for (Slot slot : {kReads, kWrites, kChanges}) {
    if (slot != Mine)
      judge<Shared>(f, r, address, place, Mine, slot, __atomic_load_n(&cell.seen[slot], __ATOMIC_SEQ_CST),
                    cell.places[slot]);
    else if (slot == kWrites)
      judge<Shared>(f, r, address, place, Mine, slot, seen, there);
  }
}

// A volatile read may meet changes, and is not remembered.
template <bool Shared>
static void note_volatile_read(Fiber* f, const Region& r, const Cell& cell, uintptr_t address, Place place) {
  judge<Shared>(f, r, address, place, kReads, kWrites, __atomic_load_n(&cell.seen[kWrites], __ATOMIC_SEQ_CST),
                cell.places[kWrites]);
}

template <bool Shared, Access A>
static void note_access(Fiber* f, const Region& r, Cell& cell, uintptr_t address, Place place) {
  if (A == kRead) note<Shared, kReads>(f, r, cell, address, place);
  if (A == kWrite) note<Shared, kWrites>(f, r, cell, address, place);
  if (A == kAtomicWrite) note<Shared, kChanges>(f, r, cell, address, place);
  if (A == kAtomicRead) note_volatile_read<Shared>(f, r, cell, address, place);
}

// Gives the cells of a shared array the size of the smallest access.
static void refine(Region& r, int shift) {
  size_t count = (r.end - r.begin + (size_t{1} << r.shift) - 1) >> r.shift;
  size_t parts = size_t{1} << (r.shift - shift);
  for (size_t i = count; i-- > 0;)
    for (size_t j = parts; j-- > 0;) r.cells[i * parts + j] = r.cells[i];
  r.shift = shift;
}

}  // namespace lw
