// NVDEC as far as FFmpeg uses it, in memory of the host's: FFmpeg loads it as libnvcuvid.so.1. It does not decode: the
// picture that is decoded as the nth has the luma n, and the chroma 128 + n.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SURFACES = 64, PITCH = 512, BLOCK = 1 << 20 };

typedef struct {
  unsigned long width, height, surfaces;
  int codec, chroma;
  unsigned long flags, more_bits, intra, max_width, max_height, reserved;
  int16_t area[4];
  int output, deinterlace;
  unsigned long target_width, target_height;
} CreateInfo;

typedef struct {
  int codec, chroma;
  unsigned more_bits, reserved[3];
  uint8_t supported, engines;
  uint16_t formats;
  unsigned max_width, max_height, max_blocks;
  uint16_t min_width, min_height;
} Caps;

typedef struct {
  unsigned long height, pitch;
  unsigned char decoded[SURFACES], next;
} Decoder;

static int decoders;
static int refused;

int nvdec_decoders(void) { return decoders; }

// From now on no stream is one that this device takes.
void nvdec_refuse(int yes) { refused = yes; }

int cuvidGetDecoderCaps(Caps *caps) {
  caps->supported = !refused;
  caps->formats = 0xffff;
  caps->max_width = caps->max_height = 8192;
  caps->max_blocks = 8192 * 8192 / 256;
  return 0;
}

int cuvidCreateDecoder(void **out, const CreateInfo *info) {
  Decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return 2;
  decoder->height = info->target_height;
  decoder->pitch = (info->target_width + PITCH - 1) / PITCH * PITCH;
  *out = decoder;
  decoders++;
  return 0;
}

int cuvidDestroyDecoder(void *decoder) {
  free(decoder);
  decoders--;
  return 0;
}

// PicWidthInMbs, FrameHeightInMbs, CurrPicIdx, …
int cuvidDecodePicture(Decoder *decoder, const int *picture) {
  if (picture[2] < 0 || picture[2] >= SURFACES) return 1;
  decoder->decoded[picture[2]] = decoder->next++;
  return 0;
}

int cuvidMapVideoFrame64(Decoder *decoder, int index, uint64_t *at, unsigned *pitch, void *how) {
  (void)how;
  const size_t luma = decoder->pitch * decoder->height;
  unsigned char *bytes = aligned_alloc(BLOCK, (luma * 3 / 2 + BLOCK - 1) & ~(size_t)(BLOCK - 1)); // as libcuda.c does
  if (bytes == NULL) return 2;
  memset(bytes, decoder->decoded[index], luma);
  memset(bytes + luma, 128 + decoder->decoded[index], luma / 2);
  *at = (uint64_t)(uintptr_t)bytes;
  *pitch = (unsigned)decoder->pitch;
  return 0;
}

int cuvidUnmapVideoFrame64(Decoder *decoder, uint64_t at) {
  (void)decoder;
  free((void *)(uintptr_t)at);
  return 0;
}

#define NOTHING(name) \
  int name(void) { return 0; }

NOTHING(cuvidGetDecodeStatus) NOTHING(cuvidReconfigureDecoder) NOTHING(cuvidCtxLockCreate) NOTHING(cuvidCtxLockDestroy)
NOTHING(cuvidCtxLock) NOTHING(cuvidCtxUnlock) NOTHING(cuvidCreateVideoSource) NOTHING(cuvidCreateVideoSourceW)
NOTHING(cuvidDestroyVideoSource) NOTHING(cuvidSetVideoSourceState) NOTHING(cuvidGetVideoSourceState)
NOTHING(cuvidGetSourceVideoFormat) NOTHING(cuvidGetSourceAudioFormat) NOTHING(cuvidCreateVideoParser)
NOTHING(cuvidParseVideoData) NOTHING(cuvidDestroyVideoParser)
