import type { Checks } from "../checks.ts";
import type { ArrayPlace, Arrays } from "../contract.ts";
import type { Context } from "../graph/context.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { contextOn } from "./device_on.ts";

/** A type of device, as libraries number it that share arrays, and the memory that it stands for. */
export interface ArrayDevice {
  readonly type: number;
  /** As C names it: `"kDLCUDA"`. */
  readonly name: string;
  /** The APIs whose memory it is. */
  readonly apis: readonly string[];
  /** Who reaches it. */
  readonly memory: ArrayPlace["memory"];
}

/** Where a tensor lies, on which device. */
export interface DevicePlace extends ArrayPlace {
  readonly type: number;
  readonly ordinal: number;
}

/** The contexts in which memory may be. @throws {ArgumentError} for anything else. @throws {DisposedError} */
export function contextsIn(checks: Checks, given: readonly Context[]): readonly Context[] {
  if (!Array.isArray(given)) throw checks.wrongKind("contexts", "an array of contexts", given);
  const contexts = checks.itemsIn<Context>(given, "contexts");
  for (const context of contexts) contextOn(checks, context, "contexts");
  return contexts;
}

/** The devices of one way to share arrays. */
export class ArrayDevices {
  readonly #checks: Checks;
  readonly #devices: readonly ArrayDevice[];

  constructor(checks: Checks, devices: readonly ArrayDevice[]) {
    this.#checks = checks;
    this.#devices = devices;
  }

  /** Undefined for memory that none of the devices stands for. */
  placeOf(tensor: Tensor): DevicePlace | undefined {
    const { target: { context: { api, arrays } } } = tensor;
    const place = arrays?.placeOf(tensor);
    const device = place && this.#devices.find((one) => one.memory === place.memory && one.apis.includes(api));
    return device && { ...place, type: device.type, ordinal: arrays!.ordinal };
  }

  /**
   * The arrays of the context that is for a device, and which memory of it is meant. The number counts for memory that a
   * device alone reaches: for other memory, libraries disagree what to say. Where several contexts may have unified memory,
   * each driver is asked.
   *
   * @param argument what has said so
   * @param address where the memory begins
   * @throws {ArgumentError} if no context is.
   */
  arraysIn(contexts: readonly Context[], type: number, ordinal: number, argument: string, address: bigint) {
    const device = this.#devices.find((one) => one.type === type);
    if (device === undefined) {
      const known = this.#devices.map((one) => `${one.type} (${one.name})`).join(", ");
      throw this.#checks.wrong(argument, `no memory here is of device type ${type}.`, `samepage knows ${known}.`);
    }
    const { name, memory, apis } = device;
    let arrays: Arrays | undefined;
    for (const context of contexts) {
      if (context.arrays === undefined || !apis.includes(context.api)) continue;
      const found = context.arrays;
      const isAsked = memory === "unified" && contexts.length > 1;
      if (isAsked ? found.hasUnified?.(address) : found.ordinal === ordinal) return { arrays: found, memory };
      if (memory !== "device") arrays ??= found;
    }
    if (arrays !== undefined) return { arrays, memory };
    const where = memory === "device" ? `${name}, number ${ordinal}` : name;
    const open = `Pass an open context of ${apis.join(" or ")} on that device.`;
    const hint = apis.includes("host") ? "Pass host among them." : open;
    throw this.#checks.wrong("contexts", `the memory is of ${where}, and none of them is for that.`, hint);
  }
}
