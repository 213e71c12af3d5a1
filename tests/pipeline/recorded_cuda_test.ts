// Pipelines over a recording of CUDA: in which memory frames lie between kernels, and what each launch is given.
import { assertEquals } from "@std/assert";
import { host, type HostTensor } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { kernel, type KernelOptions, pipeline, Sink } from "@samepage/interop/pipeline";
import type { CudaKernelArgument, CudaTensor, GroupRange } from "../../src/cuda/mod.ts";
import { record, type Recording, unrecordable } from "../cuda/kernels/recording.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { numbered } from "./help.ts";

const [WIDTH, HEIGHT] = [640, 360];
const SOURCE = `extern "C" __global__ void twice(
  const unsigned char *from, int stride, unsigned char *to, int toStride, int w, int h, int plane) {}
  extern "C" __global__ void half(unsigned char *bytes, int stride, int w, int h) {}`;
const KERNELS = { twice: { sizes: [8, 4, 8, 4, 4, 4, 4] }, half: { sizes: [8, 4, 4, 4] } };

let recording: Recording | undefined;

function test(name: string, run: (cuda: CudaContext, recording: Recording) => Promise<void>): void {
  Deno.test({
    name: `pipeline: ${name}${unrecordable === undefined ? "" : ` (not here: ${unrecordable})`}`,
    ignore: unrecordable !== undefined,
    fn: withEmptyLedger(async () => {
      recording ??= record(KERNELS, { cudaHostRegister: () => 0, cudaHostUnregister: () => 0 });
      recording.launches.length = 0;
      await using cuda = CudaContext.open();
      // A recording runs no experiment. What a GPU would have to show is taken for shown.
      const shown = { aliases: true, evidence: "taken for proven" } as const;
      Object.assign(cuda.proofs, { prove: () => shown, tryToProve() {}, judge: () => shown });
      await run(cuda, recording);
    }),
  });
}

const seen = new Sink<HostTensor>({ name: "seen", takes: { memory: host }, write: () => {} });
const numbers = (values: readonly Uint8Array[]) =>
  values.filter(({ length }) => length === 4).map((bytes) => new Int32Array(bytes.buffer)[0]);

type Options = KernelOptions<CudaTensor, GroupRange, CudaKernelArgument>;

test(
  "what a kernel writes for another stays on the GPU, and for the host it is the host's",
  async (cuda, { launches }) => {
    using program = cuda.program(SOURCE);
    using twice = program.kernel("twice", ["const unsigned char*", "int", "unsigned char*", ...Array(4).fill("int")]);
    using half = program.kernel("half", ["unsigned char*", "int", "int", "int"]);
    const gives: Options = { gives: (info) => info };
    const source = numbered(3, "NV12", { width: WIDTH, height: HEIGHT });
    await using whole = pipeline(source, kernel(twice, gives), kernel(half), kernel(twice, gives), seen);
    const plan = await whole.explain();
    assertEquals(plan.handOvers.map(({ gives }) => gives?.memory.split(" ")[0]), [
      undefined,
      "cuda",
      undefined,
      "host",
      undefined,
    ]);
    assertEquals(plan.bytesMoved, 0);
    assertEquals((await whole.run()).bytesMoved, 0);
    assertEquals(launches.length, 3 * 3 * 2); // planes of each frame, by each kernel
    const [luma, chroma] = launches;
    assertEquals(numbers(luma.values), [WIDTH, WIDTH, WIDTH, HEIGHT, 0]);
    assertEquals(numbers(chroma.values), [WIDTH, WIDTH, WIDTH / 2, HEIGHT / 2, 1]);
    const { gridDimX, gridDimY, blockDimX, blockDimY } = luma.config;
    assertEquals([gridDimX, gridDimY, blockDimX, blockDimY], [20, 45, 32, 8]);
  },
);

test("what a kernel writes for a stage of the program's own is the host's", async (cuda) => {
  using program = cuda.program(SOURCE);
  using twice = program.kernel("twice", ["const unsigned char*", "int", "unsigned char*", ...Array(4).fill("int")]);
  for await (using frame of pipeline(numbered(2), kernel(twice, { gives: (info) => info }))) {
    assertEquals(frame.target, host);
  }
});
