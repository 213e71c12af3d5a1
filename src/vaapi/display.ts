import { type Address, NULL } from "../../ffi/address.ts";
import { messageOf } from "../core/errors.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { openDeviceFile } from "../core/native/device_file.ts";
import { closeFd } from "../core/native/fd.ts";
import { cString, textAt } from "../core/native/text.ts";
import { check, checks, displayOf, libva } from "./library.ts";
import { RENDER_NODE, vaapiNodes } from "./nodes.ts";

/** An initialized `VADisplay`. For backends. */
export interface Display {
  /** The `VADisplay`. */
  readonly handle: Address;
  /** Its render node; undefined for a foreign display. */
  readonly node: string | undefined;
  /** The driver's own name. */
  readonly vendor: string;
  /** The version of VA-API on which libva and the driver agreed; undefined for a foreign display. */
  readonly version: string | undefined;
  /** The surfaces over another API's memory. */
  readonly imported: Set<number>;
  /** Surfaces that an escaped view may still use. They and the display are kept for good. */
  readonly kept: Set<number>;
  /** The kernel driver that exports its surfaces' dma-bufs. Undefined until a surface was exported. */
  exporter?: string | undefined;
}

/**
 * Opens the given node, or the first with a driver.
 * @throws {ArgumentError} if none opens, with reasons and a remedy.
 */
export function openDisplay(node: string | undefined, driver: string | undefined, undo: Undo): Display {
  if (node !== undefined) return displayOn(node, driver, undo);
  const reasons: string[] = [];
  const nodes = vaapiNodes();
  for (const one of nodes) {
    if (!one.open) {
      reasons.push(one.reason!.slice(0, -1));
      continue;
    }
    try {
      return displayOn(one.node, driver, undo);
    } catch (error) {
      reasons.push(`${one.node}: ${messageOf(error)}`);
    }
  }
  const hint = nodes.find(({ remedy }) => remedy !== undefined)?.remedy ?? DRIVERS;
  throw checks.wrong("node", `no VA-API device can be used: ${reasons.join("; ")}.`, hint);
}

const DRIVERS =
  "Install the GPU's driver: apt install intel-media-va-driver (Intel) or mesa-va-drivers (AMD). LIBVA_DRIVER_NAME names another.";

function displayOn(node: string, driver: string | undefined, undo: Undo): Display {
  const mine: Undo = [];
  return allOrNothing("opening a VA-API display", () => {
    const fd = openDeviceFile(node, RENDER_NODE);
    if (typeof fd !== "number") throw checks.wrong("node", fd.reason, fd.remedy);
    const kept = new Set<number>();
    mine.push(() => void (kept.size > 0 || closeFd(fd)));
    const handle = displayOf(fd);
    if (handle === NULL) {
      throw checks.wrong(
        "node",
        `${node} is not a DRM device.`,
        "Pass a render node: see vaapiNodes().",
        "vaGetDisplayDRM",
      );
    }
    const display = initialized(handle, driver, kept, mine);
    undo.push(...mine);
    return { ...display, node, imported: new Set(), kept };
  }, mine);
}

/** Initializes a display. Only vaTerminate frees it, even if it was not initialized. */
function initialized(
  handle: Address,
  driver: string | undefined,
  kept: ReadonlySet<number>,
  undo: Undo,
): Pick<Display, "handle" | "vendor" | "version"> {
  owned("vaapi.display", undo, () => {
    if (kept.size === 0) check(libva().vaTerminate(handle), "vaTerminate");
  });
  libva().vaSetInfoCallback(handle, NULL, null); // else libva logs to stderr
  if (driver !== undefined) check(libva().vaSetDriverName(handle, cString(driver)), "vaSetDriverName");
  const [major, minor] = [new Int32Array(1), new Int32Array(1)];
  check(libva().vaInitialize(handle, major, minor), "vaInitialize", { hint: DRIVERS });
  return { handle, vendor: vendorOf(handle), version: `${major[0]}.${minor[0]}` };
}

/** A foreign display, which its owner has initialized and ends. */
export function attachedDisplay(handle: Address): Display {
  if (libva().vaDisplayIsValid(handle) === 0) {
    throw checks.wrong(
      "display",
      "expected a VADisplay, which libva does not take this for.",
      undefined,
      "vaDisplayIsValid",
    );
  }
  const about = { node: undefined, version: undefined, vendor: vendorOf(handle) };
  return { handle, ...about, imported: new Set(), kept: new Set() };
}

function vendorOf(handle: Address): string {
  return textAt(libva().vaQueryVendorString(handle)) ?? "a driver without a name";
}
