import type { Address } from "../../ffi/address.ts";
import type { Names } from "../core/argument.ts";
import type { Checks } from "../core/checks.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import type { Context } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import type { EndHooks } from "../core/life/resource.ts";
import type { Undo } from "../core/life/undo.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { ATTACH_NAMES, attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { PointerTensor } from "../core/tensors/pointer.ts";

/** Options of `attach` for a library that counts the references to its frames' memory. */
export interface MediaAttach extends AttachOptions {
  /** `"allow"` copies memory that others refer to as well, if it is to be written. The copy's bytes are counted. */
  readonly copy?: "allow";
}

export const MEDIA_ATTACH: Names<MediaAttach> = { ...ATTACH_NAMES, copy: true };

const COPY = { allow: true };

/** How a program wants to use the memory of a native frame. */
export interface Wanted {
  readonly access: Access | undefined;
  readonly mayCopy: boolean;
}

/** What a library's context is made of. */
export interface MediaContextInit extends Pick<Context, "name"> {
  readonly api: string;
  /** The context that it was opened on, which outlives it. */
  readonly on: Context | undefined;
  /** Runs at its end. */
  readonly undo: Undo;
  readonly hooks?: EndHooks | undefined;
}

/**
 * An open library of frames. It is its own target: host memory is mapped to it and back in place. With `on`, its device
 * frames are frames of that other context.
 */
export abstract class MediaContext<T extends PointerTensor = PointerTensor> extends DeviceContext
  implements MemoryTarget<T> {
  /** The kind of memory. */
  abstract readonly kind: string;
  /** Itself. */
  readonly context: this = this;
  /** Itself. */
  override readonly targets: readonly [this] = [this];
  /** Its ports: host pointers both ways. For mappers. */
  abstract readonly ports: Memory<T, Address>;
  /** @internal The context that this one stands on. */
  readonly on: Context | undefined;

  /** Opened by the class of a library. */
  constructor({ api, name, on, undo, hooks }: MediaContextInit) {
    super(api, { name, id: on?.id ?? {} }, undo, hooks);
    this.on = on;
    if (on?.resource !== undefined) this.resource.dependOn(on.resource);
  }

  /** True for planes of its frames. */
  is(value: Mapped): value is T {
    return (value as Mapped | undefined | null)?.target === this;
  }
}

/** Attaches another library's native frame as the options say. `make` gets its address. */
export function attachingMedia<M extends Mapped>(
  { resource }: MediaContext,
  checks: Checks,
  pointer: unknown,
  options: MediaAttach,
  make: (address: Address, wanted: Wanted) => M,
  names: Readonly<Record<keyof MediaAttach, unknown>> = MEDIA_ATTACH,
): M {
  return attaching(options, (access) => {
    resource.assertLive();
    const wanted = { access, mayCopy: mayCopy(checks, options.copy) };
    return make(checks.handleIn<Address>(pointer, "pointer"), wanted);
  }, names);
}

/** The same options for an object without an owner and without work to wait for. */
export function wantedIn(checks: Checks, { access, copy }: Pick<MediaAttach, "access" | "copy">): Wanted {
  return { access: access === undefined ? undefined : accessOf(access, access), mayCopy: mayCopy(checks, copy) };
}

function mayCopy(checks: Checks, copy: unknown): boolean {
  if (copy !== undefined) checks.nameIn(copy, COPY, "copy");
  return copy !== undefined;
}
