import { type Mapper, mapperIn } from "./mapper.ts";

export interface Edge {
  readonly mapper: Mapper;
  readonly to: string;
  /** Its place in the graph's table, which decides between equal costs. */
  readonly place: number;
}

const NONE: readonly Edge[] = [];

export class Edges {
  readonly #from = new Map<string, Edge[]>();

  constructor(mappers: readonly Mapper[]) {
    mappers.forEach((given, place) => {
      const mapper = mapperIn(given, `mappers[${place}]`);
      const { from, to } = mapper;
      const edges = this.#from.get(from);
      if (edges === undefined) this.#from.set(from, [{ mapper, to, place }]);
      else edges.push({ mapper, to, place });
    });
  }

  from(kind: string): readonly Edge[] {
    return this.#from.get(kind) ?? NONE;
  }

  /** The kinds with an edge to this one. */
  waysTo(kind: string): string[] {
    return [...this.#from].filter(([, edges]) => edges.some(({ to }) => to === kind)).map(([from]) => from);
  }
}
