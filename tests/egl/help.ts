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

/**
 * `deno test` runs a file on a thread of its own, and exits while that may still be ending: what libEGL does at the end of
 * a thread that has used it would then meet what its end of the process has freed (gdb has shown a SIGSEGV there, once).
 */
function releaseThreadAtEnd(): void {
  if (isReleased) return;
  isReleased = true;
  const { symbols } = Deno.dlopen("libEGL.so.1", { eglReleaseThread: { parameters: [], result: "u32" } });
  addEventListener("unload", () => void symbols.eglReleaseThread());
}

let isReleased = false;

/** A test that needs EGL; `lacks` is what else it needs that is not here. */
export function test(name: string, fn: (egl: EglContext) => unknown, lacks?: string): void {
  const reason = missing() ?? lacks;
  if (reason === undefined) releaseThreadAtEnd();
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
