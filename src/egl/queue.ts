import type { GLES } from "../../ffi/gles/functions.ts";
import { isMade, type Names, optionsIn, shown } from "../core/argument.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Line, Use } from "../core/device/line.ts";
import { LayoutError } from "../core/errors.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { EglBase } from "./base.ts";
import type { EglLane } from "./lane.ts";
import { checks, gles } from "./library.ts";
import { clearCall, readCall, writeCall } from "./memory.ts";
import type { EglPicture } from "./picture.ts";
import { copyPixels } from "./pixels.ts";
import { EglTensor } from "./tensor.ts";

/** Options of a queue's commands. */
export interface CommandOptions {
  /** Work to wait for first. */
  readonly after?: Fence | readonly Fence[];
}

/** A picture: a frame of images, or one of its planes. */
export type Picture = EglTensor | Frame<EglTensor>;

/** A picture that a program's own commands use, and how. */
export interface PictureUse {
  /** The picture. */
  readonly picture: Picture;
  /** How they use it; its own access by default. */
  readonly access?: Access;
}

const OPTIONS: Names<CommandOptions> = { after: true };
const USE: Names<PictureUse> = { picture: true, access: true };

/** Functions of OpenGL ES that work on the current context, by C's names. */
export type GlFunctions = GLES;

/** The commands of a context, which GL runs in order. Work on a picture waits for the earlier work on it. */
export class EglQueue extends NativeObject {
  /** Its line of work. For those who write mappers. */
  readonly line: Line<EglLane>;
  readonly #base: EglBase;

  /** Made by the context, once. */
  constructor(base: EglBase, line: Line<EglLane>) {
    super();
    this.#base = base;
    this.line = line;
  }

  /** True for an instance that this class made, and not for a proxy of it. For those who write mappers. */
  static owns(value: object): boolean {
    return #base in value;
  }

  /** Its end of life. For those who write mappers. */
  get resource(): Resource {
    return this.line.resource;
  }

  /** A fence behind all commands so far. */
  fence(): Fence {
    this.resource.assertLive();
    return this.line.fence();
  }

  /**
   * Makes all later commands wait for fences, of any API: in the driver if it can, else by blocking. Returns a fence behind
   * them.
   *
   * @throws {ArgumentError} if one is not a fence.
   * @throws the error of a failed one.
   */
  waitFor(after: Fence | readonly Fence[]): Fence {
    return this.line.waitFor(checks.fencesIn(after, "after"));
  }

  /** Blocks until all its commands are done. @throws {NativeCallError} if the context was lost. */
  finish(): void {
    this.fence().waitSync();
  }

