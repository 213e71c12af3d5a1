import type { Context } from "../core/graph/context.ts";
import type { Resource } from "../core/life/resource.ts";
import { Port, type PortInit } from "../core/device/port.ts";

/** An OpenGL context that another driver's context can be made for: an EglContext. */
export interface GlContext extends Context {
  /** The `EGLContext`. */
  readonly handle: bigint;
  /** Its `EGLDisplay`. */
  readonly display: bigint;
  /** Its end of life: contexts made for it end first. */
  readonly resource: Resource;
}

export type GlKind = "gl-image" | "gl-buffer";

export interface GlPortInit extends PortInit {
  readonly target: number;
  readonly isRenderbuffer?: boolean;
  readonly within: <R>(use: () => R) => R;
}

/**
 * An OpenGL object on its way to another driver: `value` is its name, which only its context knows. A driver that takes it
 * calls {@link GlPort.within} around each native call with it.
 */
export class GlPort<K extends GlKind = GlKind> extends Port<K> {
  /** The kind of object: `GL_TEXTURE_2D`, `GL_RENDERBUFFER`, `GL_ARRAY_BUFFER`. */
  readonly target: number;
  readonly isRenderbuffer: boolean;
  /** Runs a call while the context that knows the name is current on this thread. */
  readonly within: <R>(use: () => R) => R;

  constructor(kind: K, { target, isRenderbuffer = false, within, ...init }: GlPortInit) {
    super(kind, init);
    this.target = target;
    this.isRenderbuffer = isRenderbuffer;
    this.within = within;
  }
}

export interface EglPortInit extends PortInit {
  readonly display: bigint;
}

/** An `EGLImage` or an `EGLSync` on its way to another driver: `value` is its handle. */
export class EglPort<K extends "egl-image" | "egl-sync" = "egl-image"> extends Port<K> {
  readonly display: bigint;

  constructor(kind: K, { display, ...init }: EglPortInit) {
    super(kind, init);
    this.display = display;
  }
}

/** A `GLsync` on its way to another driver: `value` is its handle. Its importer deletes it. */
export class GlSyncPort extends Port<"gl-sync"> {
  readonly delete: () => void;

  constructor(value: bigint, remove: () => void) {
    super("gl-sync", { value });
    this.delete = remove;
  }
}

/** The lane of an OpenGL context's commands, as other drivers know it: an EglLane. */
export interface GlLane {
  readonly context: Pick<GlContext, "handle">;
}
