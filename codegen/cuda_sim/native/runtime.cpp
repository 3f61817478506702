// The runtime of the simulator: compiled once, called by launch.py.
#include "matrix.h"
#include "shared.h"
#include "signals.h"

#include <dlfcn.h>
#include <link.h>
#include <time.h>

namespace lw {

extern "C" unsigned lw_axis(int which) {
  const Fiber* f = current;
  const Settings& s = f->worker->launch->settings;
  auto part = [&](const Index& i) { return which % 3 == 0 ? i.x : which % 3 == 1 ? i.y : i.z; };
  switch (which / 3) {
    case 0: return part(f->index);
    case 1: return part(f->worker->block);
    case 2: return s.block[which % 3];
    default: return s.grid[which % 3];
  }
}

extern "C" bool lw_tick() {
  step(current, 1, __builtin_return_address(0));
  return true;
}

extern "C" void lw_spin() {
  Fiber* f = current;
  f->place = LW_PLACE;
  let_others(f, 100);
}

extern "C" int lw_printf(const char* format, ...) {
  Launch& l = *current->worker->launch;
  va_list values;
  va_start(values, format);
  char text[1024];
  int length = vsnprintf(text, sizeof text, format, values);
  va_end(values);
  std::lock_guard<std::mutex> hold(l.lock);
  l.printed += text;
  return length;
}

extern "C" void lw_assert_failed(const char* text) {
  Fiber* f = current;
  fault(f, Finding(kAssert, *f, LW_PLACE), "%s", text);
}

extern "C" void lw_trap() {
  Fiber* f = current;
  std::string said;
  {
    Launch& l = *f->worker->launch;
    std::lock_guard<std::mutex> hold(l.lock);
    size_t end = l.printed.find_last_not_of('\n') + 1, start = l.printed.rfind('\n', end) + 1;
    said = start < end ? l.printed.substr(start, end - start) : "__trap()";
  }
  fault(f, Finding(kTrap, *f, LW_PLACE), "%s", said.c_str());
}

extern "C" unsigned long long lw_clock() {
  let_others(current, 100);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1000000000ull + static_cast<unsigned long long>(now.tv_nsec);
}

static void run_block(Worker& w, uint32_t id, Caught& c) {
  Launch& l = *w.launch;
  w.block_id = l.first_block + id;
  w.block = block_index(l, w.block_id);
  w.random = (l.settings.seed + 1) * 0x9e3779b97f4a7c15ull ^ (id + 1) * 0xbf58476d1ce4e5b9ull;
  w.alive = l.threads;
  w.arrived = 0;
  w.waited = 0;
  w.now = 0;
  tick(w);
  w.bar = 0;
  w.races = l.settings.races != 0;
  w.others.clear();
  std::fill(w.full.begin(), w.full.end(), 0);
  std::fill(w.running.begin(), w.running.end(), 0);
  w.asking = 0;
  if (w.partial) std::fill(w.known.begin(), w.known.end(), 0);
  w.partial = false;
  for (const Region& r : w.shared) memset(reinterpret_cast<void*>(r.begin), 0xff, r.end - r.begin);
  w.ready.clear();
  for (Fiber& f : w.fibers) {
    f.state = kFresh;
    f.operation = LW_RUNNING;
    f.acquired = 0;
    f.fenced = false;
    f.slice = kSlice;
    f.used = 0;
    f.copies.clear();
    f.groups.clear();
    w.running[f.warp]++;
    w.ready.push_back(&f);
  }
  w.present = w.running;
  caught = &c;
  if (sigsetjmp(c.escape, 0)) {
    caught = nullptr;
    report_signal(*current, c);
    return;
  }
  go(w, w.main, take_ready(w));
  caught = nullptr;
}

static void work(Launch& l) {
  Worker w{};
  w.launch = &l;
  w.fibers.resize(l.threads);
  unsigned warps = (l.threads + 31) / 32;
  w.full.resize(warps);
  w.running.resize(warps);
  w.present.resize(warps);
  w.known.resize(warps * 32 * 32);
  w.ready.reserve(l.threads);
  Piece arena(kData, kArena), cells(kRecords, l.settings.races ? kArena * sizeof(Cell) : 1);
  w.arena = arena.data();
  w.arena_cells = l.settings.races ? reinterpret_cast<Cell*>(cells.data()) : nullptr;
  for (unsigned i = 0; i < l.threads; i++) {
    Fiber& f = w.fibers[i];
    f.worker = &w;
    f.linear = i;
    f.lane = i % 32;
    f.warp = i / 32;
    f.index = thread_index(l, i);
  }
  HandlerStack handler_stack;
  Caught c{};
  for (uint32_t i; !l.stop && (i = l.next_block++) < l.blocks;)
    run_block(w, static_cast<uint32_t>((l.start + uint64_t{i} * l.stride) % l.blocks), c);
  stacks.give(w.all_stacks);
  current = nullptr;
}

static void add_cells(Launch& l, Region& r) {
  if (!l.settings.races) return;
  l.cells.emplace_back(kRecords, (((r.end - r.begin) >> r.shift) + 1) * sizeof(Cell));
  r.cells = reinterpret_cast<Cell*>(l.cells.back().data());
}

// Arrays that overlap become one region.
static void add_arrays(Launch& l) {
  std::vector<Argument> arrays(l.settings.arrays, l.settings.arrays + l.settings.array_count);
  std::sort(arrays.begin(), arrays.end(), [](const Argument& a, const Argument& b) { return a.data < b.data; });
  for (const Argument& a : arrays) {
    auto begin = reinterpret_cast<uintptr_t>(a.data), end = begin + a.bytes;
    int shift = __builtin_ctz(static_cast<unsigned>(a.element) | 8);
    if (!l.regions.empty() && begin < l.regions.back().end) {
      Region& r = l.regions.back();
      r.end = std::max(r.end, end);
      r.shift = std::min(r.shift, shift);
      r.writable |= a.writable != 0;
    } else {
      l.regions.push_back({begin, end, nullptr, shift, a.writable != 0, false, a.name});
    }
  }
  for (Region& r : l.regions) add_cells(l, r);
}

// The variables and constants of the module may be used too.
static int add_segments(dl_phdr_info* info, size_t, void* to) {
  auto& l = *static_cast<Launch*>(to);
  if (info->dlpi_addr != l.module) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    bool writable = h.p_flags & PF_W;
    const char* name = writable ? "__device__ variables" : "";
    l.regions.push_back({begin, begin + h.p_memsz, nullptr, 2, writable, false, name});
    if (writable) add_cells(l, l.regions.back());
  }
  return 1;
}

