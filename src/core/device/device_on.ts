import type { Checks } from "../checks.ts";
import type { ArgumentError } from "../errors.ts";
import type { Context } from "../graph/context.ts";
import type { DeviceId } from "./device_id.ts";

/** The parts of a GPU have one PCI address, and UUIDs of their own. */
const SURE_FIRST = ["uuid", "pci", "node"] as const satisfies readonly (keyof DeviceId)[];

/** What `open` takes in every API that opens a device. */
export interface OpenOn {
  /** An open context of any API: the same device is opened, by the UUID, PCI address or render node of both. */
  readonly on?: Context;
}

/** A device, as its API reports it. */
export interface Reported {
  /** Its name, for messages. */
  readonly name: string;
  /** What identifies it. */
  readonly id: DeviceId;
}

/** The context of {@link OpenOn.on}, or another argument. @throws {ArgumentError} for anything else. @throws {DisposedError} */
export function contextOn(checks: Checks, on: unknown, argument = "on"): Context {
  const { id, name, targets, resource } = (on ?? {}) as Partial<Context>;
  if (typeof id !== "object" || id === null || typeof name !== "string" || !Array.isArray(targets)) {
    const hint = argument === "on"
      ? "Pass the context whose device is to be opened."
      : "Pass host, or what an API's open() has returned.";
    throw checks.wrongKind(argument, "an open context", on, hint);
  }
  resource?.assertLive();
  return on as Context;
}

/**
 * The devices of a list that are known to be another context's.
 *
 * @throws {ArgumentError} if no device of the list is; the message has what both sides report.
 */
export function devicesOn<D>(
  checks: Checks,
  on: Context,
  devices: readonly D[],
  reportOf: (device: D) => Reported,
): readonly [D, ...D[]] {
  for (const name of SURE_FIRST) {
    const known = on.id[name];
    if (known === undefined) continue;
    const [first, ...others] = devices.filter((device) => reportOf(device).id[name] === known);
    if (first !== undefined) return [first, ...others];
  }
  throw noDeviceOn(checks, on, devices.map(reportOf));
}

/** The error for a list of devices none of which is known to be another context's. */
export function noDeviceOn(checks: Checks, on: Context, devices: readonly Reported[]): ArgumentError {
  const there = devices.map(({ name, id }) => `${name} reports ${inWords(id)}`).join("; ");
  const here = there === "" ? "there is no device" : there;
  const what = `no device here is known to be ${on.name} (${on.api}), which reports ${inWords(on.id)}: ${here}.`;
  return checks.wrong(
    "on",
    what,
    "Leave { on } out, and choose a device by its name, if you know that it is the same.",
  );
}

function inWords({ uuid, pci, node }: DeviceId): string {
  const known = [
    ...(uuid === undefined ? [] : [`UUID ${uuid}`]),
    ...(pci === undefined ? [] : [`PCI address ${pci}`]),
    ...(node === undefined ? [] : [`render node ${node}`]),
  ];
  return known.length === 0 ? "no UUID, PCI address or render node" : known.join(", ");
}
