import type { Mapped } from "../core/tensors/mapped.ts";
import type { Context, Target } from "../core/graph/context.ts";
import type { ApiReport } from "./report.ts";
import type { LayoutInit } from "../core/layout/layout.ts";

/** How to look. */
export interface Examination {
  /** May experiments be run, to find out which memory a device uses in place? */
  readonly proofs: boolean;
  /** What is opened goes here, to be disposed when the report is made. */
  readonly opened: DisposableStack;
}

/** A node of the graph that was found: a kind of memory of a device that is open. */
export interface Node {
  /** The name, in the report, of its device. */
  readonly device: string;
  /** The target itself. */
  readonly target: Target;
  /** Makes a little memory of this kind, to ask the graph about; undefined where nothing here can, or `homes` do. */
  readonly make: (() => Mapped) | undefined;
  /** Where memory of this kind belongs to a context of another API: makes it in each, to be asked about with that one. */
  readonly homes?: ReadonlyMap<Context, () => Mapped>;
}

/** What was found of one API. */
export interface Examined {
  /** For the report. */
  readonly report: Omit<ApiReport, "variables">;
  /** For the graph. */
  readonly nodes: readonly Node[];
}

/** How to look at one API. Each has a folder of its own; the table is in `doctor.ts`. */
export interface ApiExaminer {
  /** The API's name. */
  readonly api: string;
  /** Environment variables that change what its library and drivers find. */
  readonly variables: readonly string[];
  /** Files and folders that tell more about it. */
  readonly files: readonly string[];
  /** Looks; `before` is what the APIs before it in the table have. Never throws: what fails is a finding. */
  examine(how: Examination, before: readonly Node[]): Examined;
}

/** The memory that the graph is asked about: a page, aligned like samepage's own memory, with the shape of an image. */
export const LITTLE: LayoutInit<"u8"> = { shape: [16, 64, 4], dtype: "u8" };
