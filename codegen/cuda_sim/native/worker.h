// A launch, its workers (one for each thread of the system, each runs one block at a time) and their fibers.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fiber.h"
#include "pool.h"
#include "simulator.h"

namespace lw {

struct Index {
  unsigned x, y, z;
};

// Kinds of faults; codegen/cuda_sim/report.py has the same order.
enum FaultKind {
  kNone, kOutOfBounds, kLocalBounds, kMisaligned, kReadOnly, kSharedRace, kGlobalRace, kPendingCopy,
  kBarrier, kWarp, kLane, kSteps, kDivision, kAssert, kTrap, kStackOverflow, kSharedSize,
  kInterrupted,
};

// Where in the module: the place of an instruction as an offset, 0 for none.
using Place = uint32_t;

struct Fault {
  int32_t kind;
  uint32_t block[3], thread[3], other_block[3], other_thread[3];
  uint32_t place, other_place;
  int32_t has_other;
  char text[256];
};

// The last accesses: plain reads, plain writes, and atomic changes, which may meet each other.
enum Slot { kReads, kWrites, kChanges };
struct Cell {
  uint64_t seen[3];
  Place places[3];
};

// Memory that kernels may use. `shift` is the logarithm of the bytes of a cell; `cells` may be null.
struct Region {
  uintptr_t begin, end;
  Cell* cells;
  int shift;
  bool writable, shared;
  const char* name;
};

struct Argument {
  void* data;
  uint64_t bytes;
  int32_t element, writable;
  const char* name;
};

struct Settings {
  void (*entry)(void**);
  void** args;  // with the values behind the pointers
  uint64_t args_bytes;
  uint32_t grid[3], block[3];
  uint64_t shared, shared_limit, seed, steps;
  int32_t workers, races;
  Argument* arrays;
  int32_t array_count;
};

struct Copy {
  char* to;
  const char* from;
  uint32_t bytes, source_bytes;
};

enum State : uint8_t { kFresh, kReady, kWaiting, kDone };

struct Worker;

struct Fiber {
  Context context;
  Worker* worker;
  char* stack;
  Index index;
  unsigned linear, lane, warp;
  State state;
  int operation;     // what it waits for
  int line;          // of a barrier
  unsigned mask;     // of a warp operation
  uint64_t value;    // what it gives to the others
  int source;        // the lane that it reads from
  void* data;        // more of what it gives
  uint64_t result;
  Place place;
  uint32_t acquired;  // it knows what its block did before
  bool fenced;
  int slice;
  uint64_t used;
  std::vector<Copy> copies;
  std::vector<size_t> groups;  // the counts of copies in the committed groups, the oldest first
};

// What is known of the other blocks: their counters, as atomics hand them on.
using Known = std::unordered_map<uint32_t, uint32_t>;

struct Launch {
  Settings settings;
  std::vector<Region> regions;
  std::vector<Piece> cells;
  uintptr_t module;
  uint32_t blocks, threads;
  uint32_t first_block;  // the number of the first one in records
  std::atomic<uint32_t> next_block{0};
  std::atomic<bool> stop{false};
  uint32_t stride, start;  // the order of the blocks
  std::mutex lock;
  Fault fault{};
  std::string printed;
  std::atomic<bool> handed_on{false};  // there are releases
  std::mutex releases_lock;
  std::unordered_map<uintptr_t, Known> releases;
};

constexpr size_t kArena = 256 << 10;
constexpr size_t kRedZone = 128;

struct Worker {
  Launch* launch;
  Context main;
  std::vector<Fiber> fibers;
  std::vector<Fiber*> ready;
  std::vector<char*> stacks, all_stacks;
  char* retired = nullptr;  // left by a fiber that has ended; free once another one runs
  Index block;
  uint32_t block_id;
  uint64_t random;
  unsigned alive, arrived;
  uint64_t waited;  // steps since a thread has ended or a barrier has opened
  std::vector<unsigned> running, present;  // lanes of each warp that do not wait; that have not ended
  unsigned asking;                         // threads that wait at __activemask

  // The order of accesses: `now` counts barriers of the block and of warps, `bar` is its value at the last
  // barrier of the block, `full` at the last one of a whole warp, `known` of a thread about each lane of its warp.
  // `stamp` is what records of accesses have in common now.
  uint32_t now, bar;
  uint64_t stamp;
  std::vector<uint32_t> full, known;
  bool partial;
  Known others;
  bool races;

  char* arena;
  Cell* arena_cells;
  std::vector<Region> shared;
  std::vector<int> shared_ids;
  size_t arena_used;
  const Region* recent[64];
};

static std::atomic<bool> interrupted{false};
static __thread Fiber* current __attribute__((tls_model("initial-exec"))) = nullptr;  // the one that runs

inline Place place_of(const Worker& w, void* address) {
  return static_cast<Place>(reinterpret_cast<uintptr_t>(address) - w.launch->module);
}

#define LW_PLACE (place_of(*current->worker, __builtin_return_address(0)))

// Begins a new time. Returns it.
inline uint32_t tick(Worker& w) {
  w.now++;
  w.stamp = uint64_t{w.now} << 40 | uint64_t{w.block_id} << 14;
  return w.now;
}

inline uint64_t draw(Worker& w) {
  w.random ^= w.random << 13;
  w.random ^= w.random >> 7;
  w.random ^= w.random << 17;
  return w.random;
}

// What a report is about: a thread at a place, and perhaps another one.
struct Finding {
  FaultKind kind;
  Index block, thread;
  Place place;
  bool has_other = false;
  Index other_block{}, other_thread{};
  Place other_place = 0;

  Finding(FaultKind kind, const Fiber& f, Place place)
      : kind(kind), block(f.worker->block), thread(f.index), place(place) {}
  Finding(FaultKind kind, const Fiber& f) : Finding(kind, f, f.place) {}
  Finding(FaultKind kind, const Fiber& f, const Fiber& other) : Finding(kind, f, f.place) {
    set_other(other.worker->block, other.index, other.place);
  }
  void set_other(Index in_block, Index in_thread, Place at) {
    has_other = true;
    other_block = in_block, other_thread = in_thread, other_place = at;
  }
};

// Ends the launch with a report, unless there is one already.
void report(Launch& l, const Finding& finding, const char* format, va_list values);

// The same from a thread, which ends too.
[[noreturn]] void fault(Fiber* running, const Finding& finding, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
[[noreturn]] void leave(Fiber* f);
// Lets others run until what the fiber waits for has happened.
void wait(Fiber* f);
void yield(Fiber* f);
void make_ready(Worker& w, Fiber* f);
void lanes_left(Worker& w, unsigned warp);
void recheck_warp(Fiber* gone);
void look(Fiber* f, void* caller);

// Lets others run, as they may do what the thread waits for. The block may not do so for ever.
void let_others(Fiber* f, int cost);

// Counts work.
inline void step(Fiber* f, int cost, void* caller) {
  f->slice -= cost;
  if (f->slice <= 0) look(f, caller);
}

}  // namespace lw
