// Which fiber runs next, barriers of a block, and the end of threads.
#pragma once
#include "worker.h"

namespace lw {

constexpr int kSlice = 20000;
static Stacks stacks;

static Index block_index(const Launch& l, uint32_t number) {
  const uint32_t *g = l.settings.grid, id = number - l.first_block;
  return {id % g[0], id / g[0] % g[1], id / g[0] / g[1]};
}

static Index thread_index(const Launch& l, uint32_t linear) {
  const uint32_t* b = l.settings.block;
  return {linear % b[0], linear / b[0] % b[1], linear / b[0] / b[1]};
}

static void put(uint32_t (&to)[3], Index from) {
  to[0] = from.x, to[1] = from.y, to[2] = from.z;
}

void report(Launch& l, const Finding& finding, const char* format, va_list values) {
  std::lock_guard<std::mutex> hold(l.lock);
  l.stop = true;
  if (l.fault.kind != kNone) return;
  l.fault.kind = finding.kind;
  put(l.fault.block, finding.block), put(l.fault.thread, finding.thread);
  put(l.fault.other_block, finding.other_block), put(l.fault.other_thread, finding.other_thread);
  l.fault.place = finding.place, l.fault.other_place = finding.other_place;
  l.fault.has_other = finding.has_other;
  vsnprintf(l.fault.text, sizeof l.fault.text, format, values);
}

void fault(Fiber* running, const Finding& finding, const char* format, ...) {
  va_list values;
  va_start(values, format);
  report(*running->worker->launch, finding, format, values);
  va_end(values);
  leave(running);
}

// Gives the block up. What lies on the stacks of its threads is forgotten.
void leave(Fiber* f) {
  switch_context(f->context, f->worker->main);
  __builtin_unreachable();
}

static void settle(Worker& w) {
  if (w.retired) {
    w.stacks.push_back(w.retired);
    w.retired = nullptr;
  }
}

[[noreturn]] static void finish(Fiber* f);

static void entry() {
  Fiber* f = current;
  settle(*f->worker);
  const Settings& s = f->worker->launch->settings;
  s.entry(s.args);
  finish(current);
}

static void start(Worker& w, Fiber* f) {
  if (w.stacks.empty()) {
    w.stacks.push_back(stacks.take());
    w.all_stacks.push_back(w.stacks.back());
  }
  f->stack = w.stacks.back();
  w.stacks.pop_back();
  prepare(f->context, f->stack, static_cast<unsigned>(w.stacks.size() + f->linear), entry);
}

// Lets `next` run, which is ready or has not begun. Comes back when `from` runs again.
static void go(Worker& w, Context& from, Fiber* next) {
  if (next->state == kFresh) start(w, next);
  next->state = kReady;
  current = next;
  switch_context(from, next->context);
  settle(w);
}

static Fiber* take_ready(Worker& w) {
  if (w.ready.empty()) return nullptr;
  size_t i = draw(w) % w.ready.size();
  Fiber* f = w.ready[i];
  w.ready[i] = w.ready.back();
  w.ready.pop_back();
  return f;
}

void make_ready(Worker& w, Fiber* f) {
  f->state = kReady;
  f->operation = LW_RUNNING;
  w.running[f->warp]++;
  w.ready.push_back(f);
}

void yield(Fiber* f) {
  Worker& w = *f->worker;
  if (w.ready.empty()) return;
  Fiber* next = take_ready(w);
  w.ready.push_back(f);
  go(w, f->context, next);
}

[[noreturn]] static void too_many_steps(Fiber* f) {
  fault(f, Finding(kSteps, *f), "it has made more than %llu steps",
        static_cast<unsigned long long>(f->worker->launch->settings.steps));
}

void look(Fiber* f, void* caller) {
  Worker& w = *f->worker;
  f->place = place_of(w, caller);
  if (w.launch->stop) leave(f);
  if (interrupted) fault(f, Finding(kInterrupted, *f), "interrupted");
  f->used += kSlice - f->slice;
  f->slice = kSlice;
  if (f->used > w.launch->settings.steps) too_many_steps(f);
}

void let_others(Fiber* f, int cost) {
  Worker& w = *f->worker;
  w.waited += cost;
  if (w.waited > w.launch->settings.steps) too_many_steps(f);
  if (w.launch->stop) leave(f);
  yield(f);
}

static const char* name_of(int operation) {
  static const char* const names[] = {
      "runs", "__syncthreads", "__syncthreads_and", "__syncthreads_or", "__syncthreads_count", "__activemask",
      "__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__all_sync",
      "__any_sync", "__ballot_sync", "__match_any_sync", "__match_all_sync", "__reduce_add_sync",
      "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
      "__reduce_or_sync", "__reduce_xor_sync", "ldmatrix", "mma.sync", "wmma::mma_sync",
      "wmma::load_matrix_sync or store_matrix_sync"};
  return names[operation];
}

static bool at_barrier(const Fiber& f) {
  return f.state == kWaiting && f.operation >= LW_BARRIER && f.operation <= LW_BARRIER_COUNT;
}

static std::string doing(const Fiber& f) {
  if (f.state == kDone) return "has ended";
  if (f.state != kWaiting) return "runs";
  std::string text = std::string("waits at ") + name_of(f.operation);
  if (f.operation >= LW_SYNCWARP) {
    char mask[32];
    snprintf(mask, sizeof mask, " with the mask 0x%08x", f.mask);
    text += mask;
  }
  return text;
}

// Ends the launch: `waits` waits for what cannot happen, because of `other`.
[[noreturn]] static void in_vain(Fiber* running, FaultKind kind, const Fiber& waits, const Fiber& other) {
  fault(running, Finding(kind, waits, other), "%s|%s", doing(waits).c_str(), doing(other).c_str());
}

[[noreturn]] static void explain_deadlock(Fiber* running) {
  std::vector<Fiber>& all = running->worker->fibers;
  const Fiber* waits = nullptr;
  for (const Fiber& f : all)
    if (f.state == kWaiting && (!waits || (at_barrier(f) && !at_barrier(*waits)))) waits = &f;
  if (at_barrier(*waits)) {
    for (const Fiber& f : all)
      if (!at_barrier(f)) in_vain(running, kBarrier, *waits, f);
  }
  for (unsigned lane = 0; lane < 32; lane++) {
    size_t i = waits->warp * 32 + lane;
    if (!(waits->mask >> lane & 1) || i >= all.size()) continue;
    const Fiber& f = all[i];
    if (f.state == kWaiting && (f.operation != waits->operation || f.mask != waits->mask))
      in_vain(running, kWarp, *waits, f);
  }
  in_vain(running, kWarp, *waits, *waits);
}

void wait(Fiber* f) {
  Worker& w = *f->worker;
  f->state = kWaiting;
  if (--w.running[f->warp] == 0) lanes_left(w, f->warp);
  if (f->state != kWaiting) {  // this was what it waited for
    auto mine = std::find(w.ready.begin(), w.ready.end(), f);
    w.ready.erase(mine);
    return;
  }
  Fiber* next = take_ready(w);
  if (!next) explain_deadlock(f);
  go(w, f->context, next);
  if (w.launch->stop) leave(f);
}

static void finish(Fiber* f) {
  Worker& w = *f->worker;
  f->state = kDone;
  w.alive--;
  w.waited = 0;
  w.retired = f->stack;
  if (w.alive && w.arrived == w.alive) {
    for (const Fiber& other : w.fibers)
      if (at_barrier(other)) in_vain(f, kBarrier, other, *f);
  }
  w.present[f->warp]--;
  recheck_warp(f);
  if (--w.running[f->warp] == 0) lanes_left(w, f->warp);
  Fiber* next = take_ready(w);
  if (next) go(w, f->context, next);
  if (w.alive) explain_deadlock(f);
  switch_context(f->context, w.main);
  __builtin_unreachable();
}

static void release_barrier(Worker& w, Fiber* last) {
  if (w.alive != w.fibers.size()) {
    for (const Fiber& f : w.fibers)
      if (f.state == kDone) in_vain(last, kBarrier, *last, f);
  }
  unsigned count = 0;
  for (const Fiber& f : w.fibers) {
    if (f.line != last->line || f.operation != last->operation) in_vain(last, kBarrier, *last, f);
    count += f.value != 0;
  }
  uint64_t result = last->operation == LW_BARRIER_AND  ? count == w.fibers.size()
                    : last->operation == LW_BARRIER_OR ? count != 0
                                                       : count;
  w.arrived = 0;
  w.waited = 0;
  w.bar = tick(w);
  for (Fiber& f : w.fibers) {
    f.result = result;
    if (&f != last) make_ready(w, &f);
  }
  last->state = kReady;
  last->operation = LW_RUNNING;
}

extern "C" int lw_barrier(int operation, int value, int line) {
  Fiber* f = current;
  Worker& w = *f->worker;
  step(f, 200, __builtin_return_address(0));
  f->place = LW_PLACE;
  f->operation = operation;
  f->value = value != 0;
  f->line = line;
  f->state = kWaiting;
  if (++w.arrived == w.alive) {
    release_barrier(w, f);
    yield(f);
  } else {
    wait(f);
  }
  return static_cast<int>(f->result);
}

}  // namespace lw
