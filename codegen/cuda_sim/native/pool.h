// Memory that is kept for later launches, as fresh pages cost more than all else in a small one.
#pragma once
#include <sys/mman.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace lw {

// What a piece holds: records of accesses are never mixed with other data, since old ones must stay valid.
enum Purpose { kRecords, kData };

// Records are told apart by the number of their block, so that no one need clear them: each launch gets new numbers.
constexpr uint32_t kBlocks = 1u << 26;
constexpr size_t kKept = size_t{512} << 20;

class Pool {
 public:
  char* take(Purpose purpose, size_t size, uint32_t* age) {
    std::lock_guard<std::mutex> hold(lock_);
    *age = age_;
    auto& free = free_[purpose][size];
    if (free.empty()) return fresh(size);
    char* piece = free.back();
    free.pop_back();
    kept_ -= size;
    return piece;
  }
  void give(Purpose purpose, size_t size, char* piece, uint32_t age) {
    std::lock_guard<std::mutex> hold(lock_);
    if (kept_ + size > kKept || age != age_) {
      munmap(piece, size);
      return;
    }
    free_[purpose][size].push_back(piece);
    kept_ += size;
  }
  // The first of so many numbers that no record bears.
  uint32_t number_blocks(uint32_t count) {
    std::lock_guard<std::mutex> hold(lock_);
    if (count >= kBlocks - next_) start_again();
    uint32_t first = next_;
    next_ += count;
    return first;
  }

 private:
  static char* fresh(size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<char*>(memory);
  }
  void start_again() {
    for (auto& sizes : free_)
      for (auto& [size, pieces] : sizes) {
        for (char* piece : pieces) munmap(piece, size);
        pieces.clear();
      }
    kept_ = 0;
    next_ = 1;
    age_++;
  }
  std::mutex lock_;
  std::map<size_t, std::vector<char*>> free_[2];
  size_t kept_ = 0;
  uint32_t next_ = 1, age_ = 0;
};

static Pool pool;

// A piece of at least so many bytes; fresh ones are zero.
class Piece {
 public:
  Piece(Purpose purpose, size_t bytes) : purpose_(purpose) {
    while (size_ < bytes) size_ *= 2;
    data_ = pool.take(purpose, size_, &age_);
  }
  Piece(Piece&& other) noexcept : purpose_(other.purpose_), size_(other.size_), age_(other.age_), data_(other.data_) {
    other.data_ = nullptr;
  }
  ~Piece() {
    if (data_) pool.give(purpose_, size_, data_, age_);
  }
  char* data() const { return data_; }

 private:
  Purpose purpose_;
  size_t size_ = 4096;
  uint32_t age_;
  char* data_;
};

}  // namespace lw
