// What a C++ program sees of OpenCV's default allocator: its virtual functions as the compiler calls them, and Mats
// that OpenCV's own threads make and give up.
#include <atomic>
#include <malloc.h>
#include <mutex>
#include <opencv2/core.hpp>
#include <set>
#include <thread>
#include <typeinfo>
#include <vector>

static std::mutex mutex;
static std::vector<cv::Mat> kept;
static std::set<std::thread::id> threads;

static bool fits(const cv::Mat &mat) {
  const size_t length = (mat.u->size + 63) / 64 * 64;
  return (size_t) mat.data % 4096 == 0 && malloc_usable_size(mat.data) >= length;
}

static cv::Mat filled(int i) {
  cv::Mat mat(1 + i % 97, 1 + i % 131, CV_8UC(1 + i % 4));
  memset(mat.data, i, mat.u->size);
  return mat;
}

static bool holds(const cv::Mat &mat, int i) {
  for (size_t at = 0; at < mat.u->size; at++)
    if (mat.data[at] != (uchar) i) return false;
  return true;
}

extern "C" {

/** Makes Mats in OpenCV's threads, and keeps one of ten. Answers how many lost a byte, or lie `anywhere` but on pages. */
int make_in_parallel(int count, bool anywhere) {
  std::atomic<int> wrong(0);
  cv::parallel_for_(cv::Range(0, count), [&](const cv::Range &range) {
    for (int i = range.start; i < range.end; i++) {
      cv::Mat mat = filled(i), other = filled(i + 1);
      if (!anywhere && (!fits(mat) || !fits(other))) wrong++;
      if (!holds(mat, i) || !holds(other, i + 1)) wrong++;
      std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
      if (i % 10 == 0) kept.push_back(mat);
    }
  });
  return wrong;
}

int thread_count() { return (int) threads.size(); }
int kept_count() { return (int) kept.size(); }

/** Gives up what was kept, in another thread. */
void drop_kept() {
  std::lock_guard<std::mutex> lock(mutex);
  std::thread([] { kept.clear(); }).join();
}

/** Bytes that malloc has given out. */
size_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/** Instead of posix_memalign: there is no block. */
int take_nothing(void **, size_t, size_t) { return 12; }
static int given;
/** Instead of free. */
void count_given(void *) { given++; }
int given_count() { return given; }

/** Calls every virtual function. Answers 0, or the number of the check that failed. */
int call_all() {
  cv::MatAllocator *allocator = cv::Mat::getDefaultAllocator();
  if (typeid(*allocator) != typeid(cv::MatAllocator)) return 1;
  const cv::AccessFlag rw = cv::ACCESS_RW;
  const int sizes[] = {3, 5, 7};

  // Steps that were never set; no steps; an empty one; memory of the caller's.
  size_t step[3] = {1, 2, 3};
  cv::UMatData *u = allocator->allocate(3, sizes, CV_16SC2, nullptr, step, rw, cv::USAGE_DEFAULT);
  if (step[0] != 140 || step[1] != 28 || step[2] != 4 || u->size != 420 || u->flags != 0) return 2;
  if (u->currAllocator != allocator || u->prevAllocator != allocator || u->data != u->origdata) return 3;
  if ((size_t) u->data % 4096 != 0) return 4;
  cv::UMatData *stepless = allocator->allocate(3, sizes, CV_16SC2, nullptr, nullptr, rw, cv::USAGE_DEFAULT);
  if (stepless->size != 420 || (size_t) stepless->data % 4096 != 0) return 5;
  const int none[] = {0, 5};
  cv::UMatData *empty = allocator->allocate(2, none, CV_8U, nullptr, step, rw, cv::USAGE_DEFAULT);
  if (empty->size != 0 || empty->data == nullptr) return 6;
  cv::UMatData *scalar = allocator->allocate(0, none, CV_64F, nullptr, nullptr, rw, cv::USAGE_DEFAULT);
  if (scalar->size != 8) return 7;
  uchar mine[64];
  size_t padded[] = {16, 1};
  const int small[] = {4, 5};
  cv::UMatData *users = allocator->allocate(2, small, CV_8U, mine, padded, rw, cv::USAGE_DEFAULT);
  if (users->data != mine || users->flags != cv::UMatData::USER_ALLOCATED || padded[0] != 16) return 8;
  if (users->currAllocator != allocator || users->size != 64) return 9;
  size_t narrow[] = {4, 1};
  try {
    allocator->allocate(2, small, CV_8U, mine, narrow, rw, cv::USAGE_DEFAULT);
    return 10;
  } catch (const cv::Exception &) {
  }

  if (!allocator->allocate(u, rw, cv::USAGE_DEFAULT) || allocator->allocate(nullptr, rw, cv::USAGE_DEFAULT)) return 11;
  allocator->map(u, rw);
  uchar from[420], to[420] = {};
  for (int i = 0; i < 420; i++) from[i] = (uchar) (i * 7);
  const size_t all[] = {1, 420};
  const size_t steps[] = {420, 1};
  allocator->upload(u, from, 2, all, nullptr, steps, steps);
  allocator->copy(u, stepless, 2, all, nullptr, steps, nullptr, steps, true);
  allocator->download(stepless, to, 2, all, nullptr, steps, steps);
  if (memcmp(from, to, 420) != 0) return 12;
  if (allocator->getBufferPoolController() != cv::Mat::getStdAllocator()->getBufferPoolController()) return 13;

  // One that is in use is refused, and nothing has happened to it.
  for (int *count : {&u->refcount, &u->urefcount}) {
    *count = 1;
    try {
      allocator->deallocate(u);
      return 14;
    } catch (const cv::Exception &) {
    }
    *count = 0;
    if (u->flags != 0 || memcmp(u->data, from, 420) != 0) return 15;
  }
  allocator->deallocate(nullptr);
  allocator->deallocate(users);
  allocator->deallocate(stepless);
  allocator->deallocate(empty);
  allocator->deallocate(scalar);
  allocator->unmap(u); // nobody has it: this deallocates
  return 0;
}
}
