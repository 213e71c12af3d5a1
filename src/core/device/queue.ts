import { aKind, literal, type Names, optionsIn, withArticle } from "../argument.ts";
import { type DType, showsDtype, TYPED_ARRAYS } from "../layout/dtype.ts";
import { describeLayout, layout, type LayoutInit } from "../layout/layout.ts";
import { assertSameElements, countOf, placesOf, type Runs, runsOf } from "../layout/runs.ts";
import { NativeObject } from "../life/native_object.ts";
import type { Resource } from "../life/resource.ts";
import type { Access } from "../memory/access.ts";
import type { Tensor } from "../tensors/tensor.ts";
import { pinned } from "../native/pin.ts";
import type { Address } from "../../../ffi/address.ts";
import { assertFew } from "./box.ts";
import type { Call, Commands } from "../contract.ts";
import { type Fence, fencesIn } from "./fence.ts";
import type { Line, Usable, Use } from "./line.ts";
import type { FillValue } from "./pattern.ts";

/** Options of a queue's commands. */
export interface CommandOptions {
  /** Work to wait for first. */
  readonly after?: Fence | readonly Fence[];
}

const OPTIONS: Names<CommandOptions> = { after: true };

/** Options of {@link DeviceQueue.read} and {@link DeviceQueue.write}. */
export interface TransferOptions extends CommandOptions {
  /**
   * Where the elements lie in the program's bytes: a layout of the same shape and dtype, or `"dense"`, without gaps. Only
   * elements move then. If it is left out, all bytes move as they lie, padding included; an image's pixels are always
   * dense.
   */
  readonly at?: LayoutInit | "dense";
}

const TRANSFER: Names<TransferOptions> = { after: true, at: true };

/** From memory to the program, or back. */
export type Direction = "read" | "write";

/** Why an image's pixels cannot lie elsewhere in the program's bytes. */
const PIXELS_AT: { readonly [D in Direction]: string } = {
  read: "an image is read without gaps; read it into a dense array, or copy it to a tensor first.",
  write: "an image is written without gaps; write it from a dense array, or copy it from a tensor.",
};

/** The pixels of an image without gaps. */
export interface Pixels {
  /** Their bytes. */
  readonly byteLength: number;
  /** The type of an element. */
  readonly dtype: DType;
}

/** Bytes of the program, which stay in place while commands move them. */
export interface HostBytes {
  /** The bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The address of the first. */
  readonly address: Address;
}

/** Memory that a program reads and writes by a queue. */
export interface Movable extends Usable {
  /** Its name, for messages. */
  readonly name: string;
}

/** A queue of a device, as programs hold it: its commands run in order. */
export abstract class DeviceQueue<
  L = unknown,
  M extends Movable = never,
  C extends Usable = M,
  F extends Usable = M,
