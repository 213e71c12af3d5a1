import type { Offer } from "../contract.ts";
import type { Reason } from "../errors.ts";
import { type DType, sizeOf } from "../layout/dtype.ts";
import type { Layout } from "../layout/layout.ts";
import { covers } from "../memory/access.ts";
import type { FdFacts } from "../native/fd.ts";
import { BoundingRange, type DescribedPlane } from "../tensors/described.ts";

/** What an offer takes; it does not limit what is left out. */
export interface Takes {
  /** The dtypes of its elements. */
  readonly dtypes?: readonly DType[];
  /** Where gaps are not taken: `"rows"`, within a row, so that only the first dimension's stride is free; or `"all"`. */
  readonly dense?: "rows" | "all";
  /** Its host address, else its place in its block, and its length are multiples of so many bytes: a power of two. */
  readonly align?: number;
  /** What sets the limits, in messages: the format of an image. */
  readonly of?: string;
}

type Closed = Reason | undefined;

/** Why an offer does not take this memory, though it takes other memory: by its limits, or by its own judgement. */
export function refuseBy<What extends { readonly planes?: readonly DescribedPlane[] }>(
  offer: Pick<Offer<What>, "takes" | "refuse">,
  what: What,
): Closed {
  const { takes } = offer;
  const beyond = takes === undefined || what.planes === undefined ? undefined : refuseTaken(takes, what.planes);
  return beyond ?? offer.refuse?.(what);
}

/** Why an import that maps what it imports for the CPU does not take memory by an fd. */
export function refuseFd({ kind, fdAccess }: Pick<Offer, "kind" | "fdAccess">, fd: FdFacts): Closed {
  if (fdAccess === undefined) return undefined;
  if (covers(fd.access, fdAccess)) return fd.hidden;
  return {
    reason: `its ${kind} is open for "${fd.access}" only, and the driver maps what it imports, for "${fdAccess}".`,
    remedy:
      "Where the CPU can map it, add the host to the graph: the route leads through it. Or ask its owner for another fd.",
  };
}

export function refuseTaken(takes: Takes, planes: readonly DescribedPlane[]): Closed {
  const { align } = takes;
  for (const { layout } of planes) {
    const refusal = refuseDType(takes, layout) ?? refuseGaps(takes, layout);
    if (refusal !== undefined) return refusal;
  }
  return align === undefined ? undefined : refusePlace(align, planes);
}

function refuseDType({ dtypes, of = "this target" }: Takes, { dtype }: Layout): Closed {
  if (dtypes === undefined || dtypes.includes(dtype)) return undefined;
  return {
    reason: `dtype: its elements are ${dtype}; those of ${of} are ${dtypes.join(", ")}.`,
    remedy: "Make it of such elements, or copy them there: reading them as others would show other numbers.",
  };
}

function refuseGaps({ dense }: Takes, { shape, strides, dtype }: Layout): Closed {
  if (dense === undefined) return undefined;
  const first = dense === "rows" && shape.length > 1 ? 1 : 0;
  const where = dense === "rows" ? " within a row" : "";
  let expected = sizeOf(dtype);
  for (let i = shape.length - 1; i >= first; i--) {
    if (shape[i] > 1 && strides[i] !== expected) {
      return {
        reason: `strides[${i}]: expected ${expected} bytes, got ${strides[i]}: there may be no gaps${where}.`,
        argument: `strides[${i}]`,
      };
    }
    expected *= shape[i];
  }
}

function refusePlace(align: number, planes: readonly DescribedPlane[]): Closed {
  const { address, start, byteLength } = new BoundingRange(planes);
  const beyond = address === undefined ? start % align : Number(address % BigInt(align));
  if (beyond === 0 && byteLength % align === 0) return undefined;
  return {
    reason: `it begins ${beyond} bytes after a multiple of ${align}, and has ${byteLength} bytes: ` +
      `memory is taken that begins and ends at multiples of ${align} bytes.`,
    remedy: `Allocate it so: with { align: ${align} }, and a length that ${align} divides.`,
  };
}
