import { type Address, NULL } from "../../ffi/address.ts";
import {
  EGL_CONFIG_ID,
  EGL_CONTEXT_CLIENT_TYPE,
  EGL_CONTEXT_MAJOR_VERSION,
  EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT,
  EGL_DRAW,
  EGL_LOSE_CONTEXT_ON_RESET_EXT,
  EGL_NONE,
  EGL_OPENGL_ES3_BIT,
  EGL_OPENGL_ES_API,
  EGL_READ,
  EGL_RENDERABLE_TYPE,
  EGL_SURFACE_TYPE,
} from "../../ffi/egl/constants.ts";
import { EGL_BAD_MATCH } from "../../ffi/egl/errors.ts";
import {
  GL_DEVICE_UUID_EXT,
  GL_EXTENSIONS,
  GL_MAX_TEXTURE_SIZE,
  GL_NO_ERROR,
  GL_RENDERER,
  GL_UUID_SIZE_EXT,
  GL_VERSION,
} from "../../ffi/gles/constants.ts";
import { lackOf } from "../core/device/extensions.ts";
import { InteropError, NativeCallError, type Reason, throwAll } from "../core/errors.ts";
import type { DeviceId } from "../core/device/device_id.ts";
import { owned } from "../core/life/ledger.ts";
import { thenUndo, type Undo, unwind } from "../core/life/undo.ts";
import { textAt } from "../core/native/text.ts";
import type { Display } from "./display.ts";
import { check, checkGl, eglError, made, nativeError } from "./errors.ts";
import { checks, egl, gles, glesExtensions } from "./library.ts";

/** The name of an extension that samepage uses if the driver has it. */
export type ExtensionName =
  | "EGL_EXT_image_dma_buf_import"
  | "EGL_EXT_image_dma_buf_import_modifiers"
  | "EGL_MESA_image_dma_buf_export"
  | "EGL_ANDROID_native_fence_sync"
  | "EGL_KHR_reusable_sync"
  | "EGL_NV_cuda_event"
  | "GL_OES_EGL_image"
  | "GL_EXT_texture_format_BGRA8888"
  | "GL_EXT_read_format_bgra"
  | "GL_EXT_texture_norm16"
  | "GL_EXT_memory_object";

const EXTENSIONS: Readonly<Record<ExtensionName, string>> = {
  EGL_EXT_image_dma_buf_import: "dma-bufs do not become images",
  EGL_EXT_image_dma_buf_import_modifiers: "dma-bufs become images only if they are linear",
  EGL_MESA_image_dma_buf_export: "images do not go out as dma-bufs",
  EGL_ANDROID_native_fence_sync: "syncs cannot be shared by fd, so the host waits instead",
  EGL_NV_cuda_event: "OpenGL does not wait for CUDA on the device, and the host waits instead",
  EGL_KHR_reusable_sync: "there are no syncs that a program signals",
  GL_OES_EGL_image: "images of others do not become textures",
  GL_EXT_texture_format_BGRA8888: "there are no BGRA textures",
  GL_EXT_read_format_bgra: "BGRA textures are not read back",
  GL_EXT_texture_norm16: "there are no textures of 16 bits a channel (P010)",
  GL_EXT_memory_object: "the driver does not report its device's UUID",
};

export const WANTED = Object.keys(EXTENSIONS) as readonly ExtensionName[];

/** Facts about a GL context. */
export interface GlFacts {
  /** The renderer: `"llvmpipe (LLVM 15.0.6, 256 bits)"`. */
  readonly renderer: string;
  /** The version of OpenGL ES: `"OpenGL ES 3.2 Mesa 22.3.6"`. */
  readonly version: string;
  /** The extensions of OpenGL ES. */
  readonly extensions: ReadonlySet<string>;
  /** The most pixels across, and down. */
  readonly maxSize: number;
  /** True if it reports the size and format of a texture's levels: from OpenGL ES 3.1 on. */
  readonly reportsLevels: boolean;
  /** The device's UUID, if the driver reports it. */
  readonly id: DeviceId;
}

type Current = [display: Address, draw: Address, read: Address, context: Address];

/** A samepage context that stayed current because the driver refused to restore the previous one. */
let left: { readonly handle: Address; readonly back: Current } | undefined;

