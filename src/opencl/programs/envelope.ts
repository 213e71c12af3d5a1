import { crc32, fnv1a } from "../../core/checksum.ts";
import { BinaryError } from "../errors.ts";
import type { ParameterInfo } from "../arguments/parameter.ts";
import { type DeviceIdentity, IDENTITY } from "../devices/identity.ts";

/** The binary of one device, and which device that is. */
export interface DeviceBinary {
  /** What the driver made it for. */
  readonly identity: DeviceIdentity;
  /** What the driver made. */
  readonly binary: Uint8Array<ArrayBuffer>;
}

/** What a program is, once it is built, for as long as its devices and drivers stay what they are. */
export interface Envelope {
  /** The options that it was built with. */
  readonly options: string;
  /** The source that it was built from, where somebody will ask whether it is the same. */
  readonly source: string | undefined;
  /** What each device runs. */
  readonly devices: readonly DeviceBinary[];
  /** What arguments can be checked by: drivers forget it (PoCL 3.1). */
  readonly kernels: ReadonlyMap<string, readonly ParameterInfo[]>;
}

/*
 * The bytes: MAGIC, u32 VERSION, u32 length of the header, the header (JSON), the binaries in its order, and u32 CRC-32
 * and u32 FNV-1a of all before. Numbers are little-endian.
 */
const MAGIC = new TextEncoder().encode("samepage");
const VERSION = 1;
const HEADER_AT = MAGIC.length + 8;
const CHECKSUMS = 8;

/** How the header says it. */
interface Header {
  readonly options: string;
  readonly source?: string;
  readonly devices: readonly (DeviceIdentity & { readonly byteLength: number })[];
  readonly kernels: readonly { readonly name: string; readonly parameters: readonly PackedParameter[] }[];
}

type PackedParameter = Omit<ParameterInfo, "qualifiers"> & { readonly qualifiers: number };

/** An envelope as bytes. */
export function pack({ options, source, devices, kernels }: Envelope): Uint8Array<ArrayBuffer> {
  const header: Header = {
    options,
    ...(source === undefined ? {} : { source }),
    devices: devices.map(({ identity, binary }) => ({ ...identity, byteLength: binary.byteLength })),
    kernels: [...kernels].map(([name, parameters]) => ({
      name,
      parameters: parameters.map((info) => ({ ...info, qualifiers: Number(info.qualifiers) })),
    })),
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const binaries = devices.reduce((sum, { binary }) => sum + binary.byteLength, 0);
  const bytes = new Uint8Array(HEADER_AT + text.length + binaries + CHECKSUMS);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(MAGIC.length, VERSION, true);
  view.setUint32(MAGIC.length + 4, text.length, true);
  let at = HEADER_AT;
  for (const part of [text, ...devices.map(({ binary }) => binary)]) {
    bytes.set(part, at);
    at += part.length;
  }
  const checked = bytes.subarray(0, at);
  view.setUint32(at, crc32(checked), true);
  view.setUint32(at + 4, fnv1a(checked), true);
  return bytes;
}

/** What was packed. @throws {BinaryError} unless it is all there, as it was. */
export function unpack(bytes: Uint8Array<ArrayBuffer>): Envelope {
  if (bytes.length < HEADER_AT + CHECKSUMS || MAGIC.some((byte, i) => byte !== bytes[i])) {
    throw damaged("it is no binary of a samepage program.");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(MAGIC.length, true);
  if (version !== VERSION) throw damaged(`it is of format ${version}; this samepage reads format ${VERSION}.`);
  const end = bytes.length - CHECKSUMS;
  const checked = bytes.subarray(0, end);
  if (view.getUint32(end, true) !== crc32(checked) || view.getUint32(end + 4, true) !== fnv1a(checked)) {
    throw damaged("it is cut short, or bytes of it were changed.");
  }
  const begin = HEADER_AT + view.getUint32(MAGIC.length + 4, true);
  if (begin > end) throw damaged("its header reaches past its end.");
  const header = headerIn(bytes.subarray(HEADER_AT, begin));
  const lengths = header.devices.map(({ byteLength }) => byteLength);
  if (begin + lengths.reduce((sum, length) => sum + length, 0) !== end) throw damaged("its lengths do not add up.");
  let at = begin;
  return {
    options: header.options,
    source: header.source,
    devices: header.devices.map(({ byteLength, ...identity }) => {
      at += byteLength;
      return { identity, binary: bytes.slice(at - byteLength, at) };
    }),
    kernels: new Map(header.kernels.map(({ name, parameters }) => [name, parameters.map(infoIn)])),
  };
}

function infoIn({ qualifiers, ...info }: PackedParameter): ParameterInfo {
  return { ...info, qualifiers: BigInt(qualifiers) };
}

/** A header that is one: a checksum does not say who wrote it. */
function headerIn(bytes: Uint8Array): Header {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw damaged("its header is no JSON.");
  }
  if (isHeader(header)) return header;
  throw damaged("its header is not one of samepage's.");
}

type Fields = Readonly<Record<string, unknown>>;

function isHeader(value: unknown): value is Header {
  return isObject(value) && isText(value.options) && (value.source === undefined || isText(value.source)) &&
    isList(value.devices, isDevice) && value.devices.length > 0 && isList(value.kernels, isKernel);
}

function isDevice(value: unknown): boolean {
  return isObject(value) && IDENTITY.every((field) => isText(value[field])) && isCount(value.byteLength) &&
    value.byteLength > 0;
}

function isKernel(value: unknown): boolean {
  return isObject(value) && isText(value.name) && isList(value.parameters, isParameter);
}

function isParameter(value: unknown): boolean {
  return isObject(value) && isText(value.name) && isText(value.type) && typeof value.opaque === "boolean" &&
    [value.address, value.access, value.qualifiers].every(isCount);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isList(value: unknown, isItem: (item: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isItem);
}

function damaged(what: string): BinaryError {
  return new BinaryError(`bytes: ${what}`, "damaged", {
    api: "opencl",
    argument: "bytes",
    hint: "Build the program from its source.",
  });
}
