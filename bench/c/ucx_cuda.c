// ucx.c with frames in a GPU's memory.
#define FRAMES_OF_CUDA
#include "ucx.c"
