import { host, type HostTensor } from "../../src/host/mod.ts";
import { oddMemory } from "../cuda/odd_memory.ts";
import { bytesAt, separateFrame } from "./bytes.ts";
import type { End } from "./subject.ts";

/** The CPU's end of an edge. */
export const hostEnd: End = {
  target: host,
  allocate: (init) => host.allocate(init),
  allocateFrame: (info) => host.allocateFrame(info),
  // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
  async write(tensor, bytes) {
    (tensor as HostTensor).bytes({ access: "write" }).set(bytes);
  },
  // deno-lint-ignore require-await
  async read(tensor) {
    return (tensor as HostTensor).bytes({ access: "read" }).slice();
  },
  raw: {
    write(tensor, bytes) {
      look(tensor as HostTensor).set(bytes);
      return () => Promise.resolve();
    },
    read: (tensor) => Promise.resolve(look(tensor as HostTensor).slice()),
    look: (tensor) => look(tensor as HostTensor),
  },
};

/** The same, in memory at odd addresses that samepage has not allocated. */
export const oddHostEnd: End = {
  ...hostEnd,
  allocate: oddMemory,
  allocateFrame: (info) => separateFrame(oddMemory, info),
};

function look(tensor: HostTensor): Uint8Array {
  return bytesAt(tensor.address, tensor.layout.byteLength);
}
