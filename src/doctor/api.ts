import type { Mapped } from "../core/tensors/mapped.ts";
import type { Context, Target } from "../core/graph/context.ts";
import type { ApiReport } from "./report.ts";
import type { LayoutInit } from "../core/layout/layout.ts";

export interface Examination {
  /** True if experiments may run that prove which memory a device uses in place. */
  readonly proofs: boolean;
  readonly opened: DisposableStack;
}

/** A node of the graph: a kind of memory of an open device. */
export interface Node {
  readonly device: string;
  readonly target: Target;
  /** Makes a small sample of this kind for the graph; undefined if nothing here can, or `homes` do. */
  readonly make: (() => Mapped) | undefined;
  /** Makes memory of this kind in each context of another API that it may belong to. */
  readonly homes?: ReadonlyMap<Context, () => Mapped>;
}

export interface Examined {
  readonly report: Omit<ApiReport, "variables">;
  readonly nodes: readonly Node[];
}

/** Examines one API. Each API has a folder of its own; the table is in `doctor.ts`. */
export interface ApiExaminer {
  readonly api: string;
  readonly variables: readonly string[];
  readonly files: readonly string[];
  /** Examines the API; `before` are the nodes of earlier APIs. Never throws: a failure is a finding. */
  examine(how: Examination, before: readonly Node[]): Examined;
}

/** The layout of the samples for the graph: a page in the shape of an image. */
export const LITTLE: LayoutInit<"u8"> = { shape: [16, 64, 4], dtype: "u8" };
