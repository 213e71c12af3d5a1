import type { Address } from "../../ffi/address.ts";
import { G_TYPE_UINT64 } from "../../ffi/gobject/constants.ts";
import { GValue } from "../../ffi/gobject/structs.ts";
import { cString } from "../core/native/text.ts";
import { gobject, gst, made } from "./library.ts";

/** A property of an element that is a number from 0 on. */
export function numberIn(element: Address, name: string): bigint {
  const { g_value_init, g_object_get_property, g_value_get_uint64 } = gobject();
  const value = new Uint8Array(GValue.size);
  made(g_value_init(value, G_TYPE_UINT64), "g_value_init"); // GObject makes it of a shorter one
  g_object_get_property(element, cString(name), value);
  return g_value_get_uint64(value);
}

/** Sets a property of an element, as a description does. */
export function setProperty(element: Address, name: string, value: string): void {
  gst().gst_util_set_object_arg(element, cString(name), cString(value));
}
