import type { GLES } from "../../ffi/gles/functions.ts";
import { shown } from "../core/argument.ts";
import type { Line } from "../core/device/line.ts";
import { type CommandOptions, DeviceQueue } from "../core/device/queue.ts";
import { LayoutError } from "../core/errors.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { EglBase } from "./base.ts";
import type { EglBufferTensor } from "./buffers.ts";
import type { EglLane } from "./lane.ts";
import { checks, gles } from "./library.ts";
import { clearCall, type Readable, readCall, writeCall } from "./memory.ts";
import { copyPixels } from "./pixels.ts";
import { type GlUse, type Picture, pictureOf, type Used, usedOf, useOf } from "./uses.ts";

/** Functions of OpenGL ES that work on the current context, by C's names. */
export type GlFunctions = GLES;

/** The commands of a context, which GL runs in order. Work on a picture waits for the earlier work on it. */
export class EglQueue extends DeviceQueue<EglLane> {
  /** Its line of work. For those who write mappers. */
  override readonly line: Line<EglLane>;
  readonly #base: EglBase;

  /** Made by the context, once. */
  constructor(base: EglBase, line: Line<EglLane>) {
    super();
    this.#base = base;
    this.line = line;
  }

  /**
   * Gives all pixels one colour.
   *
   * @param colour red, green, blue and alpha, from 0 to 1
   * @throws {LayoutError} for a picture of several planes: clear each.
   */
  clear(picture: Picture, colour: readonly number[], options: CommandOptions = {}): void {
    const { use, planes: [plane, another] } = pictureOf(this.#base, picture, "write", "picture");
    if (another !== undefined) throw unfit("picture", `${picture.name} has several planes.`, "Clear each plane.");
    const values = Array.isArray(colour) ? checks.itemsIn<number>(colour, "colour") : [];
    if (values.length !== 4 || values.some((value) => typeof value !== "number" || !Number.isFinite(value))) {
      throw checks.wrong("colour", `expected four numbers: red, green, blue, alpha; got ${shown(colour)}.`);
    }
    this.line.submit([use], clearCall(plane.rawHandle, values), this.after(options));
  }

  /**
   * Copies all pixels to a picture of the same size. GL converts between formats of one plane.
   *
   * @throws {LayoutError} if their sizes or numbers of planes differ, or they are the same.
   */
  copy(from: Picture, to: Picture, options: CommandOptions = {}): void {
    const [source, target] = [pictureOf(this.#base, from, "read", "from"), pictureOf(this.#base, to, "write", "to")];
    const sizes = [source, target].map(({ planes }) =>
      planes.map(({ rawHandle: { width, height } }) => `${width}×${height}`).join(" and ")
    );
    if (sizes[0] !== sizes[1]) throw unfit("to", `expected ${sizes[0]} pixels, as ${from.name} has, got ${sizes[1]}.`);
    if (source.planes.some((one) => target.planes.some((other) => one.rawHandle.isSameAs(other.rawHandle)))) {
      throw unfit("to", "it is the same picture.");
    }
    const uses = [source.use, target.use];
    const pairs = source.planes.map((plane, i) => [plane.rawHandle, target.planes[i].rawHandle] as const);
    const call = (lane: EglLane) =>
      lane.run("glBlitFramebuffer", () => pairs.forEach(([one, other]) => copyPixels(one, other)));
    this.line.submit(uses, { fn: "glBlitFramebuffer", call }, this.after(options));
  }

  /**
   * Reads the pixels into a typed array, row by row without padding, plane behind plane; or the bytes of a buffer's elements,
   * padding included; blocks. The bytes are copied, and counted: `egl.bytesCopied`.
   *
   * @throws {LayoutError} if the array has another length.
   */
  read(from: Picture | EglBufferTensor, into: ArrayBufferView, options: CommandOptions = {}): void {
    this.#transfer(usedOf(this.#base, from, "read", "from"), into, "into", readCall, options);
  }

  /**
   * Writes the bytes of a typed array, as {@link EglQueue.read} reads them.
   *
   * @throws {LayoutError} if the array has another length, or `to` is a renderbuffer.
   */
  write(to: Picture | EglBufferTensor, from: ArrayBufferView, options: CommandOptions = {}): void {
    const used = usedOf(this.#base, to, "write", "to");
    if (used.planes.some(({ rawHandle }) => "storage" in rawHandle && rawHandle.storage === "renderbuffer")) {
      throw unfit("to", "a renderbuffer is only drawn to.", "Write to a texture, and copy that.");
    }
    this.#transfer(used, from, "from", writeCall, options);
  }

  /**
   * Runs a program's own commands, with the context current on this thread. Work on what they use waits for them, and they
   * for the earlier work. `commands` may change any state of GL's: each command of samepage sets its own.
   *
   * @param uses the pictures and buffers that the commands use; `handle.name` is GL's name of a plane, or of a buffer
   * @param commands gives commands by functions of OpenGL ES; other libraries' may be called as well
   * @throws {ArgumentError} if `commands` is an asynchronous function: the context is current only until it returns.
   * @throws {NativeCallError} with the first error that GL reports.
   *
   * @example
   * ```ts
   * import { EglContext } from "@samepage/interop/egl";
   *
   * using egl = EglContext.open();
   * using picture = egl.image.allocate({ format: "RGBA", width: 8, height: 8 });
   * egl.queue.run([{ picture, access: "write" }], (gl) => {
   *   gl.glBindTexture(0x0de1, picture.planes[0].handle.name); // GL_TEXTURE_2D
   *   gl.glTexParameteri(0x0de1, 0x2801, 0x2601); // GL_TEXTURE_MIN_FILTER, GL_LINEAR
   * });
   * ```
   */
  run(uses: readonly GlUse[], commands: (gl: GlFunctions) => void, options: CommandOptions = {}): void {
    if (!Array.isArray(uses)) throw checks.wrongKind("uses", "an array", uses);
    if (typeof commands !== "function") throw checks.wrongKind("commands", "a function", commands);
    const used = checks.itemsIn<GlUse>(uses, "uses").map((given, i) => useOf(this.#base, given, `uses[${i}]`));
    const call = (lane: EglLane) => lane.run("commands", () => assertOver(commands(gles())));
    this.line.submit(used, { fn: "commands", call, partial: true }, this.after(options));
  }

  #transfer(
    { use, planes, name }: Used<Readable & Tensor>,
    given: ArrayBufferView,
    argument: string,
    make: (base: EglBase, part: Readable, bytes: Uint8Array<ArrayBuffer>) => ReturnType<typeof readCall>,
    options: CommandOptions,
  ): void {
    const bytes = checks.bytesIn(given, argument);
    const length = planes.reduce((sum, { layout: { byteLength } }) => sum + byteLength, 0);
    if (bytes.length !== length) {
      throw unfit(argument, `expected the ${length} bytes of ${name}, got ${bytes.length}.`);
    }
    const after = this.after(options);
    let first = 0;
    for (const plane of planes) {
      this.line.submit([use], make(this.#base, plane, bytes.subarray(first, first += plane.layout.byteLength)), after);
    }
  }
}

/** Throws for the promise of commands that go on when they have returned. */
function assertOver(answer: unknown): void {
  if (!(answer instanceof Promise)) return;
  throw checks.wrong(
    "commands",
    "expected a function that has given all its commands when it returns, got one that returns a promise.",
    "The context is current only until they return: wait before run(), or behind it.",
  );
}

function unfit(argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "egl", argument, hint });
}
