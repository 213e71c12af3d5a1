/** The key of a {@linkcode Branded} type. It exists for the type checker only. */
export declare const brand: unique symbol;

/** A 64-bit number that C calls `Name`: a plain `bigint` at run time, a type of its own to the type checker. */
export type Branded<Name extends string> = bigint & {
  /** What C calls it. */
  readonly [brand]: Name;
};
