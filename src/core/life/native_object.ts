import { finalizers, forgotten } from "./finalizers.ts";
import type { Line, Usable } from "../device/line.ts";
import type { Work } from "../device/work.ts";
import type { Resource } from "./resource.ts";

/**
 * What a program opens or makes, and disposes, and what is no memory: a context, a queue, a program, a kernel. For those
 * who write mappers.
 */
export abstract class NativeObject implements Usable, Disposable, AsyncDisposable {
  /** Its end of life. */
  abstract readonly resource: Resource;

  /** The work in flight on it. */
  get works(): readonly Work[] {
    return [this.resource.work];
  }

  /** May a line use it at once? */
  isReadyFor(line: Line): boolean {
    const { isLive, work } = this.resource;
    return isLive && (work.line === undefined || work.line === line) && work.others === undefined;
  }

  /** Throws a {@link DisposedError} once it was disposed. */
  assertUsable(): void {
    this.resource.assertLive();
  }

  /** It has no views. */
  revokeViews(): void {}

  /** What `console.log` shows. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.resource.name;
  }

  /**
   * Ends it, after what depends on it and the work that was recorded on it; blocks until then, also where
   * `[Symbol.asyncDispose]` has begun that. Idempotent.
   */
  [Symbol.dispose](): void {
    disposed(this);
    this.resource.dispose();
  }

  /** The same without blocking the event loop. */
  async [Symbol.asyncDispose](): Promise<void> {
    disposed(this);
    await this.resource.disposeAsync();
  }
}

/** The garbage collector has nothing to tell of it any more. */
function disposed(object: NativeObject): void {
  finalizers.unregister(object);
  forgotten.unregister(object);
}
