// Has allocations of libavutil's fail, in a process that is started with this library as LD_PRELOAD. FFmpeg's libraries
// allocate by av_malloc and av_realloc, which call these two functions of C's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

// How many allocations are left until one fails: below zero, as many as there are.
static atomic_long left = -1;
static atomic_long failed;
static atomic_int all;

// From now on, the allocation after so many others fails, and with `every` each one after that too.
void fail_after(long count, int every) {
  atomic_store(&failed, 0);
  atomic_store(&all, every);
  atomic_store(&left, count);
}

// How many have failed. None fails from now on.
long end_failures(void) {
  atomic_store(&left, -1);
  return atomic_load(&failed);
}

static void show(int number, siginfo_t *about, void *at) {
  (void)about;
  void *stack[32];
  const greg_t *registers = ((ucontext_t *)at)->uc_mcontext.gregs;
  Dl_info place;
  dprintf(2, "crash\n");
  // After a call of what is not a function, only the return address says who has called.
  if (!dladdr((void *)registers[REG_RIP], &place) && dladdr(*(void **)registers[REG_RSP], &place)) {
    dprintf(2, "%s\n", place.dli_fname);
  }
  backtrace_symbols_fd(stack, backtrace(stack, 32), 2);
  _exit(128 + number);
}

// Has a crash print its stack. backtrace() loads a library at its first call, which a handler must not.
void show_crashes(void) {
  void *stack[1];
  backtrace(stack, 1);
  struct sigaction action = {.sa_sigaction = show, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
}

// How many allocations have come since fail_after(), which had none of them fail.
long passed(long count) {
  return count - atomic_load(&left);
}

static int fails(void *caller) {
  Dl_info place;
  if (atomic_load(&left) < 0 || !dladdr(caller, &place) || !strstr(place.dli_fname, "libavutil")) return 0;
  long before = atomic_load(&left);
  while (before > 0 && !atomic_compare_exchange_weak(&left, &before, before - 1)) continue;
  if (before != 0) return 0;
  if (!atomic_load(&all)) atomic_store(&left, -1);
  atomic_fetch_add(&failed, 1);
  return 1;
}

int posix_memalign(void **block, size_t align, size_t size) {
  static int (*own)(void **, size_t, size_t);
  if (fails(__builtin_return_address(0))) return ENOMEM;
  if (!own) own = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
  return own(block, align, size);
}

void *realloc(void *block, size_t size) {
  static void *(*own)(void *, size_t);
  if (fails(__builtin_return_address(0))) return NULL;
  if (!own) own = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
  return own(block, size);
}
