/**
 * The other process of the tests with CUDA's memory. `cuda_side.ts share TRANSPORTS BYTES KIND` shares some: it prints the
 * ticket, then the first byte of its tensor for each line that it reads. `cuda_side.ts write|read TRANSPORTS ADDRESS host|cuda
 * WIDTH COUNT` is a side of a ring.
 *
 * @module
 */
import { imageInfo } from "../../mod.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { bytesOf, KINDS, pattern, read, type Where, write } from "./cuda_help.ts";
import { unix } from "./ring_help.ts";

const [what, transports, ...rest] = Deno.args;
await using ucx = UcxContext.open({ transports: transports.split(",") });
if (what === "share") {
  await using cuda = CudaContext.open();
  await using tensor = KINDS[rest[1]](cuda, { shape: [Number(rest[0])], dtype: "u8" });
  cuda.stream.write(tensor, pattern(tensor.byteLength));
  await using share = ucx.share([tensor], { access: "read-write" });
  console.log(share.ticket.toBase64());
  for await (const _ of Deno.stdin.readable) console.log(bytesOf(tensor, cuda)[0]);
} else {
  const [address, where, width, count] = rest;
  const rings = ucx.rings(unix());
  const info = imageInfo({ format: "NV12", width: Number(width), height: 64 });
  if (what === "write") await write(rings, address, where as Where, info, Number(count));
  else console.log(await read(rings, address, where as Where));
}