extern "C" __attribute__((visibility("default"))) int lw_launch(const Settings* settings, Fault* found,
                                                                 void (*print)(const char*, size_t)) {
  Launch l{};
  l.settings = *settings;
  const Settings& s = l.settings;
  l.blocks = s.grid[0] * s.grid[1] * s.grid[2];
  l.first_block = pool.number_blocks(l.blocks);
  l.threads = s.block[0] * s.block[1] * s.block[2];
  Dl_info where;
  if (dladdr(reinterpret_cast<void*>(s.entry), &where)) l.module = reinterpret_cast<uintptr_t>(where.dli_fbase);
  add_arrays(l);
  auto given = reinterpret_cast<uintptr_t>(s.args);
  l.regions.push_back({given, given + s.args_bytes, nullptr, 0, false, false, ""});
  dl_iterate_phdr(add_segments, &l);
  uint64_t mix = s.seed * 0x9e3779b97f4a7c15ull;
  l.start = s.seed ? static_cast<uint32_t>((mix >> 20) % l.blocks) : 0;
  l.stride = s.seed ? static_cast<uint32_t>((mix >> 40) % l.blocks) : 1;
  while (std::__gcd(l.stride, l.blocks) != 1) l.stride++;
  Handlers handlers;
  std::vector<std::thread> others;
  // Each stack takes two of the mappings that a process may have.
  auto workers = std::min({static_cast<uint32_t>(s.workers), l.blocks, std::max(1u, 12000 / l.threads)});
  for (uint32_t i = 1; i < workers; i++) others.emplace_back([&] { work(l); });
  work(l);
  for (auto& thread : others) thread.join();
  if (!l.printed.empty()) print(l.printed.data(), l.printed.size());
  *found = l.fault;
  return l.fault.kind;
}

}  // namespace lw
