import { type Names, optionsIn } from "../argument.ts";
import { NativeObject } from "../life/native_object.ts";
import type { Resource } from "../life/resource.ts";
import { type Fence, fencesIn } from "./fence.ts";
import type { Line } from "./line.ts";

/** Options of a queue's commands. */
export interface CommandOptions {
  /** Work to wait for first. */
  readonly after?: Fence | readonly Fence[];
}

const OPTIONS: Names<CommandOptions> = { after: true };

/** A queue of a device, as programs hold it: its commands run in order. For those who write backends. */
export abstract class DeviceQueue<L = unknown> extends NativeObject {
  /** Its line of work. For those who write mappers. */
  abstract readonly line: Line<L>;

  /** Its end of life. */
  get resource(): Resource {
    return this.line.resource;
  }

  /** A fence behind all commands so far. */
  fence(): Fence {
    this.resource.assertLive();
    return this.line.fence();
  }

  /**
   * Makes all later commands wait for fences, of any API: on the device if it can, else by blocking. Returns a fence behind
   * them and behind all commands so far.
   *
   * @throws {ArgumentError} if one is not a fence.
   * @throws the error of a failed one.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using other = cl.createQueue();
   * using tensor = cl.allocate({ shape: [4], dtype: "f32" });
   * other.fill(tensor, 1);
   * const both = cl.queue.waitFor(other.fence());
   * await both.wait();
   * ```
   */
  waitFor(after: Fence | readonly Fence[]): Fence {
    return this.line.waitFor(this.#fencesIn(after));
  }

  /** Blocks until all its commands are done. @throws {NativeCallError} if the last one failed, or the device was lost. */
  finish(): void {
    this.fence().waitSync();
  }

  /** The fences that a command has to wait for. @throws {ArgumentError} for what is none, and unknown options. */
  protected after(options: CommandOptions): readonly Fence[] {
    return this.#fencesIn(optionsIn(options, OPTIONS).after);
  }

  #fencesIn(given: CommandOptions["after"]): readonly Fence[] {
    return fencesIn(given, "after", this.line.driver.api);
  }
}
