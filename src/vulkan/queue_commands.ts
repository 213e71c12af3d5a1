import { isMade } from "../core/argument.ts";
import type { Call, Commands } from "../core/contract.ts";
import type { Use } from "../core/device/line.ts";
import { colourIn, type FillValue } from "../core/device/pattern.ts";
import type { Direction, HostBytes, Pixels } from "../core/device/queue.ts";
import { wrongMemory } from "../core/device/wrong_memory.ts";
import { isGapless } from "../core/layout/layout.ts";
import { countOf, placesOf, type Runs, runsBetween } from "../core/layout/runs.ts";
import type { Access } from "../core/memory/access.ts";
import type { VulkanBase } from "./base.ts";
import { copyCall, type Region } from "./commands.ts";
import { fillTensor } from "./fill.ts";
import { clearCall, pixelsCall, rangesOf } from "./images/commands.ts";
import { VulkanImage } from "./images/tensor.ts";
import type { VulkanLane } from "./lane.ts";
import { checks } from "./library.ts";
import { VulkanTensor } from "./tensor.ts";

const MAX_REGIONS = 65_536;

type Taken = VulkanTensor | VulkanImage;

const TAKES = { expected: "a VulkanTensor or a VulkanImage", target: "vulkan" };

export class VulkanCommands implements Commands<VulkanLane, Taken> {
  readonly checks = checks;
  readonly #base: VulkanBase;

  constructor(base: VulkanBase) {
    this.#base = base;
  }

  useOf(tensor: Taken, access: Access, argument: string): Use {
    if (!isMade<Taken>(tensor, VulkanImage) && !isMade<Taken>(tensor, VulkanTensor)) {
      throw wrongMemory(checks, tensor, access, argument, TAKES);
    }
    const hint = "Map it here first: graph.map(tensor, vulkan).";
    checks.assertHere(tensor.target.context, this.#base, argument, tensor.name, hint);
    return { tensor, access, argument };
  }

  fill(to: Taken, value: FillValue): Call<VulkanLane>[] {
    if (to instanceof VulkanImage) {
      const { vulkan } = to.format;
      const type = vulkan.endsWith("_UINT") ? "uint" : vulkan.endsWith("_SINT") ? "int" : "float";
      return [clearCall(to.rawHandle, colourIn(value, checks, type))];
    }
    return fillTensor(to, value);
  }

  copy(from: Taken, to: Taken): Call<VulkanLane>[] {
    if (from instanceof VulkanImage) return [pixels("read", from, to, "to")];
    if (to instanceof VulkanImage) return [pixels("write", to, from, "from")];
    const runs = runsBetween(from, to, { api: "vulkan", fn: "vkCmdCopyBuffer", argument: "to" });
    return [copyCall(from.rawHandle, to.rawHandle, regionsOf(runs, [from.layout.byteOffset, to.layout.byteOffset]))];
  }

  pixelsOf(tensor: Taken): Pixels | undefined {
    return tensor instanceof VulkanImage ? tensor.layout : undefined;
  }

  move(direction: Direction, tensor: Taken, { bytes }: HostBytes, offset: number): Iterable<Call<VulkanLane>> {
    const place = tensor instanceof VulkanImage ? tensor.rawHandle : { buffer: tensor.rawHandle, offset };
    return this.#base.staging.moves(direction, place, bytes);
  }
}

function pixels(
  direction: Direction,
  { rawHandle, layout, format, name }: VulkanImage,
  tensor: Taken,
  argument: string,
) {
  if (tensor instanceof VulkanImage) {
    throw checks.wrong("to", "both are images, which are copied to and from tensors.", "Copy it to a tensor first.");
  }
  const { byteOffset, byteLength } = tensor.layout;
  if (!isGapless(tensor.layout) || byteLength !== layout.byteLength) {
    throw checks.unfit(
      argument,
      `expected the ${layout.byteLength} bytes of ${name} without gaps, got ${tensor.name}.`,
    );
  }
  if (byteOffset % 4 !== 0 || byteOffset % format.bytesPerPixel !== 0) {
    throw checks.unfit(argument, `it begins at byte ${byteOffset}: expected a multiple of 4, and of a pixel's bytes.`);
  }
  const [whole] = rangesOf(rawHandle.spec, Infinity);
  return pixelsCall(direction, rawHandle, tensor.rawHandle, whole, byteOffset);
}

function regionsOf({ length, dimensions }: Runs, begins: readonly [number, number]): Region[] {
  const count = countOf(dimensions);
  if (count > MAX_REGIONS) {
    throw checks.unfit("to", `${count} rows with gaps are more than the ${MAX_REGIONS} of one copy.`);
  }
  return placesOf(begins, dimensions).map(([from, to]) => ({ from, to, length }));
}
