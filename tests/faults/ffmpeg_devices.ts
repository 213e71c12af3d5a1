/**
 * FFmpeg's devices that samepage has made and not given back, counted at FFmpeg's own functions, whatever the ledger says.
 *
 * @module
 */
import type { Address } from "../../ffi/address.ts";
import type { AVHWContext } from "../../ffi/avhwcontext57/functions.ts";
import { setTap } from "../../src/core/native/library.ts";
import { tapped } from "./tap.ts";

/** Each by the reference that samepage has to it. */
export const devices: Set<Address> = new Set();

/** Taps the libraries as `installTap` does, and counts. It has to come before whatever opens one. */
export function countDevices(): void {
  setTap((api, functions) =>
    tapped(api, api === "ffmpeg" ? { ...functions, ...counting(functions as never) } : functions)
  );
}

function counting({ av_hwdevice_ctx_alloc, av_buffer_unref }: AVHWContext) {
  return {
    av_hwdevice_ctx_alloc(type: number) {
      const device = av_hwdevice_ctx_alloc(type);
      if (device !== 0n) devices.add(device);
      return device;
    },
    av_buffer_unref(reference: BigUint64Array<ArrayBuffer>) {
      devices.delete(reference[0] as Address);
      av_buffer_unref(reference);
    },
  };
}
