// A library that calls back, on threads of its own, as others do when they release memory or have finished.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*with_data)(void *data);
typedef void (*with_more)(void *data, long number, void *other);
typedef int (*with_result)(void *data);

struct call {
  with_data function;
  void *data;
  unsigned delay_us;
};

static void *run(void *argument) {
  struct call call = *(struct call *)argument;
  free(argument);
  if (call.delay_us > 0) usleep(call.delay_us);
  call.function(call.data);
  return NULL;
}

// Calls on a new thread, after a while.
int call_later(with_data function, void *data, unsigned delay_us) {
  struct call *call = malloc(sizeof *call);
  if (call == NULL) return -1;
  *call = (struct call){function, data, delay_us};
  pthread_t thread;
  int code = pthread_create(&thread, NULL, run, call);
  if (code != 0) return free(call), code;
  return pthread_detach(thread);
}

struct calls {
  with_data function;
  void **data;
  long count;
};

static void *run_all(void *argument) {
  struct calls *calls = argument;
  for (long i = 0; i < calls->count; i++) calls->function(calls->data[i]);
  return NULL;
}

// Calls for each of many, on four threads, and returns once all have been called.
int call_all(with_data function, void **data, long count) {
  pthread_t threads[4];
  struct calls parts[4];
  for (int i = 0; i < 4; i++) {
    long first = count * i / 4, end = count * (i + 1) / 4;
    parts[i] = (struct calls){function, data + first, end - first};
    int code = pthread_create(&threads[i], NULL, run_all, &parts[i]);
    if (code != 0) return code;
  }
  for (int i = 0; i < 4; i++) {
    int code = pthread_join(threads[i], NULL);
    if (code != 0) return code;
  }
  return 0;
}

void call_with_more(with_more function, void *data) { function(data, 0x1234567890, &data); }

int call_with_result(with_result function, void *data) { return function(data); }

// As DLPack's: who has the struct calls its deleter with itself.
struct managed {
  unsigned version[2];
  void *context;
  void (*deleter)(struct managed *self);
};

static atomic_int may_release;

static void *consumer(void *argument) {
  struct managed *managed = argument;
  while (!atomic_load(&may_release)) usleep(100);
  managed->deleter(managed);
  return NULL;
}

// Has the consumer release what it has.
void let_release(void) { atomic_store(&may_release, 1); }

// Hands it to a consumer on a new thread.
int consume(struct managed *managed) {
  pthread_t thread;
  int code = pthread_create(&thread, NULL, consumer, managed);
  return code != 0 ? code : pthread_detach(thread);
}
