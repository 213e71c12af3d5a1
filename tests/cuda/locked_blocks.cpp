// CUDA's functions for page-locked blocks, as a pool of them calls them: on any thread, in its context, which is put
// back. Blocks begin in the middle of a page, as small ones of CUDA's may.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

static thread_local std::vector<uintptr_t> contexts;
static std::atomic<int> alive, mistakes, refusing, holding, inside;

extern "C" int push(void *context) {
  if (refusing == 1) return 201;
  contexts.push_back((uintptr_t)context);
  return 0;
}

extern "C" int pop(void **context) {
  if (contexts.empty()) return mistakes++, 201;
  *context = (void *)contexts.back();
  contexts.pop_back();
  return 0;
}

extern "C" int host_alloc(void **block, size_t size, unsigned flags) {
  inside++;
  while (holding) std::this_thread::yield();
  inside--;
  if (refusing == 2) return 2;
  if (flags != 5 || contexts.size() != 1 || contexts.back() != 0x1234) mistakes++;
  char *memory;
  if (posix_memalign((void **)&memory, 4096, size + 4096)) return 2;
  memset(memory, 0xee, size + 4096);
  // Where free finds it again, and a word that nobody may write.
  *(void **)(memory + 512 - 8) = memory;
  *(size_t *)(memory + 512 - 16) = size;
  memcpy(memory + 512 + size, "samepage", 8);
  *block = memory + 512;
  alive++;
  return 0;
}

extern "C" void host_free(char *block) {
  size_t size = *(size_t *)(block - 16);
  if (memcmp(block + size, "samepage", 8)) mistakes++;
  free(*(void **)(block - 8));
  alive--;
}

extern "C" int blocks() { return alive; }

extern "C" int wrong() { return mistakes; }

// 1: no context, 2: no memory, 0: neither.
extern "C" void refuse(int what) { refusing = what; }

// While it is 1, nobody comes out of host_alloc; and how many are in it.
extern "C" void hold(int on) { holding = on; }

extern "C" int making() { return inside; }

// Threads that take blocks, write all of them, look whether another has, and give them back.
extern "C" int take_and_give(int (*take)(void **, size_t, size_t), void (*give)(void *), int threads, int turns) {
  std::atomic<int> failed{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++) {
    all.emplace_back([=, &failed] {
      for (int i = 0; i < turns; i++) {
        char *kept[8];
        size_t sizes[8];
        for (int k = 0; k < 8; k++) {
          sizes[k] = 64 << (i + 3 * k + t) % 9;
          void *block = nullptr;
          if (take(&block, 4096, sizes[k]) || (uintptr_t)block % 4096) failed++;
          memset(kept[k] = (char *)block, t * 8 + k, sizes[k]);
        }
        for (int k = 0; k < 8; k++) {
          for (size_t at = 0; at < sizes[k]; at++) failed += kept[k][at] != (char)(t * 8 + k);
          give(kept[k]);
        }
      }
    });
  }
  for (auto &thread : all) thread.join();
  return failed;
}

// Threads that take a block and give it back, again and again, until they are stopped.
static std::atomic<int> churning;
static std::vector<std::thread> churners;

extern "C" void churn(int (*take)(void **, size_t, size_t), void (*give)(void *), int threads) {
  churning = 1;
  for (int t = 0; t < threads; t++) {
    churners.emplace_back([=] {
      while (churning) {
        void *block = nullptr;
        if (take(&block, 4096, 4096) == 0) give(block);
      }
    });
  }
}

extern "C" void churned() {
  churning = 0;
  for (auto &thread : churners) thread.join();
  churners.clear();
}
