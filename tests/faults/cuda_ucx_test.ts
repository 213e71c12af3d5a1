/** Every native call for a GPU's memory over UCX fails once. */
import { BYTES, swept, test as onGpu } from "./cuda.ts"; // first: it taps the libraries
import { imageInfo } from "../../mod.ts";
import type { CudaContext } from "../../src/cuda/mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { missingCuda } from "../ucx/cuda_help.ts";
import { freshPath, unix } from "../ucx/ring_help.ts";

const test = (name: string, run: (cuda: CudaContext) => unknown) => onGpu(name, run, 1, missingCuda);

const TRANSPORTS = { transports: ["tcp", "cuda_copy"] } as const;

test("a share of a device's memory, and commands on it", async (cuda) => {
  await swept(
    () => {
      using ucx = UcxContext.open(TRANSPORTS);
      using there = cuda.allocate(BYTES);
      using share = ucx.share([there], { access: "read-write" });
      using here = cuda.allocate(BYTES); // its end throws the error of a command that failed on it
      using remote = ucx.connect(share.ticket);
      cuda.stream.fill(here, 1);
      remote.tensors[0].put(here).waitSync();
      remote.tensors[0].get(here).waitSync();
      cuda.stream.fill(here, 2);
    },
    ["ucx.ucp_context_query", "ucx.ucp_mem_map", "ucx.ucp_get_nbx", "ucx.ucp_put_nbx"],
    () => cuda.stream.finish(),
  );
});

test("a ring of a device's frames", async (cuda) => {
  const info = imageInfo({ format: "NV12", width: 64, height: 16 });
  await swept(
    async () => {
      await using ucx = UcxContext.open(TRANSPORTS);
      const rings = ucx.rings({ ...unix(), timeout: 1_000 });
      const path = freshPath();
      using made = new DisposableStack();
      const frames = [made.use(cuda.allocateFrame(info)), made.use(cuda.allocateFrame(info))];
      await using ring = rings.create(path, { frames });
      made.move();
      await using reader = await rings.open(path, { contexts: [cuda] });
      const signal = AbortSignal.timeout(20_000);
      await ring.joined({ signal });
      const frame = await ring.next({ signal });
      cuda.stream.fill(frame.planes[0], 7);
      await ring.publish(frame);
      (await reader.next({ signal }))?.[Symbol.dispose]();
      await ring.flush({ signal });
    },
    ["ucx.ucp_mem_map", "cudart.cudaMalloc"],
    () => cuda.stream.finish(),
  );
});
