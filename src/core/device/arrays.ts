import type { Checks } from "../checks.ts";
import type { Arrays } from "../contract.ts";
import type { Context } from "../graph/context.ts";

/** Where an array of another library's lies. */
export interface ArrayDevice {
  /** The API whose memory it is. */
  readonly api: string;
  /** The device's number among those of the API; undefined for memory that belongs to none of them. */
  readonly ordinal: number | undefined;
}

/**
 * The arrays of the first context that is for a device.
 *
 * @param where what lies where, for the message: `"the memory is of kDLCUDA"`
 * @throws {ArgumentError} if no context is.
 */
export function arraysIn(
  checks: Checks,
  contexts: readonly Context[],
  { api, ordinal }: ArrayDevice,
  where: string,
): Arrays {
  for (const context of contexts) {
    const arrays = context?.api === api ? context.arrays : undefined;
    if (arrays !== undefined && (ordinal === undefined || arrays.ordinal === ordinal)) return arrays;
  }
  const hint = api === "host" ? "Pass host among them." : `Pass an open context of ${api} on that device.`;
  throw checks.wrong("contexts", `${where}, and none of them is for that.`, hint);
}
