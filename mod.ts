/**
 * Zero-copy memory interop: one block of memory, seen by every API without moving a byte.
 *
 * @module
 */
import type { Context } from "./src/core/context.ts";
import { MapperGraph as Graph } from "./src/core/graph.ts";
import type { Mapper } from "./src/core/mapper.ts";
import { MAPPERS } from "./src/mappers/mod.ts";

export * from "./src/core/mod.ts";
export * from "./src/host/mod.ts";
export * from "./src/mappers/mod.ts";

/** Contexts and the edges between them: finds the way from one memory to another, maps along it, explains it. */
export class MapperGraph extends Graph {
  /** A graph over these contexts, which stay yours; with every edge that samepage knows, unless told otherwise. */
  constructor(contexts: Iterable<Context>, mappers: Iterable<Mapper> = MAPPERS) {
    super(contexts, mappers);
  }
}
