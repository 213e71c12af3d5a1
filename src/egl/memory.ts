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
import { clearPixels, readPixels, writePixels } from "./pixels.ts";
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
  return allOrNothing("making host memory for GL's", (undo) => {
    const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
    undo.push(() => block.free("unused"));
    const bytes = bytesAt(block.address, byteLength, "egl", undo);
    return {
      port: new Port(kind, { value: block.address, byteLength }),
      release: () => undoAll(undo, "freeing host memory"),
      bring: () => readCall(base, tensor, bytes),
      takeBack: (step) => step === 0 ? writeCall(base, tensor, bytes) : undefined,
    };
  });
}

/** The command that reads pixels, or a buffer's bytes. GL waits for it. */
export function readCall(base: EglBase, { rawHandle, layout }: Readable, into: Uint8Array<ArrayBuffer>): Call<EglLane> {
  const fn = rawHandle instanceof GlBuffer ? "glMapBufferRange" : "glReadPixels";
  return {
    fn,
    blocks: true,
    call(lane) {
      lane.run(fn, () => {
        if (rawHandle instanceof GlBuffer) rawHandle.read(layout.byteOffset, into);
        else readPixels(rawHandle, into);
      });
      base.countCopied(into.length);
      return 0;
    },
  };
}

/** The command that writes them. GL has taken the bytes when it returns. */
export function writeCall(
  base: EglBase,
  { rawHandle, layout }: Readable,
  from: Uint8Array<ArrayBuffer>,
): Call<EglLane> {
  const fn = rawHandle instanceof GlBuffer ? "glMapBufferRange" : "glTexSubImage2D";
  return {
    fn,
    call(lane) {
      lane.run(fn, () => {
        if (rawHandle instanceof GlBuffer) rawHandle.write(layout.byteOffset, from);
        else writePixels(rawHandle, from);
      });
      base.countCopied(from.length);
      return 0;
    },
  };
}

/** The command that gives all pixels one colour. */
export function clearCall(picture: EglPicture, colour: readonly number[]): Call<EglLane> {
  const fn = "glClearBufferfv";
  return { fn, call: (lane) => lane.run(fn, () => clearPixels(picture, colour)) };
}
