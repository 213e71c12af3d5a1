import type { Line } from "../core/device/line.ts";
import type { Context } from "../core/graph/context.ts";
import type { Resource } from "../core/life/resource.ts";
import type { EglDriver } from "./driver.ts";
import type { EglLane } from "./lane.ts";
import type { OpenContext } from "./open_context.ts";

/** What the parts of a context know of it. */
export interface EglBase extends Context {
  /** The open GL context. */
  readonly openContext: OpenContext;
  /** The driver of its line. */
  readonly driver: EglDriver;
  /** The order of its commands. */
  readonly line: Line<EglLane>;
  /** Its end of life. */
  readonly resource: Resource;
  /** Counts bytes that GL copied on request. */
  countCopied(bytes: number): void;
}
