import { Printed } from "../printed.ts";
import { disposed } from "./finalizers.ts";
import type { Line, Usable } from "../device/line.ts";
import type { Work } from "../device/work.ts";
import type { Grant } from "../memory/grant.ts";
import type { Resource } from "./resource.ts";

const NO_GRANTS: readonly Grant[] = [];

/** A disposable object that is not memory: a context, a queue, a program, a kernel. */
export abstract class NativeObject extends Printed implements Usable, Disposable, AsyncDisposable {
  /** Its end of life. */
  abstract readonly resource: Resource;
  readonly #isMade = true;

  /** True for an instance that its class made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #isMade in value;
  }

  /** The work in flight on it. */
  get works(): readonly Work[] {
    return [this.resource.work];
  }

  /** True if a line can use it at once. */
  isReadyFor(line: Line): boolean {
    const { isLive, work } = this.resource;
    return isLive && work.isClearFor(line);
  }

  /** Throws a {@link DisposedError} once it was disposed. It has no bytes that others could have. For mappers. */
  usable(): readonly Grant[] {
    this.resource.assertLive();
    return NO_GRANTS;
  }

  /** It has no views. */
  revokeViews(): void {}

  /** Its name, and whether it was disposed. */
  toString(): string {
    return this.resource.toString();
  }

  /** Ends it after its dependents and its work; blocks, even if `[Symbol.asyncDispose]` has begun. Idempotent. */
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
