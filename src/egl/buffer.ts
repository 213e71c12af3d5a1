import { Printed } from "../core/printed.ts";
import { NULL } from "../../ffi/address.ts";
import * as gl from "../../ffi/gles/constants.ts";
import { InteropError } from "../core/errors.ts";
import { owned } from "../core/life/ledger.ts";
import { thenUndo, type Undo, undoAll, undone } from "../core/life/undo.ts";
import { bytesAt } from "../core/native/pin.ts";
import { checkGl, nativeError } from "./errors.ts";
import { gles } from "./library.ts";
import type { OpenContext } from "./open_context.ts";

/** A GL buffer object. Its name belongs to the context's share group. Made by `egl.buffer.allocate()`. */
export class GlBuffer extends Printed {
  /** The context that made it. For mappers. */
  readonly context: OpenContext;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Its name in GL, for glBindBuffer. */
  readonly name: number;
  /** The number of maps that have handed it to other drivers: GL must not use it until they end. For backends. */
  lent = 0;
  readonly #undo: Undo = [];

  /** Makes a zeroed buffer, or uses the program's buffer `name`. @throws {NativeCallError} if the driver refuses. */
  constructor(context: OpenContext, byteLength: number, name?: number) {
    super();
    this.context = context;
    this.byteLength = byteLength;
    if (name !== undefined) {
      this.name = name;
      return;
    }
    try {
      this.name = context.within(() => this.#generate());
      context.within(() => {
        gles().glBindBuffer(gl.GL_ARRAY_BUFFER, this.name);
        gles().glBufferData(gl.GL_ARRAY_BUFFER, BigInt(byteLength), NULL, gl.GL_DYNAMIC_COPY);
        checkGl("glBufferData");
        mapped(0, byteLength, gl.GL_MAP_WRITE_BIT, (bytes) => bytes.fill(0));
      });
    } catch (error) {
      throw undone(error, this.#undo, "making a buffer");
    }
  }

  /** Its name in GL, and its size. */
  toString(): string {
    return `buffer ${this.name} of ${this.byteLength} bytes`;
  }

  /**
   * Reads bytes from an offset on. GL waits for commands that write them. The context has to be current. For backends.
   */
  read(first: number, into: Uint8Array<ArrayBuffer>): void {
    this.#mapped(first, into.length, gl.GL_MAP_READ_BIT, (bytes) => into.set(bytes));
  }

  /** Writes bytes. GL waits for commands that use them. The context has to be current. For backends. */
  write(first: number, from: Uint8Array<ArrayBuffer>): void {
    this.#mapped(first, from.length, gl.GL_MAP_WRITE_BIT, (bytes) => bytes.set(from));
  }

  /** Deletes the buffer, unless it is the program's. For backends. */
  free(): void {
    undoAll(this.#undo, "freeing a buffer");
  }

  #mapped(first: number, byteLength: number, access: number, use: (bytes: Uint8Array<ArrayBuffer>) => void): void {
    gles().glBindBuffer(gl.GL_ARRAY_BUFFER, this.name);
    checkGl("glBindBuffer");
    mapped(first, byteLength, access, use);
  }

  #generate(): number {
    const names = new Uint32Array(1);
    gles().glGenBuffers(1, names);
    checkGl("glGenBuffers");
    const release = () => gles().glDeleteBuffers(1, names);
    owned("egl.buffer", this.#undo, () => this.context.command("glDeleteBuffers", release));
    return names[0];
  }
}

/** Maps bytes of the bound buffer for the CPU while `use` runs. */
function mapped(
  first: number,
  byteLength: number,
  access: number,
  use: (bytes: Uint8Array<ArrayBuffer>) => void,
): void {
  const fn = "glMapBufferRange";
  const address = gles()[fn](gl.GL_ARRAY_BUFFER, BigInt(first), BigInt(byteLength), access);
  if (address === NULL) {
    checkGl(fn);
    throw nativeError(gl.GL_NO_ERROR, fn);
  }
  const unmap = () => {
    if (gles().glUnmapBuffer(gl.GL_ARRAY_BUFFER) !== 0) return;
    checkGl("glUnmapBuffer");
    const hint = "The system has taken its memory away (a change of the screen's mode does): write it again.";
    throw new InteropError("the buffer's bytes were lost while it was mapped.", {
      api: "gles",
      fn: "glUnmapBuffer",
      hint,
    });
  };
  thenUndo("using a buffer's bytes", (undo) => use(bytesAt(address, byteLength, "egl", undo)), [unmap]);
}
