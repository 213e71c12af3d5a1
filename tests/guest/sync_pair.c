/* How long a begin and an end of the CPU's access to a dma-buf take in C: sync_pair FD ROUNDS. Prints nanoseconds a pair. */
#include <linux/dma-buf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e9 + at.tv_nsec;
}

int main(int argc, char **argv) {
  int fd = argc > 1 ? atoi(argv[1]) : -1;
  long rounds = argc > 2 ? atol(argv[2]) : 1;
  struct dma_buf_sync begin = {DMA_BUF_SYNC_RW | DMA_BUF_SYNC_START};
  struct dma_buf_sync end = {DMA_BUF_SYNC_RW | DMA_BUF_SYNC_END};
  double least = 1e18;
  for (int lap = 0; lap < 9; lap++) {
    double from = now();
    for (long i = 0; i < rounds; i++) {
      if (ioctl(fd, DMA_BUF_IOCTL_SYNC, &begin) != 0 || ioctl(fd, DMA_BUF_IOCTL_SYNC, &end) != 0) return 1;
    }
    double each = (now() - from) / rounds;
    if (each < least) least = each;
  }
  printf("%.0f\n", least);
  return 0;
}
