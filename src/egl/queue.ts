import type { GLES } from "../../ffi/gles/functions.ts";
import type { Line, Use } from "../core/device/line.ts";
import { type CommandOptions, DeviceQueue } from "../core/device/queue.ts";
import type { Commands } from "../core/contract.ts";
import type { EglBase } from "./base.ts";
import type { EglBufferTensor } from "./buffers.ts";
import type { EglLane } from "./lane.ts";
import { checks, gles } from "./library.ts";
import { EglCommands } from "./queue_commands.ts";
import { type GlUse, type Picture, useOf } from "./uses.ts";

/** Functions of OpenGL ES that work on the current context, by C's names. */
export type GlFunctions = GLES;

/** The commands of a context, which GL runs in order. Work on a picture waits for the earlier work on it. */
export class EglQueue extends DeviceQueue<EglLane, Picture | EglBufferTensor, Picture> {
  /** Its line of work. For mappers. */
  override readonly line: Line<EglLane>;
  /** Its context. */
  override readonly context: EglBase;
  /** GL's commands. */
  protected override readonly commands: Commands<EglLane, Picture | EglBufferTensor, Picture>;

  /** Made by the context, once. */
  constructor(base: EglBase, line: Line<EglLane>) {
    super();
    this.context = base;
    this.commands = new EglCommands(base);
    this.line = line;
  }

  /**
   * Runs a program's own commands, with the context current on this thread. They wait for earlier work on their pictures and
   * buffers, and later work waits for them. `commands` may change any GL state, because samepage's commands set their own.
   *
   * @param uses the pictures and buffers that the commands use; `handle.name` is GL's name of a plane, or of a buffer
   * @param commands calls functions of OpenGL ES; it may call those of other libraries too
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
    const used = usesIn(this.context, uses, commands);
    const call = (lane: EglLane) => lane.run("commands", () => assertOver(commands(gles())));
    this.line.submit(used, { fn: "commands", call, partial: true }, this.after(options));
  }
}

export function usesIn(context: EglBase, uses: readonly GlUse[], commands: unknown): Use[] {
  if (!Array.isArray(uses)) throw checks.wrongKind("uses", "an array", uses);
  if (typeof commands !== "function") throw checks.wrongKind("commands", "a function", commands);
  return checks.itemsIn<GlUse>(uses, "uses").map((given, i) => useOf(context, given, `uses[${i}]`));
}

/** Throws for a promise: asynchronous commands would run when the context is no longer current. */
export function assertOver(result: unknown): void {
  if (!(result instanceof Promise)) return;
  throw checks.wrong(
    "commands",
    "expected a function that has given all its commands when it returns, got one that returns a promise.",
    "The context is current only until they return: wait before run(), or behind it.",
  );
}
