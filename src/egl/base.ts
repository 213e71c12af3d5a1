import type { Line } from "../core/device/line.ts";
import type { DeviceContext } from "../core/graph/device_context.ts";
import type { EglDriver } from "./driver.ts";
import type { EglLane } from "./lane.ts";
import type { OpenContext } from "./open_context.ts";

/** The members of a context that its parts use. */
export interface EglBase extends DeviceContext {
  /** The open GL context. */
  readonly openContext: OpenContext;
  /** The driver of its line. */
  readonly driver: EglDriver;
  /** The order of its commands. */
  readonly line: Line<EglLane>;
}
