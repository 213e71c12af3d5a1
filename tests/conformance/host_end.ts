import type { MapperGraph } from "../../mod.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { oddMemory } from "../cuda/odd_memory.ts";
import { close, memfd } from "../channel/raw.ts";
import type { AttachOptions } from "../../src/core/tensors/adopt.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { bytesAt, separateFrame } from "./bytes.ts";
import { SIZE } from "./case.ts";
import type { End, Foreign } from "./subject.ts";

/** The CPU's end of an edge. */
export const hostEnd: End = {
  target: host,
  allocate: (init) => host.allocate(init),
  allocateFrame: (info) => host.allocateFrame(info),
  foreign: () => memfdFor((fd, length, options) => host.attach(fd, { shape: [length], dtype: "u8" }, options)),
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

/** How memory without commands is written and read: by a map to the host. */
export function byHost(graph: MapperGraph): Pick<End, "write" | "read"> {
  return {
    // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
    async write(tensor, bytes) {
      using mapped = graph.map(tensor, host, { access: "write" }) as HostTensor;
      mapped.bytes().set(bytes);
    },
    // deno-lint-ignore require-await
    async read(tensor) {
      using mapped = graph.map(tensor, host, { access: "read" }) as HostTensor;
      return mapped.bytes().slice();
    },
  };
}

/** The same, in memory at odd addresses that samepage has not allocated. */
export const oddHostEnd: End = {
  ...hostEnd,
  allocate: oddMemory,
  allocateFrame: (info) => separateFrame(oddMemory, info),
};

/** A memfd of the test's own, for an API that attaches to files. */
export function memfdFor(attach: (fd: number, byteLength: number, options?: AttachOptions) => Tensor): Foreign {
  const fd = memfd(SIZE);
  return {
    attach: (options) => attach(fd, SIZE, options),
    misfit: (options) => attach(fd, SIZE + 1, options),
    [Symbol.dispose]: () => close(fd),
  };
}

function look(tensor: HostTensor): Uint8Array {
  return bytesAt(tensor.address, tensor.layout.byteLength);
}
