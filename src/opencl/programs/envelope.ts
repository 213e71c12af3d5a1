import { type EnvelopeKind, isCount, isList, isObject, isText, sealed, unsealed } from "../../envelope/envelope.ts";
import { BinaryError } from "../errors.ts";
import type { ParameterInfo } from "../arguments/info.ts";
import { type DeviceIdentity, IDENTITY } from "../devices/identity.ts";

export interface DeviceBinary {
  readonly identity: DeviceIdentity;
  readonly binary: Uint8Array<ArrayBuffer>;
}

/** A built program as data, valid while its devices and drivers stay the same. */
export interface Envelope {
  readonly options: string;
  /** Its source, if a cache will compare it. */
  readonly source: string | undefined;
  readonly devices: readonly DeviceBinary[];
  /** Its kernels' parameters, which drivers forget in binaries (PoCL 3.1). */
  readonly kernels: ReadonlyMap<string, readonly ParameterInfo[]>;
}

interface Header {
  readonly options: string;
  readonly source?: string;
  readonly devices: readonly (DeviceIdentity & { readonly byteLength: number })[];
  readonly kernels: readonly { readonly name: string; readonly parameters: readonly PackedParameter[] }[];
}

type PackedParameter = Omit<ParameterInfo, "qualifiers"> & { readonly qualifiers: number };

const KIND: EnvelopeKind<Header> = { version: 1, what: "a binary of a samepage program", isHeader, damaged };

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
  return sealed(KIND, header, devices.map(({ binary }) => binary));
}

export function unpack(bytes: Uint8Array<ArrayBuffer>): Envelope {
  const { header, payload } = unsealed(KIND, bytes);
  const lengths = header.devices.map(({ byteLength }) => byteLength);
  if (lengths.reduce((sum, length) => sum + length, 0) !== payload.length) throw damaged("its lengths do not add up.");
  let at = 0;
  return {
    options: header.options,
    source: header.source,
    devices: header.devices.map(({ byteLength, ...identity }) => {
      at += byteLength;
      return { identity, binary: payload.slice(at - byteLength, at) };
    }),
    kernels: new Map(header.kernels.map(({ name, parameters }) => [name, parameters.map(infoIn)])),
  };
}

function infoIn({ qualifiers, ...info }: PackedParameter): ParameterInfo {
  return { ...info, qualifiers: BigInt(qualifiers) };
}

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
    [value.address, value.access, value.qualifiers, value.size ?? 0].every(isCount);
}

function damaged(what: string): BinaryError {
  return new BinaryError(`bytes: ${what}`, "damaged", {
    api: "opencl",
    argument: "bytes",
    hint: "Build the program from its source.",
  });
}
