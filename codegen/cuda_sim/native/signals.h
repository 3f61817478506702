// The last resort: a kernel that makes the processor raise a signal ends with a report, not the process.
#pragma once
#include <csetjmp>
#include <csignal>

#include "schedule.h"

namespace lw {

struct Caught {
  sigjmp_buf escape;
  int signal;
  void* address;  // what was accessed
  void* at;       // the instruction, if known
};

static thread_local Caught* caught __attribute__((tls_model("initial-exec"))) = nullptr;
static const int kSignals[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};
static struct sigaction before_us[4];
static std::mutex handlers_lock;
static int handlers_users = 0;

static void on_signal(int number, siginfo_t* info, void* context) {
  if (!caught) {  // not ours: as if the handler were not there
    for (int i = 0; i < 4; i++)
      if (kSignals[i] == number) sigaction(number, &before_us[i], nullptr);
    raise(number);
    return;
  }
  caught->signal = number;
  caught->address = info->si_addr;
  caught->at = nullptr;
#if defined(__x86_64__) && defined(REG_RIP)
  caught->at = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] + 1);
#else
  (void)context;
#endif
  siglongjmp(caught->escape, 1);
}

// An interrupt ends all launches; then whoever handled interrupts before does so.
static struct sigaction interrupt_before_us;
static void on_interrupt(int number, siginfo_t* info, void* context) {
  interrupted = true;
  if (interrupt_before_us.sa_flags & SA_SIGINFO) interrupt_before_us.sa_sigaction(number, info, context);
  else interrupt_before_us.sa_handler(number);
}

// While one lives, signals of threads with a `Caught` are caught.
class Handlers {
 public:
  Handlers() {
    std::lock_guard<std::mutex> hold(handlers_lock);
    if (handlers_users++) return;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < 4; i++) sigaction(kSignals[i], &action, &before_us[i]);
    interrupted = false;
    sigaction(SIGINT, nullptr, &interrupt_before_us);
    auto handler = interrupt_before_us.sa_handler;
    catches_interrupts_ = handler != SIG_DFL && handler != SIG_IGN;
    action.sa_sigaction = on_interrupt;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    if (catches_interrupts_) sigaction(SIGINT, &action, nullptr);
  }
  ~Handlers() {
    std::lock_guard<std::mutex> hold(handlers_lock);
    if (--handlers_users) return;
    for (int i = 0; i < 4; i++) sigaction(kSignals[i], &before_us[i], nullptr);
    if (catches_interrupts_) sigaction(SIGINT, &interrupt_before_us, nullptr);
  }

 private:
  static inline bool catches_interrupts_ = false;
};

// The stack that the handler of this thread runs on.
class HandlerStack {
 public:
  HandlerStack() : memory_(64 << 10) {
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, &before_);
  }
  ~HandlerStack() { sigaltstack(&before_, nullptr); }

 private:
  std::vector<char> memory_;
  stack_t before_{};
};

static void tell(Launch& l, const Finding& finding, const char* format, ...) {
  va_list values;
  va_start(values, format);
  report(l, finding, format, values);
  va_end(values);
}

static void report_signal(const Fiber& f, const Caught& c) {
  Launch& l = *f.worker->launch;
  Place place = c.at ? place_of(*f.worker, c.at) : f.place;
  auto address = reinterpret_cast<uintptr_t>(c.address), low = reinterpret_cast<uintptr_t>(f.stack);
  if (c.signal == SIGFPE)
    tell(l, {kDivision, f, place}, "integer division by zero, or of the smallest value by -1");
  else if (c.signal == SIGSEGV && address < low + 4096 && address + kGuard >= low)
    tell(l, {kStackOverflow, f, place}, "the stack of the thread overflows");
  else if (c.signal == SIGILL)
    tell(l, {kTrap, f, place}, "an illegal instruction");
  else
    tell(l, {kOutOfBounds, f, place}, "accesses the address 0x%llx, where no array lies",
         static_cast<unsigned long long>(address));
}

}  // namespace lw