function currentOf(context: Address, display: Address): Current {
  if (context === NULL) return [display, NULL, NULL, NULL];
  const native = egl();
  const [draw, read] = [native.eglGetCurrentSurface(EGL_DRAW), native.eglGetCurrentSurface(EGL_READ)];
  return [native.eglGetCurrentDisplay(), draw, read, context];
}

/**
 * samepage's own OpenGL ES context, without a surface. It is a thread's current context only while a samepage call runs.
 */
export class OpenContext {
  /** Its display. */
  readonly display: Display;
  /** The `EGLContext`. */
  readonly handle: Address;
  /** Facts about it. */
  readonly facts: GlFacts;
  /** Its framebuffers, to read and to draw, which end with it. */
  readonly framebuffers: Uint32Array;
  /** The number of nested calls of {@link OpenContext.within}. */
  #depth = 0;

  /**
   * Makes a context, which `undo` destroys.
   * @param share a context to share textures with, or null
   * @param sharable true for a context that reports no resets
   */
  constructor(display: Display, share: Address, sharable: boolean, undo: Undo) {
    this.display = display;
    if (!display.extensions.has("EGL_KHR_surfaceless_context")) {
      throw new InteropError(`the driver of ${display.vendor} has no EGL_KHR_surfaceless_context.`, {
        api: "egl",
        fn: "eglMakeCurrent",
        hint: "It is needed to use OpenGL ES without a window. Update the driver.",
      });
    }
    const config = configOf(display, share);
    const handle = withApi(() => createContext(display, config, share, sharable));
    this.handle = handle;
    owned("egl.EGLContext", undo, () => check(egl().eglDestroyContext(display.handle, handle), "eglDestroyContext"));
    this.facts = this.within(factsOf);
    const framebuffers = this.framebuffers = new Uint32Array(2);
    this.command("glGenFramebuffers", () => gles().glGenFramebuffers(2, framebuffers));
  }

  /** True if the display or OpenGL ES has an extension. */
  has(name: string): boolean {
    return this.display.extensions.has(name) || this.facts.extensions.has(name);
  }

  /** Why something that needs an extension is closed; undefined if the extension is there. */
  lacks(name: ExtensionName): Reason | undefined {
    return this.has(name) ? undefined : lackOf(this.facts.renderer, name, EXTENSIONS[name]);
  }

