/**
 * Memory of the GPU in two processes at once: a Python program opens it by its CUDA IPC handle, with CuPy or torch, sees
 * the bytes that we have written, changes them, and we see that; then we write others, and it sees those. No bytes are
 * sent.
 *
 * Run it as `deno run -A examples/cuda-ipc/main.ts`.
 *
 * @module
 */
import type { CudaContext } from "@samepage/interop/cuda";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { print } from "../edges/report.ts";
import { Peer } from "./peer.ts";

/** CUDA IPC shares whole pages of 2 MiB: memory that takes less would share what lies beside it too. */
const BYTES = 2 ** 21;

await onGpu(async (cuda) => {
  const started = await Peer.start();
  if (typeof started === "string") return print("peer", `none. ${started}`);
  await using peer = started;
  print("peer", `${peer.name}, in process ${peer.pid}; this is process ${Deno.pid}`);
  await share(cuda, peer);
});

async function share(cuda: CudaContext, peer: Peer): Promise<void> {
  using memory = cuda.allocate({ shape: [BYTES], dtype: "u8" });
  const { handle, byteOffset: offset, byteLength: allocation } = cuda.exportMemory(memory);
  print("handle", `${handle.length} bytes, of an allocation of ${allocation} bytes, of which ours begin at ${offset}`);

  const ours = pattern(1);
  cuda.stream.write(memory, ours);
  await peer.ask({ do: "open", handle: handle.toHex(), allocation, offset, length: BYTES });
  print("there", says(await sees(peer, ours), "it sees what we have written", "it sees other bytes"));

  await peer.ask({ do: "change" });
  const theirs = new Uint8Array(BYTES);
  cuda.stream.read(memory, theirs);
  const changed = theirs.every((byte, i) => byte === 255 - ours[i]);
  print("here", says(changed, "we see what it has changed, every byte", "we see other bytes"));

  const others = pattern(2);
  cuda.stream.write(memory, others);
  print("there", says(await sees(peer, others), "it sees what we have written since", "it sees other bytes"));
  await peer.ask({ do: "close" });
}

/** Does the other process see these bytes? */
async function sees(peer: Peer, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const { sha256 } = await peer.ask({ do: "see" });
  return sha256 === new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

function pattern(seed: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(BYTES).map((_, i) => Math.imul(i + seed, 2654435761) >>> 24);
}
