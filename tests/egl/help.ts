import { InteropError } from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import type { Frame } from "../../src/core/tensors/frame.ts";
import type { EglTensor } from "../../src/egl/mod.ts";

/** Why there is no EGL here; undefined where there is. It opens the libraries. */
export function missing(): string | undefined {
  try {
    EglContext.open()[Symbol.dispose]();
    return undefined;
  } catch (error) {
    if (error instanceof InteropError) return error.message;
    throw error;
  }
}

/** A test that needs EGL; `lacks` is what else it needs that is not here. */
export function test(name: string, fn: (egl: EglContext) => unknown, lacks?: string): void {
  const reason = missing() ?? lacks;
  Deno.test({
    name: `egl: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    async fn() {
      using egl = EglContext.open();
      await fn(egl);
    },
  });
}

/** Random bytes for all planes of a picture. */
export function noiseFor(picture: Frame<EglTensor>): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(lengthOf(picture)));
}

/** The bytes of all planes of a picture. */
export function bytesOf(egl: EglContext, picture: Frame<EglTensor>): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(lengthOf(picture));
  egl.queue.read(picture, bytes);
  return bytes;
}

function lengthOf({ planes }: Frame<EglTensor>): number {
  return planes.reduce((sum, { layout: { byteLength } }) => sum + byteLength, 0);
}
