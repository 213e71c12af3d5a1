import type { Address } from "../../ffi/address.ts";
import type { Natives } from "../core/contract.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import type { NativeMemory, WrappedMemory } from "./native_memory.ts";
import { checks, gst, gstVa, made } from "./library.ts";
import { unreference } from "./objects.ts";

/** The elements of VA-API work on a program's display, and their surfaces are that display's. */
export class SharedVa implements NativeMemory {
  readonly kinds = ["VAMemory"];
  readonly #display: Address;
  readonly said: Address;

  constructor(natives: Natives, undo: Undo) {
    const { gst_va_display_wrapped_new, gst_context_set_va_display } = gstVa();
    this.#display = natives.handles().display as Address;
    const display = made(gst_va_display_wrapped_new(this.#display), "gst_va_display_wrapped_new");
    owned("gstreamer.GstObject", undo, () => gst().gst_object_unref(display));
    this.said = made(gst().gst_context_new(cString("gst.va.display.handle"), 1), "gst_context_new");
    undo.push(() => unreference(this.said));
    gst_context_set_va_display(this.said, display);
  }

  objectOf(memory: Address): bigint {
    return BigInt(gstVa().gst_va_memory_get_surface(memory));
  }

  /** VA-API itself reports the surface's own work, so only its display is checked. */
  settle(_buffer: Address, [memory]: readonly Address[]): void {
    const { gst_va_memory_peek_display, gst_va_display_get_va_dpy } = gstVa();
    if (gst_va_display_get_va_dpy(gst_va_memory_peek_display(memory)) === this.#display) return;
    const remedy = "Launch the pipeline by this context: gstreamer.launch().";
    const what = "its surface is of another display than GStreamer was opened on.";
    throw checks.wrong("pointer", what, remedy, "gst_va_display_get_va_dpy");
  }

  /** A GstVaMemory is made of a surface that GStreamer itself has made, or of a dma-buf. */
  wrap(): WrappedMemory {
    const hint =
      "Map it to dmabuf, and write that by GStreamerContext.open({ on: dmabuf }): vapostproc takes dma-bufs.";
    throw checks.wrong("frame", "GStreamer has no memory of a surface that others have made.", hint);
  }
}
