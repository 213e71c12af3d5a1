// Frames whose planes go to OpenCV and OpenCL one by one, in random order, against a model that knows who may use which.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  type Access,
  Frame,
  host,
  type HostTensor,
  imageInfo,
  ledger,
  MapperGraph,
  NoRouteError,
  region,
  type Target,
  type Tensor,
} from "@samepage/interop";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { planeLayouts } from "../../src/core/layout/frame_info.ts";
import { Level, openFds } from "../gc.ts";
import { openPoCL, testUMat } from "../opencv/help.ts";

type Use = "read" | "read-write";

/** A frame, or one plane of it, and which planes of the picture those are. */
interface Node {
  readonly mapped: Frame | Tensor;
  readonly access: Use;
  readonly planes: readonly number[];
  readonly parent: Node | undefined;
  ended: boolean;
}

const CHAINS = 100;

const FORMATS = ["NV12", "I420", "GRAY8", "RGBA"] as const;

function numbers(seed: number): (count: number) => number {
  let state = seed >>> 0;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * count);
  };
}

function planesOf(mapped: Frame | Tensor): readonly HostTensor[] {
  return (mapped instanceof Frame ? mapped.planes : [mapped]) as readonly HostTensor[];
}

/** Visits the bytes of each row. */
function eachRow(plane: HostTensor, access: Use, visit: (row: Uint8Array, y: number) => void): void {
  const { shape: [height, ...rest], strides: [stride] } = plane.layout;
  const bytes = plane.bytes({ access }) as Uint8Array;
  const length = rest.reduce((product, count) => product * count, 1);
  for (let y = 0; y < height; y++) visit(bytes.subarray(y * stride, y * stride + length), y);
}

class Chain {
  readonly #below: (count: number) => number;
  readonly #graph: MapperGraph;
  readonly #targets: readonly Target[];
  readonly #cl: OpenCLContext;
  readonly #cv: OpenCVContext;
  readonly log: string[] = [];
  readonly #nodes: Node[] = [];
  #expected: Uint8Array[] = [];
  #value = 0;

  constructor(seed: number, graph: MapperGraph, cl: OpenCLContext, cv: OpenCVContext) {
    this.#below = numbers(seed * 7919);
    this.#graph = graph;
    this.#cl = cl;
    this.#cv = cv;
    this.#targets = [host, cl, cv.mat, cv.umat];
  }

