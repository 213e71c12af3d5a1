import { type Mapper, mapperIn } from "./mapper.ts";

/** One mapper of a graph. */
export interface Edge {
  /** Who takes it. */
  readonly mapper: Mapper;
  /** The kind it leads to. */
  readonly to: string;
  /** Its place in the graph's table, which decides where all else is equal. */
  readonly place: number;
}

const NONE: readonly Edge[] = [];

/** The mappers of a graph, by the kinds of memory that they lead from; each is asked for its ends once. */
export class Edges {
  readonly #from = new Map<string, Edge[]>();

  /** Of a table of mappers. @throws {ArgumentError} where one is none. */
  constructor(mappers: readonly Mapper[]) {
    mappers.forEach((given, place) => {
      const mapper = mapperIn(given, `mappers[${place}]`);
      const { from, to } = mapper;
      const edges = this.#from.get(from);
      if (edges === undefined) this.#from.set(from, [{ mapper, to, place }]);
      else edges.push({ mapper, to, place });
    });
  }

  /** Those that lead from a kind, in the order of the table. */
  from(kind: string): readonly Edge[] {
    return this.#from.get(kind) ?? NONE;
  }

  /** The kinds that some edge leads from to this one. */
  waysTo(kind: string): string[] {
    return [...this.#from].filter(([, edges]) => edges.some(({ to }) => to === kind)).map(([from]) => from);
  }
}
