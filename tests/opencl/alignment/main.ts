/**
 * Tries the rows of one kind of map, one after the other, and says which it is at before it does: a driver may end the
 * process. `main.ts KIND PLATFORM FIRST` begins at row FIRST.
 *
 * @module
 */
import { buffers, shared } from "./buffers.ts";
import { imageProofs, images, imagesOverBuffers } from "./images.ts";
import { mats, umats } from "./opencv.ts";
import type { Kind } from "./rows.ts";

const KINDS: { readonly [name: string]: Kind } = {
  buffers,
  shared,
  images,
  imageProofs,
  imagesOverBuffers,
  mats,
  umats,
};

/** Written at once: what is still in a buffer when the process ends is lost. */
function say(...words: readonly (string | number)[]): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${words.join("\t")}\n`));
}

const [kind, platform, first] = Deno.args;
using stack = new DisposableStack();
let count = 0;
for (const { name, run } of KINDS[kind](platform, stack)) {
  if (count++ < Number(first)) continue;
  say("at", count, name);
  try {
    run();
  } catch (error) {
    say("wrong", count, `${name}: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
  }
}
say("end", count);
