import type { CudaContext } from "../../../src/cuda/mod.ts";

/** The kernels that the cells use: over bytes, one thread a byte. */
export const KERNELS = `
extern "C" __global__ void copied(const unsigned char* from, unsigned char* to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
extern "C" __global__ void pattern(unsigned char* to, int n, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = (unsigned char)(31 * i + seed);
}
extern "C" __global__ void from_texture(unsigned long long texture, unsigned char* to, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = tex2D<unsigned char>((cudaTextureObject_t)texture, i % width + 0.5f, i / width + 0.5f);
}
extern "C" __global__ void halfway(unsigned long long texture, float* to) {
  to[0] = tex2D<float>((cudaTextureObject_t)texture, 1.0f, 0.5f);
}
extern "C" __global__ void to_surface(unsigned long long surface, int width, int n, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) surf2Dwrite<unsigned char>((unsigned char)(31 * i + seed), (cudaSurfaceObject_t)surface, i % width, i / width);
}
extern "C" __global__ void busy(unsigned char* to, long long cycles) {
  long long end = clock64() + cycles;
  while (clock64() < end) ;
  to[0] = 1;
}
`;

const DECLARED = {
  copied: ["const unsigned char*", "unsigned char*", "int"],
  pattern: ["unsigned char*", "int", "int"],
  from_texture: ["unsigned long long", "unsigned char*", "int", "int"],
  halfway: ["unsigned long long", "float*"],
  to_surface: ["unsigned long long", "int", "int", "int"],
  busy: ["unsigned char*", "long long"],
} as const;

/** Runs one of them on a context, over `n` threads, on the context's stream; returns. */
export function launch(
  cuda: CudaContext,
  name: keyof typeof DECLARED,
  n: number,
  args: Parameters<ReturnType<ReturnType<CudaContext["program"]>["kernel"]>["run"]>[1],
): void {
  using program = cuda.program(KERNELS);
  using kernel = program.kernel(name, DECLARED[name]);
  kernel.run({ groups: [Math.ceil(n / 256)], groupSize: [Math.min(n, 256)] }, args);
}

/** What `pattern` and `to_surface` write. */
export function patternOf(n: number, seed: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: n }, (_, i) => 31 * i + seed);
}
