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

/** The mappers of a graph, by the kinds of memory that they lead from and to, each asked for those once. */
export class Edges {
  readonly #from = new Map<string, Edge[]>();
  readonly #between = new Map<string, Map<string, Edge[]>>();

  /** Of a table of mappers. @throws {ArgumentError} where one is none. */
  constructor(mappers: readonly Mapper[]) {
    mappers.forEach((given, place) => {
      const mapper = mapperIn(given, `mappers[${place}]`);
      const { from, to } = mapper;
      const edge = { mapper, to, place };
      listIn(this.#from, from).push(edge);
      if (!this.#between.has(from)) this.#between.set(from, new Map());
      listIn(this.#between.get(from)!, to).push(edge);
    });
  }

  /** Those that lead from a kind, in the order of the table. */
  from(kind: string): readonly Edge[] {
    return this.#from.get(kind) ?? NONE;
  }

  /** Those that lead from one kind to another, in the order of the table. */
  between(from: string, to: string): readonly Edge[] {
    return this.#between.get(from)?.get(to) ?? NONE;
  }

  /** The kinds that some edge leads from to this one. */
  waysTo(kind: string): string[] {
    return [...this.#between].filter(([, ways]) => ways.has(kind)).map(([from]) => from);
  }
}

function listIn(lists: Map<string, Edge[]>, key: string): Edge[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, list = []);
  return list;
}
