// What all C and C++ programs of the bench share: the clock, a frame, and the loop that answers.
//
// A program says "ready", or "missing: " and what it lacks, and then answers each line "NAME COUNT" of its standard
// input with the nanoseconds that COUNT operations took. It ends with its input.
//
// `deno bench` builds the same source as a library (SAMEPAGE_BENCH_LIBRARY, with main as bench_open), and calls its
// operations in its own process, beside samepage's.
#ifndef SAMEPAGE_BENCH_SERVE_H
#define SAMEPAGE_BENCH_SERVE_H

#ifndef _GNU_SOURCE // g++ defines it
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { WIDTH = 3840, HEIGHT = 2160, PIXELS = WIDTH * HEIGHT, FRAME = PIXELS * 4 };

// One thing that is measured.
struct operation {
  const char *name;
  void (*setup)(void);       // once, before the first run
  void (*run)(long count);   // what the clock is about
  void (*settle)(void);      // after each run, outside of the clock; may be NULL
  long most;                 // operations of one run at most; 0 for any number
  void (*prepare)(void);     // before each run, outside of the clock; may be NULL
  uint64_t (*clock)(void);   // nanoseconds of something else than the time that passes; may be NULL
};

static inline void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

// Zeroed pages, as host.allocate makes them.
static inline void *map_pages(size_t length) {
  void *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail("mmap failed");
  if (length >= 4 << 20) madvise(pages, length, MADV_HUGEPAGE);
  return pages;
}

// A frame of random bytes.
static inline unsigned char *make_frame(void) {
  unsigned char *frame = (unsigned char *)map_pages(FRAME);
  FILE *random = fopen("/dev/urandom", "rb");
  if (random == NULL || fread(frame, 1, FRAME, random) != FRAME) fail("/dev/urandom cannot be read");
  fclose(random);
  return frame;
}

// Fails unless one run makes every byte its inverse.
static inline void check_inverts(unsigned char *frame, void (*run)(long count)) {
  unsigned char *before = (unsigned char *)map_pages(FRAME);
  memcpy(before, frame, FRAME);
  run(1);
  for (size_t i = 0; i < FRAME; i++) {
    if (frame[i] != 255 - before[i]) fail("the frame is not the inverse of what it was");
  }
  munmap(before, FRAME);
}

#ifdef SAMEPAGE_BENCH_LIBRARY

static const struct operation *served;
static size_t served_length;

// Leaves the operations to bench_set_up().
static inline int answer(const struct operation *operations, size_t length) {
  served = operations;
  served_length = length;
  return 0;
}

#ifdef __cplusplus
extern "C" {
int bench_open(int argc, char **argv);
#endif

// Sets an operation up. Returns its number, or -1 where there is none of this name.
int bench_set_up(const char *name) {
  for (size_t i = 0; i < served_length; i++) {
    if (strcmp(served[i].name, name) != 0) continue;
    served[i].setup();
    return (int)i;
  }
  return -1;
}

void bench_prepare(int i) {
  if (served[i].prepare != NULL) served[i].prepare();
}

void bench_run(int i, int count) { served[i].run(count); }

void bench_settle(int i) {
  if (served[i].settle != NULL) served[i].settle();
}

#ifdef __cplusplus
}
#endif

#else

static inline uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline uint64_t measure(const struct operation *operation, long count) {
  uint64_t spent = 0;
  while (count > 0) {
    const long n = operation->most > 0 && operation->most < count ? operation->most : count;
    if (operation->prepare != NULL) operation->prepare();
    uint64_t (*const clock)(void) = operation->clock != NULL ? operation->clock : now;
    const uint64_t start = clock();
    operation->run(n);
    spent += clock() - start;
    if (operation->settle != NULL) operation->settle();
    count -= n;
  }
  return spent;
}

// Answers until the input ends.
static inline int answer(const struct operation *operations, size_t length) {
  puts("ready");
  fflush(stdout);

  char *is_set_up = (char *)calloc(length, 1);
  char name[64];
  long count;
  while (scanf("%63s %ld", name, &count) == 2) {
    size_t i = 0;
    while (i < length && strcmp(operations[i].name, name) != 0) i++;
    if (i == length) {
      fprintf(stderr, "no operation %s\n", name);
      return 1;
    }
    if (!is_set_up[i]) operations[i].setup();
    is_set_up[i] = 1;
    printf("%llu\n", (unsigned long long)measure(&operations[i], count));
    fflush(stdout);
  }
  free(is_set_up);
  return 0;
}

#endif

#endif