> extends NativeObject {
  /** Its context. */
  abstract readonly context: { countCopied(bytes: number): void };
  /** Its line of work. For mappers. */
  abstract readonly line: Line<L>;

  /** The API's commands. */
  protected abstract readonly commands: Commands<L, M, C, F>;

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

  /**
   * Fills a tensor's elements with a value, and leaves its gaps alone; or an image with a colour. Returns at once.
   *
   * @throws {ArgumentError} if the value's kind, size or range is wrong, or the API cannot fill with it.
   * @throws {LayoutError} if the elements lie where the API cannot fill them.
   * @throws {AccessError} if the bytes are lent, or may not be written.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using numbers = cl.allocate({ shape: [4], dtype: "f32" });
   * cl.queue.fill(numbers, 1.5);
   * using image = cl.image({ order: "RGBA", type: "UNORM_INT8" }).allocate({ shape: [2, 2, 4] });
   * cl.queue.fill(image, [1, 0, 0, 1]);
   * const pixels = new Uint8Array(16);
   * cl.queue.read(image, pixels);
   * console.log(pixels.subarray(12)); // Uint8Array(4) [ 255, 0, 0, 255 ]
   * ```
   */
  fill(to: F, value: FillValue, options: CommandOptions = {}): void {
    const after = this.after(options);
    const uses = [this.#use(to, "write", "to")];
    for (const call of this.commands.fill(to, value)) this.submit(uses, call, after);
  }

  /**
   * Copies elements on the device, and leaves the gaps alone; or pixels, of images or to and from a tensor that has them
   * without gaps. Returns at once.
   *
   * @throws {LayoutError} if shape or dtype differ, the bytes overlap, or the API cannot copy elements that lie so.
   * @throws {AccessError} if the bytes are lent, or `to` may not be written.
   */
  copy(from: C, to: C, options: CommandOptions = {}): void {
    const after = this.after(options);
    const uses = [this.#use(from, "read", "from"), this.#use(to, "write", "to")];
    for (const call of this.commands.copy(from, to)) this.submit(uses, call, after);
  }

  /**
   * Copies a tensor's bytes to a typed array, padding included; or an image's pixels, without gaps; or, with `at`, the
   * elements only. Blocks. Counted in the context's `bytesCopied`.
   *
   * @param into a typed array of the tensor's dtype, or of the pixels' element type; or raw bytes: a `Uint8Array`, a
   * `Uint8ClampedArray` or a `DataView`
   * @throws {LayoutError} if the array has another length or dtype, or the elements of `at` have another shape or dtype.
   * @throws {AccessError} if the bytes are lent, or the queue waits for an unsettled promise.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * using image = cl.allocate({ shape: [2, 3], dtype: "u8", rowAlign: 64 });
   * cl.queue.fill(image, 7);
   * const elements = new Uint8Array(6); // without the padding of the rows
   * cl.queue.read(image, elements, { at: "dense" });
   * console.log(elements); // Uint8Array(6) [ 7, 7, 7, 7, 7, 7 ]
   * ```
   */
  read(from: M, into: ArrayBufferView, options: TransferOptions = {}): void {
    this.#move("read", [from, "from"], [into, "into"], options);
  }

  /** Copies the bytes of a typed array to a tensor or an image; blocks. It takes the same arrays as {@link read}. */
  write(to: M, from: ArrayBufferView, options: TransferOptions = {}): void {
    this.#move("write", [to, "to"], [from, "from"], options);
  }

  /** Submits a call behind the work on what it uses and `after`, and records it there. Returns its mark. */
  submit(uses: readonly Use[], call: Call<L>, after?: readonly Fence[]): number {
    return this.line.submit(uses, call, after);
  }

  /** The fences that a command has to wait for. @throws {ArgumentError} for other values, and unknown options. */
  protected after(options: CommandOptions): readonly Fence[] {
    return this.#fencesIn(optionsIn(options, OPTIONS).after);
  }

  #fencesIn(given: CommandOptions["after"]): readonly Fence[] {
    return fencesIn(given, "after", this.line.driver.api);
  }

  #use(given: M | C | F, access: Access, argument: string): Use {
    this.resource.assertLive();
    return this.commands.useOf(given, access, argument);
  }

  #move(
    direction: Direction,
    [memory, argument]: readonly [M, string],
    [given, name]: readonly [ArrayBufferView, string],
    options: TransferOptions,
  ): void {
    const { commands, line } = this;
    const { after, at } = optionsIn(options, TRANSFER);
    const waits = this.#fencesIn(after);
    const bytes = commands.checks.bytesIn(given, name);
    const uses = [this.#use(memory, direction, argument)];
    const pixels = commands.pixelsOf?.(memory);
    const here = pixels === undefined ? (memory as unknown as Tensor).layout : undefined;
    const { byteLength, dtype: held } = pixels ?? here!;
    if (!showsDtype(given, held)) {
      const expected = withArticle(TYPED_ARRAYS[held].name);
      const what = `expected ${held}, which ${memory.name} holds, got ${aKind(given)}.`;
      throw commands.checks.unfit(name, what, `Pass ${expected}, or raw bytes: a Uint8Array or a DataView.`);
    }
    let moved = byteLength;
    let move = (host: HostBytes) => commands.move(direction, memory, host, here?.byteOffset ?? 0);
    if (at !== undefined && at !== "dense" && (typeof at !== "object" || at === null)) {
      throw commands.checks.unfit("at", `expected "dense" or a layout, got ${literal(at)}.`);
    }
    if (here === undefined && at !== undefined && at !== "dense") {
      throw commands.checks.unfit("at", PIXELS_AT[direction]);
    }
    if (here !== undefined && at !== undefined) {
      const { shape, dtype } = here;
      const there = layout(at === "dense" ? { shape, dtype } : at);
      assertSameElements(here, there, { api: line.driver.api, argument: "at" });
      const end = there.byteOffset + there.byteLength;
      if (at === "dense" ? bytes.length !== end : bytes.length < end) {
        throw commands.checks.unfit(
          name,
          `expected the ${end} bytes of ${describeLayout(there)}, got ${bytes.length}.`,
        );
      }
      const [runs, begins] = [runsOf([here, there]), [here.byteOffset, there.byteOffset]];
      moved = runs.length * countOf(runs.dimensions);
      move = (host) =>
        commands.moveRuns?.(direction, memory, host, runs, begins) ?? this.#rows(direction, memory, host, runs, begins);
    } else if (bytes.length !== moved) {
      throw commands.checks.unfit(name, `expected the ${moved} bytes of ${memory.name}, got ${bytes.length}.`);
    }
    pinned(bytes, line.driver.api, (address) => {
      for (const call of move({ bytes, address })) {
        const mark = this.submit(uses, call, waits);
        if (commands.movesAtOnce) continue;
        line.block(mark);
        line.raise(mark);
      }
    });
    this.context.countCopied(moved);
  }

  *#rows(
    direction: Direction,
    memory: M,
    { bytes, address }: HostBytes,
    { length, dimensions }: Runs,
    begins: readonly number[],
  ): Iterable<Call<L>> {
    assertFew(countOf(dimensions), memory.name, { api: this.line.driver.api, argument: "at" });
    for (const [begin, place] of placesOf(begins, dimensions)) {
      const row = { bytes: bytes.subarray(place, place + length), address: address + BigInt(place) as Address };
      yield* this.commands.move(direction, memory, row, begin);
    }
  }
}
