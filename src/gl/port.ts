import type { Context } from "../core/graph/context.ts";
import type { Resource } from "../core/life/resource.ts";
import { Port, type PortInit } from "../core/device/port.ts";

/** A context of OpenGL's, which another driver's context may be made for: an EglContext. */
export interface GlContext extends Context {
  /** The `EGLContext`. */
  readonly handle: bigint;
  /** Its `EGLDisplay`. */
  readonly display: bigint;
  /** Its end of life: what was made for it ends first. */
  readonly resource: Resource;
}

/** What a name of OpenGL's stands for. */
export type GlKind = "gl-image" | "gl-buffer";

/** What a port to an object of OpenGL's is made of. */
export interface GlPortInit extends PortInit {
  /** What the name is of: `GL_TEXTURE_2D`, `GL_RENDERBUFFER`, `GL_ARRAY_BUFFER`. */
  readonly target: number;
  /** True for a renderbuffer. */
  readonly isRenderbuffer?: boolean;
  /** Runs a call with the context that knows the name as the thread's current one. */
  readonly within: <R>(use: () => R) => R;
}

/**
 * An object of OpenGL's on its way to another driver: `value` is its name, which only its context knows. A driver that
 * takes it calls {@link GlPort.within} around each native call with it. For those who write backends.
 */
export class GlPort<K extends GlKind = GlKind> extends Port<K> {
  /** What the name is of: `GL_TEXTURE_2D`, `GL_RENDERBUFFER`, `GL_ARRAY_BUFFER`. */
  readonly target: number;
  /** True for a renderbuffer. */
  readonly isRenderbuffer: boolean;
  /** Runs a call with the context that knows the name as the thread's current one. */
  readonly within: <R>(use: () => R) => R;

  /** A name, its target and its context. */
  constructor(kind: K, { target, isRenderbuffer = false, within, ...init }: GlPortInit) {
    super(kind, init);
    this.target = target;
    this.isRenderbuffer = isRenderbuffer;
    this.within = within;
  }
}

/** What a port to an `EGLImage` is made of. */
export interface EglPortInit extends PortInit {
  /** The `EGLDisplay` that has it. */
  readonly display: bigint;
}

/** An `EGLImage` on its way to another driver: `value` is its handle. For those who write backends. */
export class EglPort extends Port<"egl-image"> {
  /** The `EGLDisplay` that has it. */
  readonly display: bigint;

  /** An image, and its display. */
  constructor({ display, ...init }: EglPortInit) {
    super("egl-image", init);
    this.display = display;
  }
}
