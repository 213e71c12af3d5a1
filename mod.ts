/**
 * Zero-copy memory interop: one block of memory, seen by every API without moving a byte.
 *
 * @module
 */
import type { Context } from "./src/core/graph/context.ts";
import { Graph } from "./src/core/graph/graph.ts";
import type { Mapper } from "./src/core/graph/mapper.ts";
import { edgesOf } from "./src/core/graph/port_mapper.ts";
import { MAPPERS } from "./src/mappers/mod.ts";

export * from "./src/core/mod.ts";
export * from "./src/host/mod.ts";

/**
 * Contexts and every edge between them that samepage knows.
 *
 * @example
 * ```ts
 * import { host, MapperGraph } from "@samepage/interop";
 *
 * using graph = new MapperGraph([host]);
 * using tensor = host.allocate({ shape: [16], dtype: "u8" });
 * using again = graph.map(tensor, host, { access: "read" });
 * console.log(again.view().length); // 16
 * ```
 */
export class MapperGraph extends Graph {
  /**
   * A graph over these contexts, which stay yours. Its edges are those that the contexts bring, and one wherever a kind of
   * memory imports what another exports; `mappers` puts others in their place.
   */
  constructor(contexts: Iterable<Context>, mappers?: Iterable<Mapper>) {
    super(contexts, mappers ?? ((all) => edgesOf(all, MAPPERS)));
  }
}
