import type { DeviceId } from "../device/device_id.ts";
import { registerContext } from "../life/finalizers.ts";
import { NativeObject } from "../life/native_object.ts";
import { type EndHooks, Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import type { Context, Target } from "./context.ts";

/** An open API on a device, as programs hold it. For backends. */
export abstract class DeviceContext extends NativeObject implements Context {
  /** The API's name. */
  abstract readonly api: string;
  /** Its targets in routes. */
  abstract readonly targets: readonly Target[];
  /** The device's name, for messages. */
  readonly name: string;
  /** The device's UUID and PCI address, where it reports them. */
  readonly id: DeviceId;
  /** Its end of life: everything in it ends first. */
  override readonly resource: Resource;
  #bytesCopied = 0;

  /** Takes the undo list over, which releases the device. `hooks`: what its end has to do besides. */
  constructor(api: string, { name, id }: Pick<Context, "name" | "id">, undo: Undo, hooks?: EndHooks) {
    super();
    this.name = name;
    this.id = id;
    this.resource = new Resource({ name: `${api} context (${name})`, undo, ...(hooks && { hooks }) });
  }

  /**
   * The number of bytes copied between host and device on request: by reads and writes, and by maps with
   * `{ copy: "allow" }`. Copies and fills that stay on the device do not count.
   */
  get bytesCopied(): number {
    return this.#bytesCopied;
  }

  /** Counts copied bytes. For mappers. */
  countCopied(bytes: number): void {
    this.#bytesCopied += bytes;
  }

  /** It is whole: from now on a warning says if it is not disposed. */
  protected opened(): void {
    registerContext(this, this.resource);
  }
}
