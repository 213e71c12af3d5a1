/**
 * Edges by mapping: what the CPU and the device both look at is host memory, mapped to OpenCL and unmapped by the end of
 * a scope. Nothing is sent and nothing fetched.
 *
 * @module
 */

import { host, type HostTensor, MapperGraph, type Route } from "@samepage/interop";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import type { EdgeKernels, Lap, Size } from "./opencl.ts";

/** How the bytes of one run came to the device and back. */
export interface Passage {
  /** The route that each piece of memory took, by its name. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Bytes that the driver moved behind the scenes: 0 where every route is an alias. */
  readonly bytesMoved: number;
  /** How often hysteresis was launched. */
  readonly launches: number;
}

/** Finds edges where the photograph lies. */
export class ByMapping implements Disposable {
  /** One byte a pixel, row by row: after a run, 255 on an edge and 0 elsewhere. */
  readonly edges: HostTensor<"u8">;
  readonly #cl: OpenCLContext;
  readonly #kernels: EdgeKernels;
  readonly #graph: MapperGraph;
  readonly #size: Size;
  readonly #pixels: HostTensor;
  readonly #changed: HostTensor<"i32">;
  /** The CPU never looks at this plane, so it is the driver's own memory, where the driver likes it. */
  readonly #scratch: OpenCLTensor;

  /** `pixels` is the photograph in host memory, [height, width, 4] u8; it stays yours. */
  constructor(cl: OpenCLContext, kernels: EdgeKernels, pixels: HostTensor) {
    const [height, width] = pixels.layout.shape;
    this.#cl = cl;
    this.#kernels = kernels;
    this.#graph = new MapperGraph([host, cl]);
    this.#size = { width, height };
    this.#pixels = pixels;
    this.edges = host.allocate({ shape: [height, width], dtype: "u8" });
    this.#changed = host.allocate({ shape: [1], dtype: "i32" });
    this.#scratch = cl.allocate({ shape: [height, width], dtype: "u16" });
  }

  /** From the photograph to {@linkcode edges}. */
  run(lap: Lap): Passage {
    const routes = new Map<string, Route>();
    let bytesMoved = 0;
    const map = (name: string, tensor: HostTensor, access: "read" | "read-write"): OpenCLTensor => {
      const mapped = this.#graph.map(tensor, this.#cl, { access });
      routes.set(name, mapped.route);
      bytesMoved += mapped.route.bytesMoved;
      return mapped;
    };
    const spread = (launch: (changed: OpenCLTensor) => void): boolean => {
      this.#changed.view()[0] = 0;
      {
        using changed = map("changed", this.#changed, "read-write");
        launch(changed);
      } // unmapped: the kernel is done, and the CPU may look
      return this.#changed.view()[0] !== 0;
    };

    let launches: number;
    {
      using rgba = map("pixels", this.#pixels, "read");
      using edges = map("edges", this.edges, "read-write");
      lap("to the device");
      launches = this.#kernels.run({ rgba, edges, scratch: this.#scratch }, this.#size, spread, lap);
    }
    lap("to the host");
    return { routes, bytesMoved, launches };
  }

  /** Gives back what it allocated. */
  [Symbol.dispose](): void {
    this.#graph[Symbol.dispose]();
    this.#scratch[Symbol.dispose]();
    this.#changed[Symbol.dispose]();
    this.edges[Symbol.dispose]();
  }
}