  /** Makes it the thread's current context while `use` runs, and restores the previous one. */
  within<R>(use: () => R): R {
    const { handle, display } = this;
    const before = egl().eglGetCurrentContext();
    if (before === handle && this.#depth > 0) return use();
    const back = left?.handle === before ? left.back : currentOf(before, display.handle);
    check(egl().eglMakeCurrent(display.handle, NULL, NULL, handle), "eglMakeCurrent");
    this.#depth++;
    const undo: Undo = [() => {
      this.#depth--;
      left = { handle, back };
      check(egl().eglMakeCurrent(...back), "eglMakeCurrent");
      left = undefined;
    }];
    return thenUndo("putting the current context back", use, undo);
  }

  /** Draws to a surface while `use` runs, inside {@link within}. */
  onSurface<R>(surface: Address, use: () => R): R {
    const { handle, display } = this;
    check(egl().eglMakeCurrent(display.handle, surface, surface, handle), "eglMakeCurrent");
    const back = () => check(egl().eglMakeCurrent(display.handle, NULL, NULL, handle), "eglMakeCurrent");
    return thenUndo("leaving a surface", use, [back]);
  }

  /** Makes it current while `use` submits GL commands, and throws GL's error if there is one. */
  command<R>(fn: string, use: () => R): R {
    return this.within(() => {
      let result: R;
      try {
        result = use();
      } catch (error) {
        const waiting = unwind([() => checkGl(fn)]); // else the next command would report this error
        throwAll(error instanceof NativeCallError ? [error] : [error, ...waiting], `running ${fn}`);
        throw error;
      }
      checkGl(fn);
      return result;
    });
  }
}

/** Runs `use` with OpenGL ES as the thread's API, and restores the previous API. */
function withApi<R>(use: () => R): R {
  const native = egl();
  const before = native.eglQueryAPI();
  if (before === EGL_OPENGL_ES_API) return use();
  check(native.eglBindAPI(EGL_OPENGL_ES_API), "eglBindAPI");
  const undo: Undo = before === EGL_NONE ? [] : [() => check(native.eglBindAPI(before), "eglBindAPI")];
  return thenUndo("putting the thread's API back", use, undo);
}

/** Makes a context report that its device was reset. Without this, its pictures would just become zeros. */
const REPORTS_LOSS = [EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_EXT, EGL_LOSE_CONTEXT_ON_RESET_EXT];

/** Contexts that share textures need the same reset strategy, and EGL does not report that of a program's context. */
function createContext({ handle, extensions }: Display, config: Address, share: Address, sharable: boolean): Address {
  const reports = extensions.has("EGL_EXT_create_context_robustness") ? REPORTS_LOSS : [];
  const create = (...more: readonly number[]) =>
    egl().eglCreateContext(handle, config, share, Int32Array.of(EGL_CONTEXT_MAJOR_VERSION, 3, ...more, EGL_NONE));
  if (sharable) {
    const alike = create();
    if (alike !== NULL) return alike;
    const error = eglError("eglCreateContext");
    if (error.code !== EGL_BAD_MATCH) throw error;
  }
  return made(create(...reports), "eglCreateContext");
}

/** No config if the driver needs none; else the config of the context to share with, or any for OpenGL ES 3. */
function configOf({ handle, extensions }: Display, share: Address): Address {
  const id = share === NULL ? 0 : attributeOf(handle, share, EGL_CONFIG_ID);
  if (id === 0 && extensions.has("EGL_KHR_no_config_context")) return NULL;
  const wanted = id === 0 ? [EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0] : [EGL_CONFIG_ID, id];
  const config = chosenConfig(handle, wanted);
  if (config !== undefined) return config;
  throw new InteropError("the display has no config for OpenGL ES 3.", { api: "egl", fn: "eglChooseConfig" });
}

export function chosenConfig(display: Address, wanted: readonly number[]): Address | undefined {
  const [configs, count] = [new BigUint64Array(1), new Int32Array(1)];
  check(egl().eglChooseConfig(display, Int32Array.of(...wanted, EGL_NONE), configs, 1, count), "eglChooseConfig");
  return count[0] > 0 ? configs[0] as Address : undefined;
}

function attributeOf(display: Address, context: Address, name: number): number {
  const out = new Int32Array(1);
  check(egl().eglQueryContext(display, context, name, out), "eglQueryContext");
  return out[0];
}

export function assertGles(display: Address, context: Address): void {
  const type = attributeOf(display, context, EGL_CONTEXT_CLIENT_TYPE);
  if (type === EGL_OPENGL_ES_API) return;
  throw checks.wrong(
    "handles.context",
    "expected a context of OpenGL ES, got one of another API.",
    "Contexts share textures with those of their own API only.",
  );
}

function factsOf(): GlFacts {
  const text = (name: number) => {
    const result = textAt(gles().glGetString(name));
    if (result !== undefined) return result;
    checkGl("glGetString");
    throw nativeError(GL_NO_ERROR, "glGetString");
  };
  const extensions = new Set(text(GL_EXTENSIONS).split(" "));
  const size = new Int32Array(1);
  gles().glGetIntegerv(GL_MAX_TEXTURE_SIZE, size);
  checkGl("glGetIntegerv");
  const version = text(GL_VERSION);
  const reportsLevels = gles().glGetTexLevelParameteriv !== null && !/ ES 3\.0/.test(version);
  const facts = { renderer: text(GL_RENDERER), version, maxSize: size[0], reportsLevels };
  return { ...facts, extensions, id: extensions.has("GL_EXT_memory_object") ? deviceId() : {} };
}

function deviceId(): DeviceId {
  const uuid = new Uint8Array(GL_UUID_SIZE_EXT);
  glesExtensions().glGetUnsignedBytei_vEXT!(GL_DEVICE_UUID_EXT, 0, uuid);
  // Mesa 22.3 lists the extension for contexts before OpenGL ES 3.2 too, but refuses the query there.
  return gles().glGetError() === GL_NO_ERROR ? { uuid: uuid.toHex() } : {};
}
