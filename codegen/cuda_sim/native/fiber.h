// Stacks, and switching between them.
#pragma once
#include <sys/mman.h>
#include <mutex>
#include <new>
#include <vector>
#if !defined(__x86_64__) || defined(LW_PORTABLE)
#include <ucontext.h>
#endif

namespace lw {

constexpr size_t kStack = 256 << 10;
constexpr size_t kGuard = 16 << 10;

// Stacks are kept for later launches. Below each lies memory that faults.
class Stacks {
 public:
  char* take() {
    std::lock_guard<std::mutex> hold(lock_);
    if (free_.empty()) grow();
    char* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void give(const std::vector<char*>& stacks) {
    std::lock_guard<std::mutex> hold(lock_);
    free_.insert(free_.end(), stacks.begin(), stacks.end());
  }

 private:
  void grow() {
    constexpr size_t count = 16, each = kStack + kGuard;
    void* memory = mmap(nullptr, count * each, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    for (size_t i = 0; i < count; i++) {
      char* low = static_cast<char*>(memory) + i * each;
      mprotect(low, kGuard, PROT_NONE);
      free_.push_back(low + kGuard);
    }
  }
  std::mutex lock_;
  std::vector<char*> free_;
};

#if defined(__x86_64__) && !defined(LW_PORTABLE)

struct Context {
  void* sp = nullptr;
};

extern "C" void lw_switch(void** from, void* to);
asm(R"(
.text
.globl lw_switch
.hidden lw_switch
.type lw_switch,@function
lw_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lw_switch,.-lw_switch
)");

inline void switch_context(Context& from, Context& to) { lw_switch(&from.sp, to.sp); }

// `color` moves the first frame, so that the stacks do not all compete for the same lines of the cache.
inline void prepare(Context& context, char* stack, unsigned color, void (*start)()) {
  auto** top = reinterpret_cast<void**>(stack + kStack - 64 - (color % 24) * 128);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(start);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  context.sp = top;
}

#else  // any other processor: slower, as it saves the signal mask too

struct Context {
  ucontext_t state;
};

inline void switch_context(Context& from, Context& to) { swapcontext(&from.state, &to.state); }

inline void prepare(Context& context, char* stack, unsigned color, void (*start)()) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = kStack - (color % 24) * 128;
  context.state.uc_link = nullptr;
  makecontext(&context.state, start, 0);
}

#endif

}  // namespace lw
