// What kernels call of the runtime. Every function may end the calling thread with a report.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Operations of which all lanes of a mask must take part.
enum lw_operation {
  LW_RUNNING,
  LW_BARRIER, LW_BARRIER_AND, LW_BARRIER_OR, LW_BARRIER_COUNT,
  LW_ACTIVEMASK,
  LW_SYNCWARP,
  LW_SHUFFLE, LW_SHUFFLE_UP, LW_SHUFFLE_DOWN, LW_SHUFFLE_XOR,
  LW_ALL, LW_ANY, LW_BALLOT, LW_MATCH_ANY, LW_MATCH_ALL,
  LW_REDUCE_ADD, LW_REDUCE_MIN, LW_REDUCE_MAX, LW_REDUCE_UMIN, LW_REDUCE_UMAX,
  LW_REDUCE_AND, LW_REDUCE_OR, LW_REDUCE_XOR,
  LW_LDMATRIX, LW_MMA, LW_WMMA, LW_MEET,
};

extern "C" {
// 0-2 threadIdx, 3-5 blockIdx, 6-8 blockDim, 9-11 gridDim.
unsigned lw_axis(int which) __attribute__((const));
// A step of a loop; always true.
bool lw_tick();
// A step of a loop that waits for another thread.
void lw_spin();

void* lw_shared(int declaration, size_t bytes, const char* name);
void* lw_dynamic_shared(const char* name);

int lw_barrier(int operation, int value, int line);
unsigned lw_activemask(int line);
void lw_syncwarp(unsigned mask);
uint64_t lw_shuffle(int operation, unsigned mask, uint64_t value, int lane, int width);
uint64_t lw_vote(int operation, unsigned mask, uint64_t value);

void lw_fence();
// The bits at `address`; then `commit` until it succeeds, which puts what it found into `found`.
uint64_t lw_atomic_begin(void* address, int bytes);
bool lw_atomic_commit(void* address, int bytes, uint64_t* found, uint64_t wanted);

void lw_copy(void* to, const void* from, size_t bytes);
void lw_fill(void* to, int value, size_t bytes);

void lw_sim_cp_async(void* shared, const void* global, int bytes, int source_bytes);
void lw_sim_cp_async_commit();
void lw_sim_cp_async_wait(int groups);
void lw_sim_ldmatrix(void* registers, const void* row, int matrices, bool transposed);
void lw_sim_mma(const char* shape, const char* a_type, const char* b_type, const char* c_type, void* d,
                const void* a, const void* b, const void* c);
// The same for the parts that mma.h deals out; and what all lanes of a warp must come to.
void lw_wmma(int m, int n, int k, const char* a_type, const char* b_type, const char* c_type, const char* d_type,
             void* d, const void* a, const void* b, const void* c);
void lw_warp_meets();

int lw_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void lw_assert_failed(const char* text);
[[noreturn]] void lw_trap();
unsigned long long lw_clock();
}
