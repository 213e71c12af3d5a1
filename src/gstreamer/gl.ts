import { type Address, NULL } from "../../ffi/address.ts";
import {
  GST_GL_API_GLES2,
  GST_GL_PLATFORM_EGL,
  GST_GL_TEXTURE_TARGET_2D,
  GST_MAP_GL,
} from "../../ffi/gst_gl/constants.ts";
import { GstGLBaseMemory } from "../../ffi/gst_gl/structs.ts";
import type { Natives } from "../core/contract.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { StructType } from "../core/native/struct_type.ts";
import { cString } from "../core/native/text.ts";
import { checks, gst, gstGl, made, takenError } from "./library.ts";
import { type NativeMemory, TEXTURES } from "./native_memory.ts";
import { unreference } from "./objects.ts";

const BASE_MEMORY = new StructType<typeof GstGLBaseMemory>(GstGLBaseMemory, "gstreamer");

const CAN_SHARE = "gst_gl_context_can_share";
const TARGET = "gst_gl_memory_get_texture_target";

/** A context of GStreamer's own, with a thread of GStreamer's, which shares its textures with one of a program's. */
export class SharedGl implements NativeMemory {
  readonly kinds = TEXTURES;
  readonly lends = false;
  readonly mapFlags = GST_MAP_GL; // which has its pixels in the texture
  /** A GstGLContext. */
  readonly #context: Address;
  /** Says to elements which display they are on. */
  readonly #said: Address;
  /** A GstGLSyncMeta of a buffer of ours. */
  readonly #sync: Address;
  #metaType: bigint | undefined;

  constructor(natives: Natives, undo: Undo) {
    const gl = gstGl();
    const { display: eglDisplay, context: eglContext } = natives.handles();
    const object = (fn: string, address: Address) => {
      made(address, fn);
      owned("gstreamer.GstObject", undo, () => gst().gst_object_unref(address));
      return address;
    };
    const [egl, es] = [GST_GL_PLATFORM_EGL, GST_GL_API_GLES2];
    const fn = "gst_gl_display_egl_new_with_egl_display";
    const display = object(fn, gl[fn](eglDisplay as Address));
    gl.gst_gl_display_filter_gl_api(display, es);
    const wrapped = "gst_gl_context_new_wrapped";
    const theirs = object(wrapped, gl[wrapped](display, eglContext, egl, es));
    this.#context = object("gst_gl_context_new", gl.gst_gl_context_new(display));
    const error = new BigUint64Array(1);
    if (gl.gst_gl_context_create(this.#context, theirs, error) === 0) {
      const hint = "Open it to be shared: EglContext.open({ sharable: true }).";
      throw takenError(error[0] as Address, "gst_gl_context_create", { hint });
    }
    if (gl.gst_gl_display_add_context(display, this.#context) === 0) {
      throw takenError(NULL, "gst_gl_display_add_context");
    }
    undo.push(() => gl.gst_gl_display_remove_context(display, this.#context));
    this.#said = made(gst().gst_context_new(cString("gst.gl.GLDisplay"), 1), "gst_context_new");
    undo.push(() => unreference(this.#said));
    gl.gst_context_set_gl_display(this.#said, display);
    const buffer = made(gst().gst_buffer_new(), "gst_buffer_new");
    undo.push(() => unreference(buffer));
    this.#sync = made(gl.gst_buffer_add_gl_sync_meta(this.#context, buffer), "gst_buffer_add_gl_sync_meta");
  }

  prepare(pipeline: Address): void {
    gst().gst_element_set_context(pipeline, this.#said);
  }

  objectOf(memory: Address): bigint {
    return BigInt(gstGl().gst_gl_memory_get_texture_id(memory));
  }

  settle(buffer: Address, memories: readonly Address[]): void {
    const gl = gstGl();
    for (const memory of memories) {
      const { context } = BASE_MEMORY.copyOf(memory);
      if (gl.gst_gl_context_can_share(context as Address, this.#context) === 0) {
        const remedy = "Launch the pipeline by this context: gstreamer.launch().";
        throw checks.wrong(
          "pointer",
          "its textures are of another OpenGL than GStreamer was opened on.",
          remedy,
          CAN_SHARE,
        );
      }
      if (gl.gst_gl_memory_get_texture_target(memory) !== GST_GL_TEXTURE_TARGET_2D) {
        const remedy = "Put glcolorconvert ! video/x-raw(memory:GLMemory),texture-target=2D in front.";
        throw checks.wrong("pointer", "its texture is no GL_TEXTURE_2D.", remedy, TARGET);
      }
    }
    const context = BASE_MEMORY.copyOf(memories[0]).context as Address;
    this.#metaType ??= gl.gst_gl_sync_meta_api_get_type();
    const theirs = gst().gst_buffer_get_meta(buffer, this.#metaType);
    if (theirs !== NULL) gl.gst_gl_sync_meta_wait(theirs, context); // that of another thread, which the next point follows
    gl.gst_gl_sync_meta_set_sync_point(this.#sync, context);
    gl.gst_gl_sync_meta_wait_cpu(this.#sync, context);
  }
}