  /**
   * Gives all pixels one colour.
   *
   * @param colour red, green, blue and alpha, from 0 to 1
   * @throws {LayoutError} for a picture of several planes: clear each.
   */
  clear(picture: Picture, colour: readonly number[], options: CommandOptions = {}): void {
    const { use, planes: [plane, another] } = this.#use(picture, "write", "picture");
    if (another !== undefined) throw unfit("picture", `${picture.name} has several planes.`, "Clear each plane.");
    const values = Array.isArray(colour) ? checks.itemsIn<number>(colour, "colour") : [];
    if (values.length !== 4 || values.some((value) => typeof value !== "number" || !Number.isFinite(value))) {
      throw checks.wrong("colour", `expected four numbers: red, green, blue, alpha; got ${shown(colour)}.`);
    }
    this.line.submit([use], clearCall(plane.rawHandle, values), this.#after(options));
  }

  /**
   * Copies all pixels to a picture of the same size. GL converts between formats of one plane.
   *
   * @throws {LayoutError} if their sizes or numbers of planes differ, or they are the same.
   */
  copy(from: Picture, to: Picture, options: CommandOptions = {}): void {
    const [source, target] = [this.#use(from, "read", "from"), this.#use(to, "write", "to")];
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
    this.line.submit(uses, { fn: "glBlitFramebuffer", call }, this.#after(options));
  }

  /**
   * Reads the pixels into a typed array, row by row without padding, plane behind plane; blocks. The bytes are copied, and
   * counted: `egl.bytesCopied`.
   *
   * @throws {LayoutError} if the array has another length.
   */
  read(picture: Picture, into: ArrayBufferView, options: CommandOptions = {}): void {
    this.#transfer(picture, into, "into", "read", readCall, options);
  }

  /**
   * Writes the pixels of a typed array, as {@link EglQueue.read} reads them.
   *
   * @throws {LayoutError} if the array has another length, or the picture is a renderbuffer.
   */
  write(picture: Picture, from: ArrayBufferView, options: CommandOptions = {}): void {
    const { planes } = this.#use(picture, "write", "picture");
    if (planes.some(({ rawHandle: { storage } }) => storage === "renderbuffer")) {
      throw unfit("picture", "a renderbuffer is only drawn to.", "Write to a texture, and copy that.");
    }
    this.#transfer(picture, from, "from", "write", writeCall, options);
  }

  /**
   * Runs a program's own commands, with the context current on this thread. Work on the pictures waits for them, and they for
   * the earlier work. `commands` may change any state of GL's: each command of samepage sets its own.
   *
   * @param uses the pictures that the commands use; `picture.handle.name` is GL's name of one
   * @param commands gives commands by functions of OpenGL ES; other libraries' may be called as well
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
  run(uses: readonly PictureUse[], commands: (gl: GlFunctions) => void, options: CommandOptions = {}): void {
    if (!Array.isArray(uses)) throw checks.wrongKind("uses", "an array", uses);
    if (typeof commands !== "function") throw checks.wrongKind("commands", "a function", commands);
    const used = checks.itemsIn<PictureUse>(uses, "uses").map((given, i) => {
      const { picture, access } = optionsIn(given, USE, `uses[${i}]`);
      return this.#use(picture, access === undefined ? undefined : accessOf(access, access), `uses[${i}].picture`).use;
    });
    const call = (lane: EglLane) => lane.run("commands", () => commands(gles()));
    this.line.submit(used, { fn: "commands", call, partial: true }, this.#after(options));
  }

  #transfer(
    picture: Picture,
    given: ArrayBufferView,
    argument: string,
    access: Access,
    make: (base: EglBase, picture: EglPicture, bytes: Uint8Array<ArrayBuffer>) => ReturnType<typeof readCall>,
    options: CommandOptions,
  ): void {
    const { use, planes } = this.#use(picture, access === "read" ? "read" : "write", "picture");
    const bytes = checks.bytesIn(given, argument);
    const length = planes.reduce((sum, { layout: { byteLength } }) => sum + byteLength, 0);
    if (bytes.length !== length) {
      throw unfit(argument, `expected the ${length} bytes of ${picture.name}, got ${bytes.length}.`);
    }
    const after = this.#after(options);
    let first = 0;
    for (const { rawHandle, layout: { byteLength } } of planes) {
      this.line.submit([use], make(this.#base, rawHandle, bytes.subarray(first, first += byteLength)), after);
    }
  }

  #after(options: CommandOptions): readonly Fence[] {
    return checks.fencesIn(optionsIn(options, OPTIONS).after, "after");
  }

  #use(picture: Picture, access: Access | undefined, argument: string): { use: Use; planes: readonly EglTensor[] } {
    const isFrame = isMade<Frame>(picture, Frame);
    const planes: readonly Tensor[] = isFrame ? (picture as Frame).planes : [picture as Tensor];
    if (!isFrame) checks.assertInstance(picture, EglTensor, argument);
    this.resource.assertLive();
    const first = planes[0];
    if (first instanceof EglTensor && first.target.context === this.#base) {
      return { use: { tensor: picture, access: access ?? picture.access, argument }, planes: planes as EglTensor[] };
    }
    throw checks.wrong(
      argument,
      `${picture.name} belongs to another context.`,
      "Map it here first: graph.map(frame, egl.image).",
    );
  }
}

function unfit(argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "egl", argument, hint });
}
