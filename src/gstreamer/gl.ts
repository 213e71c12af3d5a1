import { type Address, NULL } from "../../ffi/address.ts";
import {
  GST_GL_API_GLES2,
  GST_GL_PLATFORM_EGL,
  GST_GL_TEXTURE_TARGET_2D,
  GST_MAP_GL,
} from "../../ffi/gst_gl/constants.ts";
import { GstVideoInfo } from "../../ffi/gst_video/structs.ts";
import type { NativePicture, Natives } from "../core/contract.ts";
import type { FrameInfo, PixelsInfo } from "../core/layout/frame_info.ts";
import { owned } from "../core/life/ledger.ts";
import { thenUndo, type Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { checks, gst, gstGl, made, takenError } from "./library.ts";
import { videoInfoOf } from "./caps.ts";
import { type NativeMemory, TEXTURES, type WrappedMemory } from "./native_memory.ts";
import { structs, unreference } from "./objects.ts";

const CAN_SHARE = "gst_gl_context_can_share";
const TARGET = "gst_gl_memory_get_texture_target";

/** GStreamer's own context, on a GStreamer thread, which shares its textures with the program's context. */
export class SharedGl implements NativeMemory {
  readonly kinds = TEXTURES;
  readonly mapFlags = GST_MAP_GL; // which has its pixels in the texture
  /** A GstGLContext. */
  readonly #context: Address;
  readonly said: Address;
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
    this.said = made(gst().gst_context_new(cString("gst.gl.GLDisplay"), 1), "gst_context_new");
    undo.push(() => unreference(this.said));
    gl.gst_context_set_gl_display(this.said, display);
    const buffer = made(gst().gst_buffer_new(), "gst_buffer_new");
    undo.push(() => unreference(buffer));
    this.#sync = made(gl.gst_buffer_add_gl_sync_meta(this.#context, buffer), "gst_buffer_add_gl_sync_meta");
  }

  inCaps(caps: string): string {
    return caps.replace("video/x-raw", "video/x-raw(memory:GLMemory), texture-target=2D");
  }

  objectOf(memory: Address): bigint {
    return BigInt(gstGl().gst_gl_memory_get_texture_id(memory));
  }

  wrap({ objects }: NativePicture, object: number, info: PixelsInfo): WrappedMemory {
    assertOrder(info, "frame");
    const gl = gstGl();
    const { view } = videoInfoOf(info);
    const fn = "gst_gl_video_allocation_params_new_wrapped_texture";
    gl.gst_gl_memory_init_once();
    const allocator = gst().gst_allocator_find(cString("GLMemory"));
    const format = gl.gst_gl_format_from_video_info(this.#context, view, object);
    const name = Number(objects[object].handle);
    return thenUndo("wrapping a texture", (undo) => {
      undo.push(() => gst().gst_object_unref(allocator));
      const about = [view, object, null, GST_GL_TEXTURE_TARGET_2D, format, name, NULL, NULL] as const;
      const params = made(gl[fn](this.#context, null, ...about), fn);
      undo.push(() => gl.gst_gl_allocation_params_free(params));
      const memory = made(gl.gst_gl_base_memory_alloc(allocator, params), "gst_gl_base_memory_alloc");
      const { stride } = GstVideoInfo.fields;
      return {
        memory,
        size: structs.GstMemory.copyOf(memory).size,
        stride: view.getInt32(stride.offset + 4 * object, true),
      };
    });
  }

  settle(buffer: Address, memories: readonly Address[], info: FrameInfo): void {
    assertOrder(info, "pointer");
    const gl = gstGl();
    for (const memory of memories) {
      const { context } = structs.GstGLBaseMemory.copyOf(memory);
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
        throw checks.wrong("pointer", "its texture is not a GL_TEXTURE_2D.", remedy, TARGET);
      }
    }
    const context = structs.GstGLBaseMemory.copyOf(memories[0]).context as Address;
    this.#metaType ??= gl.gst_gl_sync_meta_api_get_type();
    const theirs = gst().gst_buffer_get_meta(buffer, this.#metaType);
    if (theirs !== NULL) gl.gst_gl_sync_meta_wait(theirs, context); // that of another thread, which the next point follows
    gl.gst_gl_sync_meta_set_sync_point(this.#sync, context);
    gl.gst_gl_sync_meta_wait_cpu(this.#sync, context);
  }
}

/** OpenGL ES has no textures of BGRA that all drivers write: GStreamer exchanges red and blue in shaders of its own. */
function assertOrder({ format }: FrameInfo, argument: string): void {
  if (!format.startsWith("BGR")) return;
  const remedy = "Put glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA in front, or behind.";
  throw checks.wrong(argument, `GStreamer keeps ${format} in textures of RGBA, with red and blue exchanged.`, remedy);
}
