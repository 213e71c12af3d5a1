/** Scratch entry. @module */
export * from "./src/host/mod.ts";
export * from "./src/core/graph.ts";
