// Operations of a warp: whoever comes last does the work for all.
#pragma once
#include "schedule.h"

namespace lw {

// The lanes of a warp that one operation joins; those that do not exist or have ended are null.
struct Group {
  Worker& worker;
  Fiber* lanes[32];
  unsigned mask;
};

void multiply(Fiber* running, Group& group);
void load_matrices(Fiber* running, Group& group);

static Fiber* lane_of(Worker& w, unsigned warp, unsigned lane) {
  size_t i = warp * 32 + lane;
  return i < w.fibers.size() ? &w.fibers[i] : nullptr;
}

// Accesses of the group so far happen before what its lanes do from now on.
static void join(Group& g, unsigned warp) {
  Worker& w = g.worker;
  unsigned whole = 0;
  for (unsigned lane = 0; lane < 32; lane++)
    if (lane_of(w, warp, lane)) whole |= 1u << lane;
  uint32_t now = tick(w);
  if ((g.mask & whole) == whole) {
    w.full[warp] = now;
    return;
  }
  w.partial = true;
  uint32_t joined[32] = {};
  for (Fiber* f : g.lanes) {
    if (!f) continue;
    const uint32_t* known = &w.known[f->linear * 32];
    for (int i = 0; i < 32; i++) joined[i] = std::max(joined[i], known[i]);
  }
  for (Fiber* f : g.lanes)
    if (f) joined[f->lane] = now;
  for (Fiber* f : g.lanes)
    if (f) std::copy(joined, joined + 32, &w.known[f->linear * 32]);
}

static void shuffle(Fiber* running, Group& g) {
  for (Fiber* f : g.lanes) {
    if (!f) continue;
    Fiber* from = g.lanes[f->source];
    if (!from) {
      const char* why = !(g.mask >> f->source & 1)                 ? "is not in the mask"
                        : lane_of(g.worker, f->warp, f->source) ? "has ended"
                                                                : "does not exist";
      fault(running, Finding(kLane, *f), "%s reads lane %d, which %s (mask 0x%08x)", name_of(f->operation),
            f->source, why, g.mask);
    }
    f->result = from->value;
  }
}

static uint64_t reduced(int operation, uint64_t a, uint64_t b) {
  auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  auto i = static_cast<int32_t>(x), j = static_cast<int32_t>(y);
  switch (operation) {
    case LW_REDUCE_ADD: return static_cast<uint32_t>(x + y);
    case LW_REDUCE_MIN: return static_cast<uint32_t>(std::min(i, j));
    case LW_REDUCE_MAX: return static_cast<uint32_t>(std::max(i, j));
    case LW_REDUCE_UMIN: return std::min(x, y);
    case LW_REDUCE_UMAX: return std::max(x, y);
    case LW_REDUCE_AND: return x & y;
    case LW_REDUCE_OR: return x | y;
    default: return x ^ y;
  }
}

static void vote(Group& g, int operation) {
  unsigned set = 0, present = 0;
  Fiber* first = nullptr;
  uint64_t total = 0;
  bool alike = true;
  for (Fiber* f : g.lanes) {
    if (!f) continue;
    present |= 1u << f->lane;
    if (f->value) set |= 1u << f->lane;
    total = first ? reduced(operation, total, f->value) : f->value;
    if (first && first->value != f->value) alike = false;
    if (!first) first = f;
  }
  for (Fiber* f : g.lanes) {
    if (!f) continue;
    switch (operation) {
      case LW_ALL: f->result = set == present; break;
      case LW_ANY: f->result = set != 0; break;
      case LW_BALLOT: f->result = set; break;
      case LW_MATCH_ALL: f->result = alike ? present : 0; break;
      case LW_MATCH_ANY:
        f->result = 0;
        for (Fiber* other : g.lanes)
          if (other && other->value == f->value) f->result |= 1u << other->lane;
        break;
      default: f->result = total;
    }
  }
}

static void perform(Fiber* running, Group& g, const Fiber& leader) {
  int operation = leader.operation;
  if (operation == LW_SYNCWARP) join(g, leader.warp);
  else if (operation <= LW_SHUFFLE_XOR) shuffle(running, g);
  else if (operation <= LW_REDUCE_XOR) vote(g, operation);
  else if (operation == LW_LDMATRIX) load_matrices(running, g);
  else if (operation != LW_MEET) multiply(running, g);
}

// Does the operation that the leader waits for if all its lanes are there. Makes all but `running` ready.
static bool complete(Fiber* running, Fiber* leader) {
  Worker& w = *leader->worker;
  Group g{w, {}, leader->mask};
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!(leader->mask >> lane & 1)) continue;
    Fiber* f = lane_of(w, leader->warp, lane);
    if (!f || f->state == kDone) {
      if (leader->operation >= LW_LDMATRIX)
        fault(running, Finding(kLane, *leader), "%s needs 32 lanes, but lane %u %s", name_of(leader->operation), lane,
              f ? "has ended" : "does not exist");
      continue;
    }
    if (f->state != kWaiting) return false;
    if (f->operation != leader->operation || f->mask != leader->mask) {
      if (f->operation >= LW_SYNCWARP && f->mask >> leader->lane & 1) in_vain(running, kWarp, *leader, *f);
      return false;
    }
    g.lanes[lane] = f;
  }
  perform(running, g, *leader);
  for (Fiber* f : g.lanes)
    if (f && f != running) make_ready(w, f);
  return true;
}

