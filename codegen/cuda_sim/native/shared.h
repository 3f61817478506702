// Shared memory, atomic operations, asynchronous copies.
#pragma once
#include "memory.h"

namespace lw {

// Shared memory

static Region* new_shared(Worker& w, Fiber* f, size_t bytes, const char* name, Place place) {
  size_t begin = (w.arena_used + kRedZone + 127) / 128 * 128;
  uint64_t used = bytes;
  for (const Region& r : w.shared) used += r.end - r.begin;
  if (used > w.launch->settings.shared_limit || begin + bytes + kRedZone > kArena)
    fault(f, Finding(kSharedSize, *f, place), "with `%s` the block needs %llu bytes of %llu", name,
          static_cast<unsigned long long>(used), static_cast<unsigned long long>(w.launch->settings.shared_limit));
  w.arena_used = begin + bytes;
  memset(w.arena + begin, 0xff, bytes);
  auto address = reinterpret_cast<uintptr_t>(w.arena + begin);
  w.shared.push_back({address, address + bytes, w.arena_cells ? w.arena_cells + begin : nullptr, 2, true,
                      true, name});
  std::fill(std::begin(w.recent), std::end(w.recent), nullptr);  // the regions may have moved
  return &w.shared.back();
}

extern "C" void* lw_shared(int declaration, size_t bytes, const char* name) {
  Fiber* f = current;
  Worker& w = *f->worker;
  for (size_t i = 0; i < w.shared_ids.size(); i++)
    if (w.shared_ids[i] == declaration) return reinterpret_cast<void*>(w.shared[i].begin);
  Region* r = new_shared(w, f, bytes, name, LW_PLACE);
  w.shared_ids.push_back(declaration);
  return reinterpret_cast<void*>(r->begin);
}

extern "C" void* lw_dynamic_shared(const char* name) {
  Fiber* f = current;
  Worker& w = *f->worker;
  for (size_t i = 0; i < w.shared_ids.size(); i++)
    if (w.shared_ids[i] == -1) return reinterpret_cast<void*>(w.shared[i].begin);
  Region* r = new_shared(w, f, w.launch->settings.shared, name, LW_PLACE);
  w.shared_ids.push_back(-1);
  return reinterpret_cast<void*>(r->begin);
}

// Atomics

extern "C" void lw_fence() { current->fenced = true; }

// Fences and atomics hand on what a block has done, from one block to another or inside a block.
static void hand_on(Fiber* f, uintptr_t address) {
  Worker& w = *f->worker;
  Launch& l = *w.launch;
  l.handed_on = true;
  std::lock_guard<std::mutex> hold(l.releases_lock);
  Known& known = l.releases[address];
  for (auto& [block, time] : known) {
    if (block == w.block_id) f->acquired = std::max(f->acquired, time);
    else w.others[block] = std::max(w.others[block], time);
  }
  for (auto& [block, time] : w.others) known[block] = std::max(known[block], time);
  known[w.block_id] = tick(w);
}

static uint64_t load_bits(void* address, int bytes) {
  switch (bytes) {
    case 1: return __atomic_load_n(static_cast<uint8_t*>(address), __ATOMIC_SEQ_CST);
    case 2: return __atomic_load_n(static_cast<uint16_t*>(address), __ATOMIC_SEQ_CST);
    case 4: return __atomic_load_n(static_cast<uint32_t*>(address), __ATOMIC_SEQ_CST);
    default: return __atomic_load_n(static_cast<uint64_t*>(address), __ATOMIC_SEQ_CST);
  }
}

extern "C" uint64_t lw_atomic_begin(void* address, int bytes) {
  Fiber* f = current;
  f->place = LW_PLACE;
  if (draw(*f->worker) % 16 == 0) let_others(f, 16);
  auto at = reinterpret_cast<uintptr_t>(address);
  access<kAtomicWrite>(f, at, bytes, bytes, __builtin_return_address(0));
  if (f->fenced || f->worker->launch->handed_on) hand_on(f, at);
  return load_bits(address, bytes);
}

extern "C" bool lw_atomic_commit(void* address, int bytes, uint64_t* found, uint64_t wanted) {
  auto swap = [&](auto* p) {
    auto seen = static_cast<std::remove_pointer_t<decltype(p)>>(*found);
    bool done = __atomic_compare_exchange_n(p, &seen, static_cast<decltype(seen)>(wanted), false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST);
    *found = seen;
    return done;
  };
  switch (bytes) {
    case 1: return swap(static_cast<uint8_t*>(address));
    case 2: return swap(static_cast<uint16_t*>(address));
    case 4: return swap(static_cast<uint32_t*>(address));
    default: return swap(static_cast<uint64_t*>(address));
  }
}

// Asynchronous copies: the data appears when the thread waits for the group.

static void mark_pending(Fiber* f, const Copy& c, uint64_t flags) {
  Worker& w = *f->worker;
  Region* r = find_region(w, reinterpret_cast<uintptr_t>(c.to), 0);
  if (!r->cells || !w.races) return;
  size_t offset = reinterpret_cast<uintptr_t>(c.to) - r->begin;
  for (size_t i = offset >> r->shift; i <= (offset + c.bytes - 1) >> r->shift; i++)
    r->cells[i].seen[kWrites] = record(*f) | flags;
}

extern "C" void lw_sim_cp_async(void* shared, const void* global, int bytes, int source_bytes) {
  Fiber* f = current;
  void* caller = __builtin_return_address(0);
  f->place = LW_PLACE;
  Region* to = access<kWrite>(f, reinterpret_cast<uintptr_t>(shared), bytes, bytes, caller);
  if (!to || !to->shared) fault(f, Finding(kMisaligned, *f), "cp.async does not copy to shared memory");
  if (source_bytes > 0) access<kRead>(f, reinterpret_cast<uintptr_t>(global), source_bytes, bytes, caller);
  f->copies.push_back({static_cast<char*>(shared), static_cast<const char*>(global), static_cast<uint32_t>(bytes),
                       static_cast<uint32_t>(std::max(source_bytes, 0))});
  mark_pending(f, f->copies.back(), kPending);
}

extern "C" void lw_sim_cp_async_commit() {
  Fiber* f = current;
  size_t committed = 0;
  for (size_t count : f->groups) committed += count;
  f->groups.push_back(f->copies.size() - committed);
}

// Lets all but the last `left` committed groups arrive.
static void finish_copies(Fiber* f, size_t left) {
  if (f->groups.size() <= left) return;
  size_t groups = f->groups.size() - left, count = 0;
  for (size_t i = 0; i < groups; i++) count += f->groups[i];
  for (size_t i = 0; i < count; i++) {
    const Copy& c = f->copies[i];
    memcpy(c.to, c.from, c.source_bytes);
    memset(c.to + c.source_bytes, 0, c.bytes - c.source_bytes);
    mark_pending(f, c, 0);
  }
  f->copies.erase(f->copies.begin(), f->copies.begin() + static_cast<ptrdiff_t>(count));
  f->groups.erase(f->groups.begin(), f->groups.begin() + static_cast<ptrdiff_t>(groups));
}

extern "C" void lw_sim_cp_async_wait(int groups) { finish_copies(current, static_cast<size_t>(groups)); }

}  // namespace lw
