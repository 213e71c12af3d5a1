import { Printed, withFacts } from "../printed.ts";
import type { Arrays, Memory, MemoryTarget, Natives } from "../contract.ts";
import type { DeviceId } from "../device/device_id.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import type { Frame } from "../tensors/frame.ts";
import type { Mapped } from "../tensors/mapped.ts";
import type { Kind, Resource } from "../life/resource.ts";
import type { Tensor } from "../tensors/tensor.ts";
import type { Mapper } from "./mapper.ts";

/** An open API on one device. */
export interface Context extends Disposable {
  /** The API's name: `"host"`, `"opencl"`. */
  readonly api: string;
  /** The device's name, for messages. */
  readonly name: string;
  /** Identifies the device. */
  readonly id: DeviceId;
  /** The kinds of memory that tensors can be mapped to here. */
  readonly targets: readonly Target[];
  /** Its end of life; everything in the context ends first. Undefined if the context never ends. */
  readonly resource: Resource | undefined;
  /**
   * Edges to and from its memory that no port makes. A graph with this context has them, unless it is given mappers of its
   * own. Where costs are equal, those of the context that comes first win.
   */
  readonly edges?: readonly Mapper[];
  /** Its pictures by native handles, for libraries that work in the same context. Left out where there are none. */
  readonly natives?: Natives;
  /** Its tensors by native handles, for libraries that name devices by numbers: DLPack. Left out where there are none. */
  readonly arrays?: Arrays;
  /** Counts bytes that a map copied on request. */
  countCopied?(bytes: number): void;
}

/** A node of the graph: one kind of memory in one context. A context with one main kind is that target itself. */
export interface Target<T extends Tensor = Tensor> {
  /** The kind's name, which edges use: `"opencl"`. */
  readonly kind: string;
  /** The context whose memory it is. */
  readonly context: Context;
  /** True for a tensor of this memory. `graph.map` takes its result type from it. */
  is(value: Mapped): value is T;
  /** Allocates bytes in it that other code fills, as a tensor. Left out where there is no such memory. */
  allocateBytes?(byteLength: number): T;
  /** Allocates a frame in it. Left out where there is no such memory, or the ports allocate it. */
  allocateFrame?(info: FrameInfo): Frame<T>;
}

/** True for a context that is a target, and for a kind of memory in a context. */
export function isTarget(given: unknown): given is Target {
  const { kind, context } = (given ?? {}) as Partial<Target>;
  return typeof kind === "string" && typeof context === "object" && context !== null;
}

export function portsOf(target: Target): Memory | undefined {
  return (target as Partial<MemoryTarget>).ports;
}

/** A target of a context that has several, in one line. For backends. */
export abstract class PrintedTarget<
  C extends Pick<Context, "api" | "name" | "resource"> = Pick<Context, "api" | "name" | "resource">,
> extends Printed {
  /** The kind of memory. */
  abstract readonly kind: string;
  /** The context whose memory it is. */
  readonly context: C;

  /** Made by the context. */
  constructor(context: C) {
    super();
    this.context = context;
  }

  /** Its kind, its device, and whether its context was disposed. */
  toString(): string {
    return withFacts(this.kind, [this.context.name, ...this.facts(), this.context.resource?.end]);
  }

  /** What {@link toString} says besides: the format of an image. */
  protected facts(): string[] {
    return [];
  }
}

/** A context that is always there, and is its own only target: memory of no device. For backends. */
export abstract class PermanentContext<T extends Tensor> extends Printed implements Context, Target<T> {
  /** The API's name. */
  readonly api: string;
  /** The kind of memory. */
  readonly kind: string;
  /** For messages. */
  readonly name: string;
  /** It is of no device. */
  readonly id: DeviceId = {};
  /** Itself. */
  readonly context: Context = this;
  /** Itself. */
  readonly targets: readonly Target[] = [this];
  /** It never ends. */
  readonly resource: undefined = undefined;

  /** API, context and memory have one name. */
  constructor(name: string) {
    super();
    this.api = this.kind = this.name = name;
  }

  /** True for every tensor of this memory. */
  is(value: Mapped): value is T {
    return (value as Mapped | undefined | null)?.target === this;
  }

  /** Its name. */
  toString(): string {
    return this.name;
  }

  /** Does nothing: it is always there. */
  [Symbol.dispose](): void {}
}

export function contextInWords({ api, name }: Kind["context"]): string {
  return api === name ? api : `${api} (${name})`;
}

/** For messages: `opencl (NVIDIA H200)`. */
export function nameOf(target: Kind): string {
  return target.kind === target.context.name ? target.kind : `${target.kind} (${target.context.name})`;
}
