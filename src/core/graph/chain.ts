import { object, shown } from "../argument.ts";
import type { Target } from "./context.ts";
import { ArgumentError, type Refusal, throwAll } from "../errors.ts";
import type { Fence } from "../device/fence.ts";
import { disposed, takeNextStep } from "./graph.ts";
import type { Mapped } from "../tensors/mapped.ts";
import type { Described } from "../tensors/described.ts";
import { ask, edgeOf, isStep, make, type MapJob, type Mapper, mapperIn, type ProbedStep } from "./mapper.ts";
import type { Access } from "../memory/access.ts";
import { sumOf } from "./route.ts";

/** One mapper of a chain, and its target; the last one leads to the target of the map. */
export type ChainEdge = readonly [mapper: Mapper, target: Target] | Mapper;

/**
 * Makes one mapper of several, taken in this order. (`graph.map` searches for a route instead.)
 *
 * If an edge names no target, the contexts of the chain's source and target are searched for one.
 *
 * @throws {ArgumentError} if an edge does not begin where the one before it ends, or leads elsewhere.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 * import { chain, portMapper } from "@samepage/interop/backend";
 * import { hostToOpenCL } from "@samepage/interop/opencl";
 *
 * const roundTrip = chain(hostToOpenCL, portMapper("opencl", "host"));
 * console.log(roundTrip.from, roundTrip.to); // host host
 * ```
 */
export function chain(...edges: readonly ChainEdge[]): Mapper {
  const mappers = edges.map(mapperOf);
  if (mappers.length === 0) {
    throw new ArgumentError("edges: a chain needs at least one mapper.", { api: "core", argument: "edges" });
  }
  for (let i = 1; i < mappers.length; i++) {
    if (mappers[i].from !== mappers[i - 1].to) {
      throw new ArgumentError(
        `edges[${i}]: ${edgeOf(mappers[i])} cannot follow ${edgeOf(mappers[i - 1])}.`,
        { api: "core", argument: `edges[${i}]` },
      );
    }
  }
  return new Chain(edges, mappers);
}

function isPair(edge: ChainEdge): edge is readonly [Mapper, Target] {
  return Array.isArray(edge);
}

function mapperOf(edge: ChainEdge, i: number): Mapper {
  const argument = `edges[${i}]`;
  const mapper = mapperIn(isPair(edge) ? edge[0] : edge, argument);
  if (isPair(edge) && object(edge[1], argument).kind !== mapper.to) {
    throw new ArgumentError(`${argument}: ${edgeOf(mapper)} does not lead to ${shown(edge[1].kind)}.`, {
      api: "core",
      argument,
    });
  }
  return mapper;
}

interface ChainStep extends ProbedStep {
  readonly first: ProbedStep;
}

class Chain implements Mapper<Mapped, Mapped, ChainStep> {
  readonly from: string;
  readonly to: string;
  readonly takesParts: boolean;
  readonly #edges: readonly ChainEdge[];
  readonly #mappers: readonly Mapper[];

  constructor(edges: readonly ChainEdge[], mappers: readonly Mapper[]) {
    this.#edges = edges;
    this.#mappers = mappers;
    this.from = mappers[0].from;
    this.to = mappers[mappers.length - 1].to;
    this.takesParts = mappers[0].takesParts ?? false;
  }

  byPlane(source: Described, target: Target): boolean {
    const first = this.#target(0, source.target, target);
    return first !== undefined && this.#mappers[0].byPlane?.(source, first) === true;
  }

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ChainStep | Refusal {
    const edge = [this.from, ...this.#mappers.map((mapper) => mapper.to)].join("→");
    const steps: ProbedStep[] = [];
    let at = source;
    for (let i = 0; i < this.#mappers.length; i++) {
      const mapper = this.#mappers[i];
      const next = this.#target(i, source.target, target);
      if (next === undefined) {
        return { edge, reason: `neither end has a ${mapper.to} for edge ${i}.`, remedy: "Name it: [mapper, target]." };
      }
      const probed = ask(mapper, at, next, access, steps.some((step) => step.hostWait) ? [] : waits);
      if (!isStep(probed)) return probed;
      steps.push(probed);
      at = probed.result;
    }
    return { edge, ...sumOf(steps), result: at, first: steps[0] };
  }

  map(source: Mapped, target: Target, job: MapJob<ChainStep>): Mapped {
    const access = job.grants[0].access;
    const step = job.step.first;
    let at = make(this.#mappers[0], source, this.#target(0, source.target, target)!, { ...job, step });
    try {
      for (let i = 1; i < this.#mappers.length; i++) {
        at = takeNextStep(this.#mappers[i], at, this.#target(i, source.target, target)!, access, true).mapped;
      }
      return at;
    } catch (error) {
      throwAll([error, ...disposed(at)], `mapping ${source.name}`);
      throw error;
    }
  }

  #target(index: number, source: Target, target: Target): Target | undefined {
    const edge = this.#edges[index];
    if (isPair(edge)) return edge[1];
    if (index === this.#edges.length - 1) return target;
    return [...target.context.targets, ...source.context.targets].find((t) => t.kind === edge.to);
  }
}