// A lane has ended, so that others need not wait for it.
void recheck_warp(Fiber* gone) {
  Worker& w = *gone->worker;
  if (w.running[gone->warp] > w.present[gone->warp]) return;  // none waits
  for (unsigned lane = 0; lane < 32; lane++) {
    Fiber* f = lane_of(w, gone->warp, lane);
    if (f && f->state == kWaiting && f->operation >= LW_SYNCWARP) complete(gone, f);
  }
}

// All lanes of the warp wait or have ended: those that ask for the active lanes at one place may be together. They
// are with the seed 0; with others they come in two parts at times, as nothing promises that lanes meet again.
void lanes_left(Worker& w, unsigned warp) {
  if (!w.asking) return;
  uint64_t mixed = draw(w) * 0x2545f4914f6cdd1dull;
  unsigned part = w.launch->settings.seed && mixed >> 63 ? static_cast<unsigned>(mixed) : ~0u;
  for (unsigned first = 0; first < 32; first++) {
    Fiber* leader = lane_of(w, warp, first);
    if (!leader || leader->state != kWaiting || leader->operation != LW_ACTIVEMASK) continue;
    unsigned mask = 0;
    Fiber* together[32] = {};
    for (unsigned lane = first; lane < 32; lane++) {
      Fiber* f = lane_of(w, warp, lane);
      bool asks = f && f->state == kWaiting && f->operation == LW_ACTIVEMASK && f->line == leader->line;
      if (!asks || ((part >> lane ^ part >> first) & 1)) continue;
      mask |= 1u << lane;
      together[lane] = f;
    }
    for (Fiber* f : together) {
      if (!f) continue;
      f->result = mask;
      w.asking--;
      make_ready(w, f);
    }
  }
}

static uint64_t arrive(Fiber* f, int operation, unsigned mask, void* caller) {
  step(f, 100, caller);
  f->place = place_of(*f->worker, caller);
  f->operation = operation;
  f->mask = mask;
  if (!(mask >> f->lane & 1))
    fault(f, Finding(kLane, *f), "%s: the mask 0x%08x does not name the lane %u that calls it", name_of(operation),
          mask, f->lane);
  f->state = kWaiting;
  if (complete(f, f)) {
    f->state = kReady;
    f->operation = LW_RUNNING;
    yield(f);
  } else {
    wait(f);
  }
  return f->result;
}

extern "C" void lw_syncwarp(unsigned mask) { arrive(current, LW_SYNCWARP, mask, __builtin_return_address(0)); }

extern "C" unsigned lw_activemask(int line) {
  Fiber* f = current;
  f->place = LW_PLACE;
  f->operation = LW_ACTIVEMASK;
  f->worker->asking++;
  f->line = line;
  f->mask = 0;
  wait(f);
  return static_cast<unsigned>(f->result);
}

extern "C" uint64_t lw_shuffle(int operation, unsigned mask, uint64_t value, int lane, int width) {
  Fiber* f = current;
  int own = static_cast<int>(f->lane), base = own & ~(width - 1), from = own;
  switch (operation) {
    case LW_SHUFFLE: from = base | (lane & (width - 1)); break;
    case LW_SHUFFLE_UP: from = own - lane < base ? own : own - lane; break;
    case LW_SHUFFLE_DOWN: from = own + lane >= base + width ? own : own + lane; break;
    default: from = own ^ lane; if (from >= base + width) from = own; break;
  }
  f->source = from & 31;
  f->value = value;
  return arrive(f, operation, mask, __builtin_return_address(0));
}

extern "C" uint64_t lw_vote(int operation, unsigned mask, uint64_t value) {
  Fiber* f = current;
  f->value = value;
  return arrive(f, operation, mask, __builtin_return_address(0));
}

}  // namespace lw
