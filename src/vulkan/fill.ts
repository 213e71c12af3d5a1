import { assertFew } from "../core/device/box.ts";
import type { Call } from "../core/contract.ts";
import { assertRepeats, type FillValue, patternIn } from "../core/device/pattern.ts";
import { LayoutError } from "../core/errors.ts";
import { countOf, placesOf, runsOf } from "../core/layout/runs.ts";
import { copyCall, fillCall, type Filled, type Region } from "./commands.ts";
import type { VulkanLane } from "./lane.ts";
import { checks } from "./library.ts";
import type { VulkanTensor } from "./tensor.ts";

/** The bytes of a word of vkCmdFillBuffer, which begins at a multiple of them. */
const WORD = 4;

/**
 * The commands that fill a tensor's elements, row by row if there are gaps. The bytes of a row before its first word and
 * after its last are copied from the filled words, because a copy takes any number of bytes.
 */
export function fillTensor({ layout, name, rawHandle }: VulkanTensor, value: FillValue): Call<VulkanLane>[] {
  const pattern = patternIn(value, layout.dtype, checks);
  const bytes = periodOf(pattern, layout.dtype);
  const about = { api: "vulkan", fn: "vkCmdFillBuffer", argument: "to" };
  const { length, dimensions } = runsOf([layout]);
  assertFew(countOf(dimensions), name, about);
  assertRepeats(pattern, length, name, checks);
  const fills: Filled[] = [];
  const copies: Region[] = [];
  for (const [begin] of placesOf([layout.byteOffset], dimensions)) {
    const end = begin + length;
    const [first, last] = [Math.ceil(begin / WORD) * WORD, Math.floor(end / WORD) * WORD];
    if (first >= last) {
      const what = `the ${length} bytes at byte ${begin} of ${name} are not a whole word at a multiple of ${WORD}.`;
      throw new LayoutError(`to: ${what}`, { ...about, hint: "Write it: queue.write()." });
    }
    fills.push({ at: first, length: last - first, word: wordFrom(bytes, first - begin) });
    if (first > begin) copies.push({ from: begin + WORD, to: begin, length: first - begin });
    if (end > last) copies.push({ from: last - WORD, to: last, length: end - last });
  }
  return [fillCall(rawHandle, fills), ...(copies.length === 0 ? [] : [copyCall(rawHandle, rawHandle, copies)])];
}

function periodOf(pattern: Uint8Array, dtype: string): Uint8Array {
  const bytes = Uint8Array.from({ length: WORD }, (_, i) => pattern[i % pattern.length]);
  if (pattern.every((byte, i) => byte === bytes[i % WORD])) return bytes;
  const what = `Vulkan fills with ${WORD} bytes, and the parts of this ${dtype} differ.`;
  throw checks.wrong("value", what, "Write it: queue.write().");
}

function wordFrom(bytes: Uint8Array, begin: number): number {
  return new Uint32Array(Uint8Array.from(bytes, (_, i) => bytes[(begin + i) % WORD]).buffer)[0];
}
