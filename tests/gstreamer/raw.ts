/**
 * Functions of GStreamer's that samepage does not bind, for the tests.
 *
 * @module
 */
const gst = () =>
  Deno.dlopen("libgstreamer-1.0.so.0", {
    gst_message_new_warning: { parameters: ["u64", "pointer", "buffer"], result: "u64" },
    gst_element_post_message: { parameters: ["u64", "u64"], result: "i32" },
    gst_element_get_bus: { parameters: ["u64"], result: "u64" },
    gst_bus_have_pending: { parameters: ["u64"], result: "i32" },
    gst_bin_get_by_name: { parameters: ["u64", "buffer"], result: "u64" },
    gst_element_get_static_pad: { parameters: ["u64", "buffer"], result: "u64" },
    gst_pad_get_peer: { parameters: ["u64"], result: "u64" },
    gst_pad_get_sticky_event: { parameters: ["u64", "i32", "u32"], result: "u64" },
    gst_mini_object_unref: { parameters: ["u64"], result: "void" },
    gst_object_unref: { parameters: ["u64"], result: "void" },
    gst_stream_error_quark: { parameters: [], result: "u32" },
  }).symbols;

const glib = () =>
  Deno.dlopen("libglib-2.0.so.0", {
    g_error_new_literal: { parameters: ["u32", "i32", "buffer"], result: "pointer" },
    g_error_free: { parameters: ["pointer"], result: "void" },
  }).symbols;

/** Has an element post a warning. */
export function postWarning(element: bigint, text: string, debug: string): void {
  const [said, about] = [text, debug].map((each) => new TextEncoder().encode(`${each}\0`));
  const error = glib().g_error_new_literal(gst().gst_stream_error_quark(), 1, said);
  gst().gst_element_post_message(element, gst().gst_message_new_warning(element, error, about));
  glib().g_error_free(error);
}

/** Does a message wait on a pipeline's bus? */
export function pendingOf(pipeline: bigint): boolean {
  const bus = gst().gst_element_get_bus(pipeline);
  const pending = gst().gst_bus_have_pending(bus);
  gst().gst_object_unref(bus);
  return pending !== 0;
}

/** `GST_EVENT_EOS`. */
const EOS = 110 << 8 | 14;

/** Has the end of the stream been sent to the pad `sink` of an element, behind all frames? An appsink may let it wait. */
export function isAtEnd(pipeline: bigint, name: string): boolean {
  const element = gst().gst_bin_get_by_name(pipeline, new TextEncoder().encode(`${name}\0`));
  const pad = gst().gst_element_get_static_pad(element, new TextEncoder().encode("sink\0"));
  const peer = gst().gst_pad_get_peer(pad);
  const event = gst().gst_pad_get_sticky_event(peer, EOS, 0);
  if (event !== 0n) gst().gst_mini_object_unref(event);
  for (const object of [peer, pad, element]) gst().gst_object_unref(object);
  return event !== 0n;
}
