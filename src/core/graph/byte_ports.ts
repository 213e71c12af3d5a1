import { portsOf } from "./context.ts";
import { type MemoryKind, Port } from "../device/port.ts";
import { type Layout, moved } from "../layout/layout.ts";
import { reads } from "../memory/access.ts";
import { registerPlace, showAt } from "../memory/peers.ts";
import { type ByteRange, type Described, type DescribedPlane, laidOut } from "../tensors/described.ts";
import { planesOf } from "../tensors/frame.ts";
import type { Mapped } from "../tensors/mapped.ts";
import { planesFrom, within } from "../tensors/over.ts";
import type { Tensor } from "../tensors/tensor.ts";
import type { Exported, Imported } from "../contract.ts";
import type { Manner } from "./port_mapper.ts";

/** Kinds of port that are the memory's own address, unless it was copied. */
const HOST_KINDS: readonly MemoryKind[] = ["host-pointer", "host-view"];

export const BYTES: Manner<ByteRange> = {
  takesParts: false,
  at: "",
  portsAt: portsOf,
  subjectOf: ({ range }) => range,
  lengthOf: ({ range: { byteLength } }) => byteLength,
  /** Addresses stay getters, because reading one may map the memory for the CPU. */
  planesIn(source, transfer, { out }) {
    const stays = !out.places && (transfer === "alias" || (transfer === "migrate" && HOST_KINDS.includes(out.kind)));
    if (stays && beginAt(source.planes, source.range.start)) return source.planes;
    const layouts = layoutsIn(source);
    return source.planes.map((plane, i) => {
      const { allocation, start } = plane;
      return stays ? laidOut(plane, layouts[i]) : { layout: layouts[i], allocation, start };
    });
  },
  fetches: (source, access) => reads(access) || source.hasGaps,
  export(source, kind, access) {
    const { described } = source;
    const { range } = described;
    const ports = portsOf(source.target)!;
    const { byteLength } = range;
    if (isAddressed(ports, kind)) return { port: new Port(kind, { value: range.address!, byteLength }) };
    return ports.export!(firstPlane(source), kind, byteLength, access, described.hasGaps);
  },
  stage(source, stage, kind) {
    const { byteLength } = source.described.range;
    const copy = stage(firstPlane(source), byteLength);
    return { copy, port: new Port(kind, { value: copy.block.address, byteLength }) };
  },
  blockOf: ({ range: { allocation } }) => allocation,
  import(port: Port, target, access, _source, block) {
    const of = port.kind === "dma-buf" ? undefined : block; // a dma-buf may show a part of the block
    return portsOf(target)!.import!(port, access, of);
  },
  place({ handle, object }: Imported, _blocks, { exported, copy, grants }, { described, name }, { undo, step }) {
    const { allocation, start } = grants[0];
    const { kind, value, byteLength } = exported.port as Port;
    if (kind === "host-view" && copy === undefined && described.range.address === undefined) {
      undo.push(showAt(value, byteLength, name));
    }
    // While the map lasts, an import of the same object finds the source's allocation.
    if (object !== undefined) undo.push(registerPlace(object.kind, object.handle, allocation, start - object.start));
    const layouts = (exported as Exported).shown?.layouts ?? step.result.layouts;
    return { planes: planesFrom(handle, within(object, layouts), grants[0]), grants };
  },
};

/** True for a port that takes no more than the address, which is known without a tensor. */
export function isAddressed({ addressOf }: { readonly addressOf?: unknown }, kind: MemoryKind): boolean {
  return kind === "host-pointer" && addressOf !== undefined;
}

/** True if their layouts count from the first byte of all planes already, and nothing is known of fds of them. */
function beginAt(planes: readonly DescribedPlane[], first: number): boolean {
  for (let i = 0; i < planes.length; i++) {
    const { fd, layout, start } = planes[i];
    if (fd !== undefined || layout.byteOffset !== start - first) return false;
  }
  return true;
}

/** The planes' layouts, counted from the first byte of all planes. */
function layoutsIn({ planes, range }: Described): Layout[] {
  return planes.map(({ layout, start }) => moved(layout, start - range.start));
}

function firstPlane(source: Mapped): Tensor {
  return planesOf(source).reduce((first, plane) => plane.grant.start < first.grant.start ? plane : first);
}