  run(count: { maps: number; refused: number }): void {
    using made = new DisposableStack();
    const root = this.#root(made);
    for (let i = 0; i < 30; i++) {
      const live = this.#nodes.filter(({ ended }) => !ended);
      const node = this.#pick(live);
      switch (this.#pick(["map", "map", "map", "plane", "write", "read", "read", "end"] as const)) {
        case "map":
          this.#map(node, node.mapped, node.planes, count);
          break;
        case "plane": {
          const i = this.#below(node.planes.length);
          this.#map(node, planesOf(node.mapped)[i], [node.planes[i]], count);
          break;
        }
        case "write":
          this.#write(node);
          break;
        case "read":
          this.#read(node);
          break;
        case "end":
          if (node !== root) this.#end(node);
      }
    }
    for (const node of this.#nodes) if (node !== root && !node.ended && this.#below(2) === 0) this.#end(node);
    this.#end(root);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)];
  }

  #root(made: DisposableStack): Node {
    const format = this.#pick(FORMATS);
    const step = format === "NV12" || format === "I420" ? 2 : 1;
    const [width, height] = [step * (1 + this.#below(20)), step * (1 + this.#below(12))];
    const info = imageInfo({ format, width, height });
    const where = this.#pick(["one block", "several blocks", "crop", "mats", "svm"] as const);
    this.log.push(`${format} ${width} × ${height}, ${where}`);
    let frame: Frame;
    if (where === "one block") frame = host.allocateFrame(info, { rowAlign: this.#pick([1, 16, 64]) });
    else if (where === "crop") {
      const large = made.use(host.allocateFrame(imageInfo({ format, width: width + 8, height: height + 4 })));
      const [x, y] = [step * this.#below(4), step * this.#below(2)];
      const parts = planeLayouts(info).map(({ shape }, i) => {
        const plane = large.planes[i];
        const by = i === 0 ? 1 : 2;
        return plane.slice(region(plane.layout, [y / by, x / by, ...shape.slice(2).map(() => 0)], shape));
      });
      frame = Frame.of(parts, info);
    } else {
      const tensors = planeLayouts(info).map(({ shape }) => {
        const init = { shape, dtype: "u8" } as const;
        if (where === "svm") return this.#cl.svm.allocate(init);
        return where === "mats" ? this.#cv.mat.create(init) : host.allocate(init);
      });
      frame = Frame.of<Tensor>(tensors, info);
    }
    made.use(frame);
    const root: Node = {
      ...{ mapped: frame, access: "read-write", planes: frame.planes.map((_, i) => i) },
      ...{ parent: undefined, ended: false },
    };
    this.#nodes.push(root);
    this.#expected = frame.planes.map(({ shape }) => new Uint8Array(shape.reduce((product, n) => product * n, 1)));
    this.#write(root);
    return root;
  }

  #may(node: Node, access: Access, planes: readonly number[]): boolean {
    if (access !== "read" && node.access === "read") return false;
    return !this.#nodes.some((other) =>
      !other.ended && other.parent === node && other.planes.some((plane) => planes.includes(plane)) &&
      (access !== "read" || other.access !== "read")
    );
  }

  #map(node: Node, mapped: Frame | Tensor, planes: readonly number[], count: { maps: number; refused: number }): void {
    const target = this.#pick(this.#targets);
    const access = this.#pick(["read", "read-write"] as const);
    this.log.push(`map ${this.#nodes.indexOf(node)} planes ${planes} to ${target.kind} for ${access}`);
    if (!this.#may(node, access, planes)) {
      assertThrows(() => this.#graph.map(mapped, target, { access }));
      return;
    }
    try {
      const map = this.#graph.map(mapped, target, { access }) as Frame | Tensor;
      assertEquals(map.target.kind, target.kind);
      this.#nodes.push({ mapped: map, access, planes, parent: node, ended: false });
      count.maps++;
    } catch (error) {
      if (!(error instanceof NoRouteError)) throw error;
      this.log.push(`  ${error.message}`);
      count.refused++;
    }
  }

  #write(node: Node): void {
    if (!this.#may(node, "read-write", node.planes)) return;
    this.log.push(`write ${this.#nodes.indexOf(node)}`);
    const fill = (planes: readonly HostTensor[]) => {
      for (const [i, plane] of planes.entries()) {
        const seed = ++this.#value;
        const expected = this.#expected[node.planes[i]];
        for (let j = 0; j < expected.length; j++) expected[j] = seed * 31 + j * 7;
        eachRow(plane, "read-write", (row, y) => row.set(expected.subarray(y * row.length, (y + 1) * row.length)));
      }
    };
    this.#onHost(node, "read-write", fill);
  }

  #read(node: Node): void {
    if (!this.#may(node, "read", node.planes)) {
      assertThrows(() => this.#onHost(node, "read", (planes) => planes.forEach((plane) => plane.bytes())), Error);
      return;
    }
    this.log.push(`read ${this.#nodes.indexOf(node)}`);
    this.#onHost(node, "read", (planes) => {
      for (const [i, plane] of planes.entries()) {
        const expected = this.#expected[node.planes[i]];
        eachRow(plane, "read", (row, y) => {
          assertEquals(row, expected.subarray(y * row.length, (y + 1) * row.length), `plane ${i}, row ${y}`);
        });
      }
    });
  }

  #onHost({ mapped }: Node, access: Use, use: (planes: readonly HostTensor[]) => void): void {
    if (mapped.target.kind === "host") return use(planesOf(mapped));
    using seen = this.#graph.map(mapped, host, { access }) as Frame | Tensor;
    use(planesOf(seen));
  }

  #end(node: Node): void {
    this.log.push(`end ${this.#nodes.indexOf(node)}`);
    node.mapped[Symbol.dispose]();
    const end = (one: Node) => {
      one.ended = true;
      for (const child of this.#nodes) if (child.parent === one && !child.ended) end(child);
    };
    end(node);
    for (const { mapped, ended } of this.#nodes) assertEquals(mapped.resource.isLive, !ended);
  }
}

testUMat("frames keep every pixel through Mats, UMats and OpenCL, as a whole and plane by plane", async () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  {
    using tensor = host.allocate({ shape: [4, 4], dtype: "u8" });
    using buffer = graph.map(tensor, cl);
    using _umat = graph.map(buffer, cv.umat); // OpenCV's queue stays until the contexts end
  }
  const fds = new Level(openFds);
  const before = ledger.alive;
  const count = { maps: 0, refused: 0 };
  for (let seed = 1; seed <= CHAINS; seed++) {
    const chain = new Chain(seed, graph, cl, cv);
    try {
      chain.run(count);
      assertEquals(ledger.alive, before);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}\n${chain.log.join("\n")}`);
    }
  }
  assert(count.maps > CHAINS, `${count.maps} maps, ${count.refused} refused`);
  await fds.assertBack("open fds");
});
