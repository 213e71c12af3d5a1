/* Threads that take memory of an allocator and give it back: how often two had the same at a time. */
#include <gst/gst.h>
#include <pthread.h>

typedef struct {
  GstAllocator *allocator;
  int rounds;
  int collisions;
} Work;

static void *hammer_one(void *data) {
  Work *work = (Work *) data;
  for (int i = 0; i < work->rounds; i++) {
    GstMemory *memory = gst_allocator_alloc(work->allocator, 64, NULL);
    GstMapInfo map;
    gst_memory_map(memory, &map, GST_MAP_WRITE);
    int *word = (int *) map.data;
    if (memory->maxsize > 1000) {
      if (__atomic_exchange_n(word, 1, __ATOMIC_SEQ_CST) != 0) work->collisions++;
      sched_yield();
      __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
    }
    gst_memory_unmap(memory, &map);
    gst_memory_unref(memory);
  }
  return NULL;
}

extern "C" int hammer(GstAllocator *allocator, int threads, int rounds) {
  pthread_t all[16];
  Work works[16];
  int collisions = 0;
  for (int i = 0; i < threads; i++) {
    works[i] = {allocator, rounds, 0};
    pthread_create(&all[i], NULL, hammer_one, &works[i]);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(all[i], NULL);
    collisions += works[i].collisions;
  }
  return collisions;
}
