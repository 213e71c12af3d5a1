import type { ImageFormat, ImageInfo } from "../../src/core/layout/frame_info.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { Layout, LayoutInit } from "../../src/core/layout/layout.ts";
import type { Graph } from "../../src/core/graph/graph.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import type { AttachOptions } from "../../src/core/tensors/adopt.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import type { Transfer } from "../../src/core/graph/route.ts";

/** The suite's hands at one end of an edge: what it does there with memory, by that API alone. */
export interface End {
  /** The kind of memory. */
  readonly target: Target;
  /** New memory of this kind, nothing of which is lent. */
  allocate(init: LayoutInit): Tensor;
  /** The same for a frame; left out where a tensor is one picture, and a frame's planes are of other formats. */
  allocateFrame?(info: ImageInfo): Frame;
  /** The shape of so many bytes, where they are not a plain row of them. */
  shapeOf?(byteLength: number): readonly number[];
  /** Whose end ends this memory too, beside that of its target's context. */
  readonly within?: Context;
  /** True where the API has no parts of tensors. */
  readonly wholeOnly?: true;
  /** True where memory is a whole picture: its planes are mapped with their frame, and made with it. */
  readonly picturesOnly?: true;
  /** True where a driver lays its memory out as it likes: a map of it has other pitches. */
  readonly ownPitches?: true;
  /** True where memory of this kind is always that of another API's, mapped. */
  readonly onlyMapped?: boolean;
  /** True if its memory is a device's, which the host does not reach, though it may reach others of this kind. */
  readonly hidden?: boolean;
  /** True where a tensor's layout has no gaps, wherever its elements lie. */
  readonly noGaps?: true;
  /** Memory that stands for other code's. Left out where the API has no `attach`. */
  foreign?(): Foreign;
  /** Has the API write all bytes of a tensor's range, by its public means; done when it settles. @throws {AccessError} */
  write(tensor: Tensor, bytes: Uint8Array): Promise<void>;
  /** Has the API read them. @throws {AccessError} */
  read(tensor: Tensor): Promise<Uint8Array>;
  /**
   * Like {@link write}, but only submitted, and late: for some milliseconds the bytes are still the old ones. Left out
   * where writing takes no time, as on the CPU.
   */
  submit?(tensor: Tensor, bytes: Uint8Array): Fence;
  /** Where the API attaches to host memory by its address alone. */
  readonly peers?: Peers;
  /** Past all of samepage's checks, with the native API alone: what a proof of aliasing needs. */
  readonly raw: RawEnd;
}

/** Memory that stands for other code's, until it is disposed. It was made before native calls are counted, or fail. */
export interface Foreign extends Disposable {
  /** Attaches to all of it, in the API's public way. */
  attach(options?: AttachOptions): Tensor | Frame;
  /** Attaches to it as what it is not: more bytes, or another kind of object. It has to throw. */
  misfit(options: AttachOptions): unknown;
}

/** Tensors of an API over memory that a host tensor has as well, and what the API does to them. */
export interface Peers {
  /** What the host tensor is made of. */
  readonly init: LayoutInit;
  /** Attaches to its memory. */
  attach(source: HostTensor): Disposable & { readonly tensor: Tensor };
  /** Everything that the API does to a tensor by a name of its own, and for what it uses the bytes. */
  readonly transfers: readonly {
    readonly name: string;
    readonly access: "read" | "write";
    run(tensor: Tensor): void;
  }[];
}

/** One end, past all checks. */
export interface RawEnd {
  /** Submits and flushes a write, and no more; what it returns waits for its end, once the test has seen enough. */
  write(tensor: Tensor, bytes: Uint8Array): () => Promise<void>;
  /** Has the device itself read the bytes now. */
  read(tensor: Tensor): Promise<Uint8Array>;
  /** The bytes as they are, looked at with no native call at all; only where the CPU sees them. */
  look?(tensor: Tensor): Uint8Array;
}

/** What lies where: the whole memory, and the part of it that is mapped. */
export interface Variant {
  /** In words. */
  readonly name: string;
  /** The memory. */
  readonly whole: LayoutInit;
  /** The part. */
  readonly part?: (whole: Layout) => Layout;
}

/** Layouts that have to be kept: without gaps, with some, and in the middle of something. */
export interface Variants {
  readonly contiguous: readonly Variant[];
  readonly padded: readonly Variant[];
  readonly parts: readonly Variant[];
}

/** One edge on one device, or a route that the graph makes of several, open: contexts, a graph over them, and the hands at both ends. Disposing it closes them. */
export interface Subject extends Disposable {
  /** The graph, with both contexts. */
  readonly graph: Graph;
  /** Where the edge begins. */
  readonly source: End;
  /** Where it ends. */
  readonly target: End;
  /** The target's kind of memory in another context, where a second one can be opened. */
  readonly elsewhere?: End;
  /** True if the source's API must not use it, not even read it, while it is mapped: CUDA's rule for OpenGL's memory. */
  readonly sourceRests?: true;
  /** The edges that the graph has to make the route of; left out where it is one edge, from source to target. */
  readonly via?: readonly string[];
  /** What the edge must say that it does with the bytes; `"as proven"`: alias or migrate, as the device is found to do. */
  readonly expected: Transfer | "as proven";
  /** What the edge takes, where that is not any layout. */
  readonly variants?: Variants;
  /** The format of its frames, where the target takes no NV12. */
  readonly picture?: ImageFormat;
  /** Set where a map across it, and its end, take no native call at all. */
  readonly withoutCalls?: true;
  /** Native calls whose failures need not be reported: optional questions. */
  readonly silent?: readonly string[];
  /** The same while memory is allocated and freed, beside the `silent` ones. */
  readonly silentAtAllocating?: readonly string[];
  /** The same while memory of other code's is attached, beside the `silent` ones. */
  readonly silentAtAttaching?: readonly string[];
  /** Opens one more context of the API, as programs do; left out only where its contexts are always there. */
  openContext?(): Disposable;
  /** Native calls whose failures need not be reported while that is opened and closed, beside the `silent` ones. */
  readonly silentAtOpening?: readonly string[];
  /** Has the APIs let go of what they keep until their next call. */
  quiet?(): void;
  /** How many native objects the driver says are alive, where it can tell. */
  alive?(): number;
}

/** An edge on one device of this machine, or the reason why it is on none. */
export interface Candidate {
  /** The edge, as `edgeOf(mapper)` names it: `"host→opencl"`; of a route of several, its two ends. */
  readonly edge: string;
  /** The device, where there are several. */
  readonly device?: string;
  /** Opens it, or says why it is not here. */
  readonly open: (() => Subject) | string;
  /** Runs every case, and not only those about the edge's own code. */
  readonly everyLaw?: boolean;
  /** Other candidates run the same code on the same driver: this one maps no ten thousand times. */
  readonly covered?: boolean;
  /** Another candidate opens the same contexts: this one runs no case that opens one again and again. */
  readonly openedElsewhere?: boolean;
}
