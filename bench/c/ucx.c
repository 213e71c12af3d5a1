// Frames from one process to another over UCX: `ucx TRANSPORTS BYTES`. It forks the process that sends them. A frame is a
// tagged message out of its memory, which UCX knows, into one of as many frames on the other side, as in samepage's ring
// over UCX, but without notices: whose turn it is follows from the order. ucx_cuda.c is this program with frames in a
// GPU's memory. Both sides ask and yield for as long as samepage does, and then wait for the worker's event.
#include "serve.h"
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#ifdef FRAMES_OF_CUDA
#include <cuda_runtime_api.h>

enum { MEMORY_TYPE = UCS_MEMORY_TYPE_CUDA };
static cudaStream_t stream;

static void check_cuda(cudaError_t code, const char *function) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", function, cudaGetErrorName(code));
  exit(1);
}
#else
enum { MEMORY_TYPE = UCS_MEMORY_TYPE_HOST };
#endif

enum { FRAMES = 4, POLLING_NS = 200000, EVENT_MS = 250 };

static ucp_worker_h worker;
static ucp_ep_h endpoint;
static const ucp_request_param_t PLAIN;
static ucp_request_param_t of_frames; // names the frames' registration
static int event_fd;
static int other; // a socket to the other process: UCX's address, and what is asked for
static size_t length;
static unsigned char *frames;

static void check(ucs_status_t status, const char *function) {
  if (status == UCS_OK) return;
  fprintf(stderr, "%s: %d\n", function, status);
  exit(1);
}

static uint64_t nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t worked(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  return seconds * 1000000000u + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static void finish(void *request) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "a request");
  uint64_t until = nanoseconds() + POLLING_NS;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) {
    if (ucp_worker_progress(worker) != 0) {
      until = nanoseconds() + POLLING_NS;
    } else if (nanoseconds() < until) {
      sched_yield();
    } else {
      const ucs_status_t status = ucp_worker_arm(worker);
      if (status == UCS_ERR_BUSY) continue;
      check(status, "ucp_worker_arm");
      struct pollfd ready = {event_fd, POLLIN, 0};
      poll(&ready, 1, EVENT_MS);
    }
  }
  check(ucp_request_check_status(request), "a request");
  ucp_request_free(request);
}

static void say(const void *bytes, size_t count) {
  if (write(other, bytes, count) != (ssize_t)count) exit(1);
}

static void hear(void *bytes, size_t count) {
  if (recv(other, bytes, count, MSG_WAITALL) != (ssize_t)count) exit(0); // the other one has ended
}

// UCX reads its environment when it is loaded, which was before main: so the program starts again, once.
static void settle_environment(char **argv) {
  static const char *const SETTINGS[][2] = {
    {"UCX_MEM_EVENTS", "n"}, {"UCX_HANDLE_ERRORS", "none"}, {"UCX_VFS_ENABLE", "n"}, {"UCX_LOG_LEVEL", "fatal"},
    {"UCX_POSIX_ERROR_HANDLING", "y"}, {"UCX_SYSV_ERROR_HANDLING", "y"},
    {"UCX_TCP_TX_SEG_SIZE", "256k"}, {"UCX_TCP_RX_SEG_SIZE", "256k"},
  };
  if (getenv(SETTINGS[0][0]) != NULL) return;
  for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) setenv(SETTINGS[i][0], SETTINGS[i][1], 0);
  execv("/proc/self/exe", argv);
  fail("it cannot start again");
}

