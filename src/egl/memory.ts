import type { Call } from "../core/device/driver.ts";
import type { Exported, Memory } from "../core/device/memory.ts";
import { Port } from "../core/device/port.ts";
import type { Layout } from "../core/layout/layout.ts";
import { allOrNothing, undoAll } from "../core/life/undo.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import { bytesAt } from "../core/native/pin.ts";
import type { EglBase } from "./base.ts";
import { GlBuffer } from "./buffer.ts";
import { imagesOf } from "./image_ports.ts";
import type { EglLane } from "./lane.ts";
import type { EglPicture } from "./picture.ts";
import { clearPixels, copyPixels, readPixels, writePixels } from "./pixels.ts";
import { EglTensor } from "./tensor.ts";

/** What commands read and write: pixels, or elements of a buffer. */
export interface Readable {
  readonly rawHandle: EglPicture | GlBuffer;
  readonly layout: Layout;
}

/** What a context's images give to other kinds of memory, and take from them. To the host's they are copied. */
export function portsOf(base: EglBase): Memory<EglTensor, EglPicture> {
  return {
    get line() {
      return base.line;
    },
    exports: [{ kind: "host-pointer", transfer: "copy" }],
    imports: [],
    images: imagesOf(base),
    export: (tensor, kind, byteLength) => staged(base, tensor, kind, byteLength),
    tensor: (init) => new EglTensor(init),
  };
}

/** Host memory that stands for pixels, or a buffer's bytes, while a map lasts. */
export function staged(base: EglBase, tensor: Readable, kind: string, byteLength: number): Exported {
  const { byteOffset: begin } = tensor.layout;
  return allOrNothing("making host memory for GL's", (undo) => {
    const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
    undo.push(() => block.free("unused"));
    const bytes = bytesAt(block.address, byteLength, "egl", undo);
    return {
      port: new Port(kind, { value: block.address, byteLength }),
      release: () => undoAll(undo, "freeing host memory"),
      bring: () => counted(base, byteLength, readCall(tensor, bytes, begin)),
      takeBack: (step) => step === 0 ? counted(base, byteLength, writeCall(tensor, bytes, begin)) : undefined,
    };
  });
}

/** The command that reads pixels, or a buffer's bytes from `begin` on. GL waits for it. */
export function readCall({ rawHandle }: Readable, into: Uint8Array<ArrayBuffer>, begin: number): Call<EglLane> {
  if (rawHandle instanceof GlBuffer) return glCall("glMapBufferRange", () => rawHandle.read(begin, into), true);
  return glCall("glReadPixels", () => readPixels(rawHandle, into), true);
}

/** The command that writes them. GL has taken the bytes when it returns. */
export function writeCall({ rawHandle }: Readable, from: Uint8Array<ArrayBuffer>, begin: number): Call<EglLane> {
  if (rawHandle instanceof GlBuffer) return glCall("glMapBufferRange", () => rawHandle.write(begin, from));
  return glCall("glTexSubImage2D", () => writePixels(rawHandle, from));
}

/** The same for a map: a copy that was asked for, and is counted. */
function counted(base: EglBase, byteLength: number, command: Call<EglLane>): Call<EglLane> {
  const call = (lane: EglLane) => {
    const code = command.call(lane);
    base.countCopied(byteLength);
    return code;
  };
  return { ...command, call };
}

/** A command of GL's. */
function glCall(fn: string, run: () => void, blocks: boolean = false): Call<EglLane> {
  return { fn, blocks, call: (lane) => lane.run(fn, run) };
}

/** The command that gives all pixels one colour. */
export function clearCall(picture: EglPicture, colour: ArrayBufferView<ArrayBuffer>): Call<EglLane> {
  return glCall("glClearBufferfv", () => clearPixels(picture, colour));
}

/** The command that copies pixels between pictures of one size, plane by plane. */
export function blitCall(pairs: readonly (readonly [EglPicture, EglPicture])[]): Call<EglLane> {
  return glCall("glBlitFramebuffer", () => pairs.forEach(([one, other]) => copyPixels(one, other)));
}
