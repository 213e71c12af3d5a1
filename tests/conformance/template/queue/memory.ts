/**
 * 2. What the API's memory gives to others and takes from them: the `ports`, of which the graph makes edges. Where the bytes
 * are not used in place, a command brings them and another takes them back.
 *
 * @module
 */
import type { Exported, Imported, Memory, Offer, Staged, StepSide } from "../../../../src/core/contract.ts";
import type { Line } from "../../../../src/core/device/line.ts";
import { type MemoryKind, Port } from "../../../../src/core/device/port.ts";
import type { Transfer } from "../../../../src/core/graph/route.ts";
import { bytesAt } from "../../bytes.ts";
import { check, command, made } from "./driver.ts";
import { fake, fakeAddress, fakeBytes } from "./library.ts";
import { FakeTensor } from "./tensor.ts";

/** The kinds of memory: what they say happens to bytes that cross. */
export const KINDS = {
  "fake.alias": undefined,
  "fake.migrate": "migrate",
  "fake.copy": "copy",
  "fake.pretend": undefined, // it copies: the conformance suite has to find that out
} as const satisfies Record<string, Transfer | undefined>;

/** The name of a kind of memory. */
export type FakeKind = keyof typeof KINDS;

/** True for memory that the host uses in place. */
export function isInPlace(kind: FakeKind): boolean {
  return kind === "fake.alias";
}

/** A copy for the host, which the core makes, counts and lends. */
const COPY: Offer = {
  kind: "host-pointer",
  transfer: "copy",
  stage(tensor, byteLength): Staged {
    const from = fakeAddress((tensor as FakeTensor).rawHandle) + BigInt(tensor.layout.byteOffset);
    const { handle, release, bring, takeBack } = staged(from, byteLength);
    const block = { kind: "fake.staged", byteLength, address: fakeAddress(handle), free: release };
    return { block, there: bring, back: () => takeBack(0)! };
  },
};

/** One kind of memory on one line. Memory of the fake crosses to another kind of the fake by its handle. */
export function memoryOf(kind: FakeKind, line: Line): Memory<FakeTensor, bigint> {
  const transfer = KINDS[kind];
  const offer = (port: MemoryKind): Offer => ({ kind: port, ...(transfer === undefined ? {} : { transfer }) });
  const aliases = isInPlace(kind);
  return {
    line,
    exports: [{ kind: "fake-memory" }, transfer === "copy" ? COPY : offer("host-pointer")],
    imports: [offer("fake-memory"), offer("host-pointer")],
    tensor: (init) => new FakeTensor(init),

    allocate(byteLength) {
      const handle = allocate(byteLength);
      return { handle, release: () => release(handle), ...(aliases ? { address: fakeAddress(handle) } : {}) };
    },

    export({ rawHandle, layout: { byteOffset } }, port, byteLength): Exported {
      if (port === "fake-memory") return { port: new Port(port, { value: rawHandle, offset: byteOffset, byteLength }) };
      const address = fakeAddress(rawHandle) + BigInt(byteOffset);
      if (aliases) return { port: new Port(port, { value: address, byteLength }) };
      const { handle, ...moved } = staged(address, byteLength);
      return { ...moved, port: new Port(port, { value: fakeAddress(handle), byteLength }) };
    },

    import({ kind: port, value, offset, byteLength }): Imported<bigint> {
      const address = port === "fake-memory" ? fakeAddress(value) + BigInt(offset) : value;
      if (!aliases) return staged(address, byteLength);
      const handle = made("fakeImport", (out) => fake.fakeImport(address, byteLength, out));
      return { handle, release: () => release(handle) };
    },
  };
}

/** Memory that stands for bytes elsewhere: they are brought there, and taken back. */
function staged(address: bigint, byteLength: number): Required<Pick<StepSide, "release" | "bring" | "takeBack">> & {
  readonly handle: bigint;
} {
  const handle = allocate(byteLength);
  const [own, theirs] = [fakeBytes(handle), bytesAt(address, byteLength)];
  return {
    handle,
    release: () => release(handle),
    bring: () => command(() => own.set(theirs), [handle]),
    takeBack: (step) => step === 0 ? command(() => theirs.set(own), [handle]) : undefined,
  };
}

function allocate(byteLength: number): bigint {
  return made("fakeAllocate", (out) => fake.fakeAllocate(byteLength, out));
}

function release(handle: bigint): void {
  check(fake.fakeRelease(handle), "fakeRelease");
}
