import type { Call, Memory, Offer, Staged } from "../core/contract.ts";
import type { Layout } from "../core/layout/layout.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import { bytesAt } from "../core/native/pin.ts";
import type { EglBase } from "./base.ts";
import { GlBuffer } from "./buffer.ts";
import { imagesOf } from "./image_ports.ts";
import type { EglLane } from "./lane.ts";
import type { EglPicture } from "./picture.ts";
import { clearPixels, copyPixels, readPixels, writePixels } from "./pixels.ts";
import { EglTensor } from "./tensor.ts";

export interface Readable {
  readonly rawHandle: EglPicture | GlBuffer;
  readonly layout: Layout;
}

/** The ports of a context's images. To host memory they are copied. */
export function portsOf(base: EglBase): Memory<EglTensor, EglPicture> {
  return {
    get line() {
      return base.line;
    },
    exports: [byCopy()],
    imports: [],
    images: imagesOf(base),
    tensor: (init) => new EglTensor(init),
  };
}

export function byCopy(): Offer {
  return {
    kind: "host-pointer",
    transfer: "copy",
    stage: (tensor, byteLength) => staged(tensor as Readable, byteLength),
  };
}

function staged({ rawHandle, layout: { byteOffset } }: Readable, byteLength: number): Staged {
  const block = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
  const undo: Undo = [];
  const make = () => bytesAt(block.address, byteLength, "egl", undo);
  const bytes = allOrNothing("making host memory for GL's", make, [() => block.free("unused")]);
  return {
    block: { ...block, free: (fate) => undoAll([() => block.free(fate), ...undo], "freeing host memory") },
    there: () => readCall({ rawHandle }, bytes, byteOffset),
    back: () => writeCall({ rawHandle }, bytes, byteOffset),
  };
}

export function readCall(
  { rawHandle }: Pick<Readable, "rawHandle">,
  into: Uint8Array<ArrayBuffer>,
  begin: number,
): Call<EglLane> {
  if (rawHandle instanceof GlBuffer) return glCall("glMapBufferRange", () => rawHandle.read(begin, into), true);
  return glCall("glReadPixels", () => readPixels(rawHandle, into), true);
}

/** The command that writes bytes to a plane. GL has read them when the command returns. */
export function writeCall(
  { rawHandle }: Pick<Readable, "rawHandle">,
  from: Uint8Array<ArrayBuffer>,
  begin: number,
): Call<EglLane> {
  if (rawHandle instanceof GlBuffer) return glCall("glMapBufferRange", () => rawHandle.write(begin, from));
  return glCall("glTexSubImage2D", () => writePixels(rawHandle, from));
}

function glCall(fn: string, run: () => void, blocks: boolean = false): Call<EglLane> {
  return { fn, blocks, call: (lane) => lane.run(fn, run) };
}

export function clearCall(picture: EglPicture, colour: ArrayBufferView<ArrayBuffer>): Call<EglLane> {
  return glCall("glClearBufferfv", () => clearPixels(picture, colour));
}

export function blitCall(pairs: readonly (readonly [EglPicture, EglPicture])[]): Call<EglLane> {
  return glCall("glBlitFramebuffer", () => pairs.forEach(([one, other]) => copyPixels(one, other)));
}
