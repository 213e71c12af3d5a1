import { isMade, type Names, optionsIn } from "../core/argument.ts";
import type { Use } from "../core/device/line.ts";
import { AccessError } from "../core/errors.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { EglBase } from "./base.ts";
import type { GlBuffer } from "./buffer.ts";
import { EglBufferTensor } from "./buffers.ts";
import { checks } from "./library.ts";
import type { EglPicture } from "./picture.ts";
import { EglTensor } from "./tensor.ts";

/** A picture: a frame of images, or one of its planes. */
export type Picture = EglTensor | Frame<EglTensor>;

/** A picture or a buffer that a program's own commands use, and their access to it. */
export type GlUse =
  & ({ readonly picture: Picture; readonly buffer?: never } | {
    readonly buffer: EglBufferTensor;
    readonly picture?: never;
  })
  & {
    /** How the commands use it; its own access by default. */
    readonly access?: Access;
  };

const USE: Names<GlUse> = { picture: true, buffer: true, access: true };

export interface UsedPicture {
  readonly use: Use;
  readonly planes: readonly EglTensor[];
}

export function useOf(base: EglBase, given: GlUse, argument: string): Use {
  const { picture, buffer, access } = optionsIn(given, USE, argument);
  const allowed = access === undefined ? undefined : accessOf(access, access);
  if (buffer === undefined) return pictureOf(base, picture!, allowed, `${argument}.picture`).use;
  if (picture !== undefined) throw checks.wrong(argument, "it names a picture and a buffer.", "Make two uses.");
  checks.assertInstance(buffer, EglBufferTensor, `${argument}.buffer`);
  return bufferUse(base, buffer, allowed, `${argument}.buffer`);
}

export function memoryUse(base: EglBase, given: Picture | EglBufferTensor, access: Access, argument: string): Use {
  if (isMade<EglBufferTensor>(given, EglBufferTensor)) {
    return bufferUse(base, given as EglBufferTensor, access, argument);
  }
  return pictureOf(base, given as Picture, access, argument).use;
}

export function pictureOf(
  base: EglBase,
  picture: Picture,
  access: Access | undefined,
  argument: string,
): UsedPicture {
  const isFrame = isMade<Frame>(picture, Frame);
  const planes: readonly Tensor[] = isFrame ? (picture as Frame).planes : [picture as Tensor];
  const [first] = planes;
  const hint = isFrame ? "Map it here first: graph.map(frame, egl.image)." : undefined;
  if (!isMade<unknown>(first, EglTensor)) throw checks.wrongKind(argument, "an EglTensor", first, hint);
  base.resource.assertLive();
  const { name } = picture;
  checks.assertHere(first.target.context, base, argument, name, hint);
  for (const { rawHandle } of planes as EglTensor[]) assertHere(rawHandle, name, argument);
  const use = { tensor: picture, access: access ?? picture.access, argument };
  return { use, planes: planes as EglTensor[] };
}

function bufferUse(base: EglBase, buffer: EglBufferTensor, access: Access | undefined, argument: string): Use {
  base.resource.assertLive();
  checks.assertHere(buffer.target.context, base, argument, buffer.name, "Use it there.");
  assertHere(buffer.rawHandle, buffer.name, argument);
  return { tensor: buffer, access: access ?? buffer.access, argument };
}

/** GL must not even read a picture or buffer that is mapped to CUDA (cudaGraphicsMapResources). */
function assertHere({ lent }: EglPicture | GlBuffer, name: string, argument: string): void {
  if (lent === 0) return;
  throw new AccessError(`${argument}: ${name} is mapped to another driver, and GL must not use it until that ends.`, {
    api: "egl",
    argument,
    hint: "Dispose the map first.",
  });
}
