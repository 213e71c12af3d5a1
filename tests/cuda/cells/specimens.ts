import { host, MapperGraph } from "../../../mod.ts";
import type { HostTensor } from "../../../src/host/tensor.ts";
import { Port } from "../../../src/core/device/port.ts";
import { layout } from "../../../src/core/layout/layout.ts";
import { importAs } from "../../../src/core/tensors/over.ts";
import { type Undo, unwind } from "../../../src/core/life/undo.ts";
import { throwAll } from "../../../src/core/errors.ts";
import { type CudaArray, CudaContext, type CudaRegistration, type CudaTensor } from "../../../src/cuda/mod.ts";
import { assertAllowed } from "../../../src/cuda/memory/rules.ts";
import type { CudaRuleKind } from "../../../src/cuda/memory/rules/rule.ts";
import { exported } from "./exporter.ts";

/** Rows, columns, and all bytes of what the cells work on: whole pages. */
const HEIGHT = 64;
export const WIDTH = 128;
export const BYTES = HEIGHT * WIDTH;

const PLAIN = { shape: [HEIGHT, WIDTH], dtype: "u8" } as const;

/** One piece of memory of a kind. */
export class Specimen implements AsyncDisposable {
  readonly kind: CudaRuleKind;
  readonly cuda: CudaContext;
  readonly undo: Undo = [];
  readonly graph: MapperGraph;
  /** What kernels are passed, where the memory is CUDA's own. */
  tensor: CudaTensor | undefined;
  /** The host's own memory. */
  hosts: HostTensor | undefined;
  registration: CudaRegistration | undefined;
  array: CudaArray | undefined;

  constructor(kind: CudaRuleKind, cuda: CudaContext) {
    this.kind = kind;
    this.cuda = cuda;
    this.graph = new MapperGraph([host, cuda]);
    this.undo.push(() => this.graph[Symbol.dispose]());
  }

  /** Something that ends with it. */
  keep<T extends Disposable>(owned: T): T {
    this.undo.push(() => owned[Symbol.dispose]());
    return owned;
  }

  /** Its bytes as a tensor of CUDA's. */
  onDevice<R>(use: (tensor: CudaTensor) => R): R {
    if (this.tensor !== undefined) return use(this.tensor);
    assertAllowed(this.kind, "kernel-write", this.cuda.device);
    using mapped = this.graph.map(this.hosts!, this.cuda) as CudaTensor;
    return use(mapped);
  }

  /** Its bytes as the CPU sees them. */
  onHost<R>(use: (bytes: Uint8Array) => R): R {
    if (this.hosts !== undefined) return use(this.hosts.view() as Uint8Array);
    using mapped = this.graph.map(this.tensor!, host) as HostTensor;
    return use(mapped.view() as Uint8Array);
  }

  /** A piece of device memory as large, to compare with. */
  scratch(): CudaTensor {
    return this.cuda.allocate(PLAIN);
  }

  /** Ends it now. */
  end(): void {
    throwAll(unwind(this.undo), `ending ${this.kind} memory`);
  }

  // deno-lint-ignore require-await
  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }
}

/** How each kind is made; what it needs beside a GPU. `other` is a second device's context, where there is one. */
export const SPECIMENS: {
  readonly [K in CudaRuleKind]: {
    readonly gpus?: number;
    readonly make: (specimen: Specimen, other: CudaContext | undefined) => unknown;
  };
} = {
  device: { make: (s) => s.tensor = s.keep(s.cuda.allocate(PLAIN)) },
  pinned: { make: (s) => s.tensor = s.keep(s.cuda.pinned.allocate(PLAIN)) },
  managed: { make: (s) => s.tensor = s.keep(s.cuda.managed.allocate(PLAIN)) },
  pageable: { make: (s) => s.hosts = s.keep(host.allocate(PLAIN)) },
  registered: {
    make(s) {
      s.hosts = s.keep(host.allocate(PLAIN));
      s.registration = s.keep(s.cuda.register(s.hosts));
    },
  },
  virtual: {
    make(s, other) {
      const { virtual } = s.cuda;
      s.tensor = s.keep(virtual.allocate({ ...PLAIN, location: "host", devices: other === undefined ? [] : [other] }));
    },
  },
  imported: {
    async make(s) {
      const { bytes, end } = await exported(s.cuda.device.ordinal, PLAIN.shape);
      s.undo.push(end);
      s.tensor = s.keep(s.cuda.openMemory(bytes));
    },
  },
  external: {
    make(s) {
      const memory = s.keep(s.cuda.virtual.allocate(PLAIN));
      const byteLength = memory.grant.allocation.block.byteLength;
      const port = new Port("opaque-fd", { fd: s.cuda.virtual.exportFd(memory), byteLength });
      const received = { layouts: [layout(PLAIN)], access: "read-write" } as const;
      s.tensor = s.keep(importAs(s.cuda, port, received) as CudaTensor);
    },
  },
  peer: {
    gpus: 2,
    make(s, other) {
      const owner = other ?? s.keep(CudaContext.open({ ordinal: 1 }));
      const graph = s.keep(new MapperGraph([owner, s.cuda]));
      s.tensor = s.keep(graph.map(s.keep(owner.allocate(PLAIN)), s.cuda) as CudaTensor);
    },
  },
  array: { make: (s) => s.array = s.keep(s.cuda.array({ width: WIDTH, height: HEIGHT, dtype: "u8" })) },
};
