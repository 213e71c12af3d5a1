import { UCS_MEMORY_TYPE_CUDA, UCS_MEMORY_TYPE_HOST } from "../../ffi/ucx/constants.ts";
import type { ArgumentError } from "../core/errors.ts";
import { messageOf } from "../core/errors.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import { type EnvelopeKind, isCount, isList, isObject, isText, sealed, unsealed } from "../envelope/envelope.ts";
import { checks } from "./library.ts";

/** What another process has to know of shared memory. */
export interface Ticket {
  /** What it may do with the bytes. */
  readonly access: "read" | "read-write";
  /** Where it connects to. */
  readonly worker: Uint8Array<ArrayBuffer>;
  readonly tensors: readonly TicketTensor[];
}

export interface TicketTensor {
  /** Its elements, without gaps, from the address on. */
  readonly layout: Layout;
  readonly address: bigint;
  /** UCX's remote key, packed. */
  readonly key: Uint8Array<ArrayBuffer>;
}

/** True for memory of CUDA's. */
export function isOfCuda({ key }: TicketTensor): boolean {
  return key[MEMORY_TYPE_AT] === UCS_MEMORY_TYPE_CUDA;
}

interface Header {
  readonly kind: "ucx.share";
  readonly access: "read" | "read-write";
  /** The length of the worker's address; the keys follow it. */
  readonly worker: number;
  readonly tensors: readonly HeaderTensor[];
}

interface HeaderTensor {
  readonly dtype: Layout["dtype"];
  readonly shape: readonly number[];
  readonly address: string;
  readonly key: number;
}

/** A worker's address has some 50 bytes a transport, a key some 10: more is not a ticket. */
const LONGEST = 65_536;

/** More tensors are a mistake. */
export const MAX_TENSORS = 4_096;

const KIND: EnvelopeKind<Header> = { version: 1, what: "a ticket for a samepage share", isHeader, damaged };

export function packTicket({ access, worker, tensors }: Ticket): Uint8Array<ArrayBuffer> {
  const header: Header = {
    kind: "ucx.share",
    access,
    worker: worker.length,
    tensors: tensors.map(({ layout: { dtype, shape }, address, key }) => ({
      ...{ dtype, shape },
      ...{ address: `${address}`, key: key.length },
    })),
  };
  return sealed(KIND, header, [worker, ...tensors.map(({ key }) => key)]);
}

/** What these bytes say. @throws {ArgumentError} if they were changed or cut, or make no sense. */
export function unpackTicket(bytes: Uint8Array<ArrayBuffer>): Ticket {
  const { header, payload } = unsealed(KIND, bytes);
  let at = 0;
  const take = (length: number) => payload.slice(at, at += length);
  const worker = take(header.worker);
  const tensors = header.tensors.map(({ dtype, shape, address, key }): TicketTensor => ({
    layout: layoutIn({ dtype, shape }),
    address: BigInt(address),
    key: take(key),
  }));
  if (at !== payload.length) throw damaged("its parts are not as long as it says.");
  const wrong = wrongInAddress(worker) ?? tensors.map(({ key }) => wrongInKey(key)).find((what) => what !== undefined);
  if (wrong !== undefined) throw damaged(wrong);
  for (const { layout: { byteLength }, address } of tensors) {
    if (address + BigInt(byteLength) > 2n ** 64n) throw damaged("a tensor reaches past the end of memory.");
  }
  return { access: header.access, worker, tensors };
}

/** The versions of addresses that UCX knows, in the lower half of the first byte: it ends the process for others. */
const ADDRESS_VERSIONS = 2;

/** What is wrong in the address of a worker, as far as it can be seen from outside of UCX. */
export function wrongInAddress(address: Uint8Array): string | undefined {
  const version = address[0] & 15;
  if (version < ADDRESS_VERSIONS) return undefined;
  return `its address is of version ${version}, which UCX does not know.`;
}

/** Behind the domains of memory, the type of memory, and for each domain a length and so many bytes. */
const [MEMORY_TYPE_AT, DOMAINS_AT] = [8, 9];

const MEMORY_TYPES: ReadonlySet<number> = new Set([UCS_MEMORY_TYPE_HOST, UCS_MEMORY_TYPE_CUDA]);

/** What is wrong in a packed key: UCX reads past its end where its lengths say so. */
function wrongInKey(key: Uint8Array<ArrayBuffer>): string | undefined {
  if (key.length < DOMAINS_AT) return `a key has ${key.length} bytes.`;
  if (!MEMORY_TYPES.has(key[MEMORY_TYPE_AT])) return "a key is of memory that is neither the CPU's nor CUDA's.";
  let at = DOMAINS_AT;
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  for (let domains = view.getBigUint64(0, true); domains !== 0n; domains &= domains - 1n) {
    at += 1 + (key[at] ?? key.length);
  }
  return at <= key.length ? undefined : "a key is shorter than it says.";
}

export function isDense({ dtype, shape, byteLength }: Layout): boolean {
  return shape.reduce((count, size) => count * size, sizeOf(dtype)) === byteLength;
}

function layoutIn(given: Pick<HeaderTensor, "dtype" | "shape">): Layout {
  try {
    return layout(given);
  } catch (error) {
    throw damaged(`a layout is wrong: ${messageOf(error)}`);
  }
}

function isHeader(value: unknown): value is Header {
  return isObject(value) && value.kind === "ucx.share" && (value.access === "read" || value.access === "read-write") &&
    isLength(value.worker) && isList(value.tensors, isTensor) && value.tensors.length > 0 &&
    value.tensors.length <= MAX_TENSORS;
}

function isTensor(value: unknown): boolean {
  return isObject(value) && isText(value.dtype) && isList(value.shape, isCount) && isLength(value.key) &&
    isText(value.address) && /^[1-9][0-9]{0,19}$/.test(value.address);
}

function isLength(value: unknown): boolean {
  return isCount(value) && value > 0 && value <= LONGEST;
}

function damaged(what: string): ArgumentError {
  return checks.wrong("ticket", what, "Pass on all bytes of share.ticket, unchanged.");
}
