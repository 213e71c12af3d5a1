// A driver that is made up, and its images: several objects, planes at their own places. Their memory is real memfds.

import { NULL } from "../../ffi/address.ts";
import { ImagePort, Port } from "../../src/core/device/port.ts";
import type { Images, Memory, MemoryTarget } from "../../src/core/contract.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { Graph } from "../../src/core/graph/graph.ts";
import { portMappers } from "../../src/core/graph/port_mapper.ts";
import { type ImageInfo, imageInfo, planeLayouts } from "../../src/core/layout/frame_info.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { type Undo, unwind } from "../../src/core/life/undo.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { own } from "../../src/core/memory/own.ts";
import { closeFd, duplicateFd, statusOf } from "../../src/core/native/fd.ts";
import { createMemfd } from "../../src/core/native/memfd.ts";
import { mapPages, unmapPages } from "../../src/core/native/blocks.ts";
import { Described } from "../../src/core/tensors/described.ts";
import { Frame, planesOf } from "../../src/core/tensors/frame.ts";
import { tensorOver } from "../../src/core/tensors/over.ts";
import { type Part, Tensor } from "../../src/core/tensors/tensor.ts";
import { host } from "../../src/host/mod.ts";

export const INFO: ImageInfo = imageInfo({ format: "NV12", width: 8, height: 4 });
export const SIZE = 16384;
/** Rows and planes as a driver puts them. */
export const STRIDE = 64;
export const TILED = 0x0100_0000_0000_0002n;

/** An image of the driver's: objects, and where its planes lie. */
export interface Surface {
  readonly fds: readonly number[];
  readonly planes: ImagePort["planes"];
  readonly modifier: bigint;
}

/** An object of memory that the CPU sees. */
export interface Mapping {
  readonly address: bigint;
  readonly fd: number;
}

/** A tensor over either. */
export class Made<H> extends Tensor<H> {
  protected override derive(part: Part): Made<H> {
    return super.derive(part) as Made<H>;
  }
  protected override describe(): Described {
    const { layout, grant: { allocation, start } } = this;
    const { address } = this.rawHandle as Partial<Mapping>;
    const plane = { layout, allocation, start };
    return new Described(this.target, this.access, [
      address === undefined ? plane : { ...plane, address: address + BigInt(layout.byteOffset) },
    ]);
  }
}

/** What a test may change about the drivers. */
interface Behaviour {
  readonly planes?: ImagePort["planes"];
  readonly objects?: number;
  readonly modifier?: bigint;
  readonly failsAt?: number;
}

export function contextOf<H>(kind: string, ports: Omit<Memory<Made<H>, H>, "imports">) {
  const resource = new Resource({ name: `a context of ${kind}` });
  const targets: Target[] = [];
  const context: Context = {
    api: kind,
    name: kind,
    id: {},
    resource,
    targets,
    [Symbol.dispose]: () => resource.dispose(),
  };
  const tensor: Memory<Made<H>, H>["tensor"] = (init) => new Made(init);
  const is = (_value: unknown): _value is Made<H> => true;
  const target: MemoryTarget<Made<H>> = { kind, context, is, ports: { imports: [], tensor, ...ports } };
  targets.push(target);
  return { context, target };
}

export const PLANES = [{ object: 0, offset: 0, stride: STRIDE }, { object: 1, offset: 4096, stride: STRIDE }];

/** Opaque surfaces that are exported and imported, and blocks of memory that the host maps. */
export function drivers({ planes = PLANES, objects = 2, modifier = 0n, failsAt = -1 }: Behaviour = {}) {
  const imported: Surface[] = [];
  const surfaceImages: Images<Surface> = {
    exports: [{ kind: "dma-buf" }],
    imports: [{ kind: "dma-buf" }],
    refuse: ({ info }) => info?.type === "image" && info.width > 4096 ? { reason: "it is too wide." } : undefined,
    export(source) {
      const [{ rawHandle: surface }] = planesOf(source) as readonly Made<Surface>[];
      const ports = surface.fds.map((fd) => new Port("dma-buf", { fd: duplicateFd(fd), byteLength: SIZE }));
      const { width, height } = INFO;
      return { port: new ImagePort("dma-buf", { ...surface, objects: ports, width, height }) };
    },
    import(port) {
      const fds = port.objects.map((object) => object.takeFd());
      const surface = { fds, planes: port.planes, modifier: port.modifier! };
      imported.push(surface);
      return { handles: port.planes.map(() => surface), release: () => fds.forEach(closeFd) };
    },
  };
  const blockImages: Images<Mapping> = {
    exports: [{ kind: "dma-buf" }],
    imports: [{ kind: "dma-buf" }],
    export(source) {
      const tensors = planesOf(source) as readonly Made<Mapping>[];
      const ports = tensors.map(({ rawHandle }) =>
        new Port("dma-buf", { fd: duplicateFd(rawHandle.fd), byteLength: SIZE })
      );
      const at = tensors.map(({ layout }, object) => ({
        object,
        offset: layout.byteOffset,
        stride: layout.strides[0],
      }));
      const { width, height } = INFO;
      const { modifier } = (source instanceof Frame ? source.info : INFO) as ImageInfo;
      return { port: new ImagePort("dma-buf", { objects: ports, planes: at, width, height, modifier }) };
    },
    import(port) {
      const undo: Undo = [];
      try {
        const mappings = port.objects.map((object, i) => {
          if (i === failsAt) throw new Error("no import");
          const fd = object.takeFd();
          undo.push(() => closeFd(fd));
          const address = mapPages(NULL, SIZE, fd);
          undo.push(() => unmapPages(address, SIZE));
          return { fd, address };
        });
        return {
          handles: port.planes.map(({ object }) => mappings[object]),
          blocks: mappings.map(({ fd, address }) => ({
            object: { kind: "dma-buf", handle: statusOf(fd).identity, byteLength: SIZE, start: 0 },
            release() {
              unmapPages(address, SIZE);
              closeFd(fd);
            },
          })),
        };
      } catch (error) {
        unwind(undo);
        throw error;
      }
    },
  };
  const surfaces = contextOf<Surface>("surfaces", { exports: [], images: surfaceImages });
  const blocks = contextOf<Mapping>("blocks", {
    exports: [{ kind: "host-pointer" }],
    images: blockImages,
    export: ({ rawHandle, layout }, kind, byteLength) => ({
      port: new Port(kind, { value: rawHandle.address + BigInt(layout.byteOffset), byteLength }),
    }),
  });
  const allocate = (info: ImageInfo = INFO): Frame => {
    const undo: Undo = [];
    const fds = Array.from({ length: objects }, () => createMemfd(SIZE, undo).fd);
    const surface = { fds, planes, modifier };
    const layouts = planeLayouts(info);
    const byteLength = layouts.reduce((sum, plane) => sum + plane.byteLength, 0);
    const allocation = new Allocation({ kind: "surface", byteLength, free: () => void unwind(undo) });
    const resource = own({ name: "a surface", allocation, owners: [surfaces.context.resource] });
    return tensorOver(surfaces.target, { handle: surface, layouts, resource, info }) as Frame;
  };
  const graph = new Graph([host, surfaces.context, blocks.context], portMappers);
  const end = () => [graph, surfaces.context, blocks.context].forEach((one) => one[Symbol.dispose]());
  return { surfaces: surfaces.target, blocks: blocks.target, allocate, graph, imported, [Symbol.dispose]: end };
}
