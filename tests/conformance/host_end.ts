import { type Context, MapperGraph, type Target } from "../../mod.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { oddMemory } from "../cuda/odd_memory.ts";
import { close, memfd } from "../channel/raw.ts";
import type { AttachOptions } from "../../src/core/tensors/adopt.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import { bytesAt, separateFrame } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { PROBES } from "./opencv_variants.ts";
import type { End, Foreign, Subject } from "./subject.ts";

/** The bytes of memory that the CPU sees at an address. */
const raw: End["raw"] = {
  write(tensor, bytes) {
    look(tensor).set(bytes);
    return () => Promise.resolve();
  },
  read: (tensor) => Promise.resolve(look(tensor).slice()),
  look,
};

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
  raw,
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

/** Memory of a framework's that the CPU sees, and that has no commands: a map of the CPU's writes it. */
export function frameworkEnd(target: Framework, own: Pick<End, "allocate" | "allocateFrame" | "foreign">): End {
  return { target, ...own, ...byHost(new MapperGraph([host, target])), raw };
}

/** Such a framework's context. */
type Framework = Context & Target & Disposable;

/** An edge between the host and a framework, one way or the other. Its memory is used in place, and no call is made. */
export function withFramework<C extends Framework>(isFromHost: boolean, open: () => C, endOf: (of: C) => End): Subject {
  using made = new DisposableStack();
  const [framework, other] = [0, 1].map(() => made.use(open()));
  const graph = made.use(new MapperGraph([host, framework, other]));
  const end = endOf(framework);
  const kept = made.move();
  return {
    graph,
    source: isFromHost ? hostEnd : end,
    target: isFromHost ? end : hostEnd,
    ...(isFromHost ? { elsewhere: endOf(other) } : {}),
    expected: "alias",
    withoutCalls: true,
    silentAtAllocating: PROBES,
    silentAtAttaching: PROBES,
    openContext: open,
    [Symbol.dispose]: () => kept.dispose(),
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

function look(tensor: Tensor): Uint8Array {
  const { address, layout: { byteLength } } = tensor as HostTensor;
  return bytesAt(address, byteLength);
}
