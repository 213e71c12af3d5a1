// A producer and a consumer of Arrow's C data interface, as other libraries have them.

#include <arrow/c/abi.h>
#include <pthread.h>

static int released;

template <typename S> static void release(S *self) {
  for (int64_t i = 0; i < self->n_children; i++) {
    S *child = self->children[i];
    if (child->release) child->release(child);
  }
  self->release = nullptr;
  __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
}

extern "C" {

void produce_schema(ArrowSchema *schema) { schema->release = release<ArrowSchema>; }
void produce_array(ArrowArray *array) { array->release = release<ArrowArray>; }
int released_structs() { return __atomic_load_n(&released, __ATOMIC_SEQ_CST); }

void move_array(ArrowArray *from, ArrowArray *to) {
  *to = *from;
  from->release = nullptr;
}

/** The consumer wants one child: the parent has to be released at once. */
void move_child(ArrowArray *parent, int64_t i, ArrowArray *to) {
  move_array(parent->children[i], to);
  parent->release(parent);
}

int is_released(const ArrowArray *array) { return array->release == nullptr; }
void release_array(ArrowArray *array) { array->release(array); }
void release_schema(ArrowSchema *schema) { schema->release(schema); }

/** On a thread without JavaScript. */
void release_on_thread(ArrowArray *array) {
  pthread_t thread;
  auto run = [](void *array) -> void * {
    release_array(static_cast<ArrowArray *>(array));
    return nullptr;
  };
  pthread_create(&thread, nullptr, run, array);
  pthread_join(thread, nullptr);
}

double sum_f32(const ArrowArray *array) {
  const float *elements = static_cast<const float *>(array->buffers[1]) + array->offset;
  double sum = 0;
  for (int64_t i = 0; i < array->length; i++) sum += elements[i];
  return sum;
}

const ArrowArray *child_of(const ArrowArray *array, int64_t i) { return array->children[i]; }
}
