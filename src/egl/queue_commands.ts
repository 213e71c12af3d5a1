import type { Call, Commands } from "../core/contract.ts";
import type { Use } from "../core/device/line.ts";
import { colourIn, type FillValue } from "../core/device/pattern.ts";
import type { Direction, HostBytes, Pixels } from "../core/device/queue.ts";
import type { Access } from "../core/memory/access.ts";
import type { EglBase } from "./base.ts";
import { EglBufferTensor } from "./buffers.ts";
import type { EglLane } from "./lane.ts";
import { checks } from "./library.ts";
import { blitCall, clearCall, readCall, writeCall } from "./memory.ts";
import { memoryUse, type Picture, pictureOf } from "./uses.ts";

/** OpenGL ES fills and copies pictures, but not buffers. */
export class EglCommands implements Commands<EglLane, Picture | EglBufferTensor, Picture, Picture> {
  readonly checks = checks;
  readonly movesAtOnce = true;
  readonly #base: EglBase;

  constructor(base: EglBase) {
    this.#base = base;
  }

  useOf(given: Picture | EglBufferTensor, access: Access, argument: string): Use {
    return memoryUse(this.#base, given, access, argument);
  }

  fill(to: Picture, value: FillValue): Call<EglLane>[] {
    const { planes: [plane, another] } = pictureOf(this.#base, to, "write", "to");
    if (another !== undefined) throw checks.unfit("to", `${to.name} has several planes.`, "Fill each plane.");
    return [clearCall(plane.rawHandle, colourIn(value, checks, "float"))];
  }

  /** GL converts between formats of one plane. */
  copy(from: Picture, to: Picture): Call<EglLane>[] {
    const [source, target] = [pictureOf(this.#base, from, "read", "from"), pictureOf(this.#base, to, "write", "to")];
    const sizes = [source, target].map(({ planes }) =>
      planes.map(({ rawHandle: { width, height } }) => `${width}×${height}`).join(" and ")
    );
    if (sizes[0] !== sizes[1]) {
      throw checks.unfit("to", `expected ${sizes[0]} pixels, as ${from.name} has, got ${sizes[1]}.`);
    }
    if (source.planes.some((one) => target.planes.some((other) => one.rawHandle.isSameAs(other.rawHandle)))) {
      throw checks.unfit("to", "it is the same picture.");
    }
    return [blitCall(source.planes.map((plane, i) => [plane.rawHandle, target.planes[i].rawHandle] as const))];
  }

  pixelsOf(memory: Picture | EglBufferTensor): Pixels | undefined {
    if (memory instanceof EglBufferTensor) return undefined;
    const planes = planesOf(this.#base, memory);
    const byteLength = planes.reduce((sum, { layout }) => sum + layout.byteLength, 0);
    return { byteLength, dtype: planes[0].dtype }; // all planes of a format have one
  }

  move(direction: Direction, memory: Picture | EglBufferTensor, { bytes }: HostBytes, begin: number): Call<EglLane>[] {
    const make = direction === "read" ? readCall : writeCall;
    if (memory instanceof EglBufferTensor) return [make(memory, bytes, begin)];
    const planes = planesOf(this.#base, memory);
    if (direction === "write" && planes.some(({ rawHandle: { storage } }) => storage === "renderbuffer")) {
      throw checks.unfit("to", "a renderbuffer is only drawn to.", "Write to a texture, and copy that.");
    }
    let first = 0;
    return planes.map((plane) => make(plane, bytes.subarray(first, first += plane.layout.byteLength), 0));
  }
}

function planesOf(base: EglBase, picture: Picture) {
  return pictureOf(base, picture, undefined, "picture").planes;
}
