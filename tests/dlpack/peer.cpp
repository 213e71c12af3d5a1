// A producer and a consumer of DLPack, as other libraries are: with threads of their own, and no JavaScript.
#include <dlpack/dlpack.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

std::atomic<int> deletions{0};

template <typename Managed>
void add(Managed* managed, float what, int pause_ms) {
  std::thread([=] {
    DLTensor& t = managed->dl_tensor;
    char* first = static_cast<char*>(t.data) + t.byte_offset;
    for (int64_t i = 0; i < t.shape[0]; i++) {
      for (int64_t j = 0; j < t.shape[1]; j++) {
        reinterpret_cast<float*>(first)[i * t.strides[0] + j * t.strides[1]] += what;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    managed->deleter(managed);
  }).detach();
}

struct Owned {
  DLManagedTensorVersioned managed;
  int64_t shape[2], strides[2];
  float data[6];
};

void free_owned(DLManagedTensorVersioned* self) {
  deletions++;
  std::free(self);
}

}  // namespace

extern "C" {

/** Adds to each element of a matrix on another thread, and releases it there after a pause. */
void add_versioned(DLManagedTensorVersioned* managed, float what, int pause_ms) { add(managed, what, pause_ms); }
void add_unversioned(DLManagedTensor* managed, float what, int pause_ms) { add(managed, what, pause_ms); }

/** A matrix of 2 × 3 whose elements count up from 0. */
DLManagedTensorVersioned* produce(uint64_t flags) {
  Owned* owned = static_cast<Owned*>(std::calloc(1, sizeof(Owned)));
  for (int i = 0; i < 6; i++) owned->data[i] = i;
  owned->shape[0] = 2, owned->shape[1] = 3;
  owned->strides[0] = 3, owned->strides[1] = 1;
  owned->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  owned->managed.flags = flags;
  owned->managed.deleter = free_owned;
  owned->managed.dl_tensor = {owned->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, owned->shape, owned->strides, 0};
  return &owned->managed;
}

/** A deleter that only counts. What it returns is of no concern to its caller. */
int count_deletion(void*) {
  deletions++;
  return 1;
}

/** How many of them were deleted. */
int deleted() { return deletions; }

/** What a consumer does with one: all of it in C. */
void lend_and_release(DLManagedTensorVersioned* managed) { managed->deleter(managed); }
}