static void open_ucx(const char *transports) {
  ucp_config_t *config;
  check(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
  check(ucp_config_modify(config, "TLS", transports), "ucp_config_modify");
  check(ucp_config_modify(config, "NET_DEVICES", "lo"), "ucp_config_modify");
  check(ucp_config_modify(config, "RNDV_THRESH", "100000"), "ucp_config_modify");
  const ucp_params_t params = {
    .field_mask = UCP_PARAM_FIELD_FEATURES,
    .features = UCP_FEATURE_RMA | UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
  };
  ucp_context_h context;
  check(ucp_init(&params, config, &context), "ucp_init");
  const ucp_worker_params_t single = {
    .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
    .thread_mode = UCS_THREAD_MODE_SINGLE,
  };
  check(ucp_worker_create(context, &single, &worker), "ucp_worker_create");
  check(ucp_worker_get_efd(worker, &event_fd), "ucp_worker_get_efd");
  const ucp_mem_map_params_t memory = {
    .field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
    .address = frames,
    .length = FRAMES * length,
    .memory_type = MEMORY_TYPE,
  };
  of_frames.op_attr_mask = UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  of_frames.memory_type = MEMORY_TYPE;
  check(ucp_mem_map(context, &memory, &of_frames.memh), "ucp_mem_map");

  ucp_address_t *own;
  size_t own_length, their_length;
  check(ucp_worker_get_address(worker, &own, &own_length), "ucp_worker_get_address");
  say(&own_length, sizeof own_length);
  say(own, own_length);
  hear(&their_length, sizeof their_length);
  void *theirs = malloc(their_length);
  hear(theirs, their_length);
  const ucp_ep_params_t to = {
    .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
    .address = theirs,
    .err_mode = UCP_ERR_HANDLING_MODE_PEER,
  };
  check(ucp_ep_create(worker, &to, &endpoint), "ucp_ep_create");
  finish(ucp_ep_flush_nbx(endpoint, &PLAIN));
}

static unsigned char *frame_of(long i) {
  return frames + (size_t)(i % FRAMES) * length;
}

#ifdef FRAMES_OF_CUDA

static void stamp(unsigned char *frame, unsigned char value) {
  check_cuda(cudaMemsetAsync(frame, value, length, stream), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static int is_stamped(const unsigned char *frame, unsigned char value) {
  unsigned char found;
  check_cuda(cudaMemcpyAsync(&found, frame + length / 2, 1, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return found == value;
}

static unsigned char *make_frames(size_t size) {
  void *bytes;
  check_cuda(cudaMalloc(&bytes, size), "cudaMalloc");
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return bytes;
}

#else

static void stamp(unsigned char *frame, unsigned char value) {
  frame[0] = frame[length / 2] = frame[length - 1] = value;
}

static int is_stamped(const unsigned char *frame, unsigned char value) {
  return frame[0] == value && frame[length / 2] == value && frame[length - 1] == value;
}

// Zeroed pages of a file, as a frame that other processes can map has them.
static unsigned char *make_frames(size_t size) {
  const int fd = memfd_create("frames", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)size) != 0) fail("memfd_create failed");
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pages == MAP_FAILED) fail("mmap failed");
  close(fd);
  return pages;
}

#endif

static void *sending(long i) {
  unsigned char *frame = frame_of(i);
  stamp(frame, (unsigned char)i);
  return ucp_tag_send_nbx(endpoint, frame, length, 1, &of_frames);
}

static void receive(long i) {
  finish(ucp_tag_recv_nbx(worker, frame_of(i), length, 1, ~(ucp_tag_t)0, &of_frames));
  if (!is_stamped(frame_of(i), (unsigned char)i)) fail("it is another frame");
}

// What the near process asks the far one for.
struct wish {
  enum { SEND, ECHO, WORKED } what;
  long count;
};

static void ask(int what, long count) {
  const struct wish wish = {what, count};
  say(&wish, sizeof wish);
}

static void be_far(void) {
  for (;;) {
    struct wish wish;
    hear(&wish, sizeof wish);
    void *flying[FRAMES] = {NULL};
    for (long i = 0; wish.what == SEND && i < wish.count; i++) {
      finish(flying[i % FRAMES]);
      flying[i % FRAMES] = sending(i);
    }
    for (int i = 0; i < FRAMES; i++) finish(flying[i]);
    for (long i = 0; wish.what == ECHO && i < wish.count; i++) {
      receive(i);
      finish(sending(i));
    }
    if (wish.what == WORKED) {
      const uint64_t spent = worked();
      say(&spent, sizeof spent);
    }
  }
}

static void get_frames(long count) {
  ask(SEND, count);
  for (long i = 0; i < count; i++) receive(i);
}

static void echo(long count) {
  ask(ECHO, count);
  for (long i = 0; i < count; i++) {
    finish(sending(i));
    receive(i);
  }
}

static uint64_t both_worked(void) {
  uint64_t far;
  ask(WORKED, 0);
  hear(&far, sizeof far);
  return worked() + far;
}

static void nothing(void) {}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s TRANSPORTS BYTES\n", argv[0]);
    return 2;
  }
  settle_environment(argv);
  length = (size_t)atol(argv[2]);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) fail("socketpair failed");
  const int is_far = fork() == 0;
  other = sockets[is_far];
  close(sockets[!is_far]);
  frames = make_frames(FRAMES * length);
  open_ucx(argv[1]);
  if (is_far) be_far();
  static const struct operation OPERATIONS[] = {
    {"frames", nothing, get_frames},
    {"echo", nothing, echo},
    {"cpu", nothing, get_frames, .clock = both_worked},
  };
  return answer(OPERATIONS, sizeof OPERATIONS / sizeof *OPERATIONS);
}
