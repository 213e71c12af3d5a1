/**
 * The smallest backend that there can be, and what is wrong with it: memory alone, in files of /dev/shm, without a device and
 * without a queue. With a fault in it, it is one that the suite has to reject.
 *
 * @module
 */
import { type Address, NULL } from "../../../ffi/address.ts";
import { F_DUPFD_CLOEXEC, O_CLOEXEC, O_RDONLY, O_RDWR } from "../../../ffi/libc/constants.ts";
import type { Call, Driver } from "../../../src/core/device/driver.ts";
import { Line } from "../../../src/core/device/line.ts";
import type { Memory, MemoryTarget } from "../../../src/core/device/memory.ts";
import { Port } from "../../../src/core/device/port.ts";
import { NativeCallError } from "../../../src/core/errors.ts";
import { DeviceContext } from "../../../src/core/graph/device_context.ts";
import type { ImageInfo } from "../../../src/core/layout/frame_info.ts";
import { layout, type LayoutInit } from "../../../src/core/layout/layout.ts";
import { owned } from "../../../src/core/life/ledger.ts";
import { allOrNothing, type Undo, undoAll } from "../../../src/core/life/undo.ts";
import { Allocation } from "../../../src/core/memory/allocation.ts";
import { own } from "../../../src/core/memory/own.ts";
import { closeFd, statusOf } from "../../../src/core/native/fd.ts";
import { libc, libcError } from "../../../src/core/native/libc.ts";
import { mapPages, unmapPages } from "../../../src/core/native/pages.ts";
import { cString } from "../../../src/core/native/text.ts";
import type { Frame } from "../../../src/core/tensors/frame.ts";
import type { Mapped } from "../../../src/core/tensors/mapped.ts";
import { allocateFrame, allocateTensor, tensorOver } from "../../../src/core/tensors/over.ts";
import { type Part, Tensor } from "../../../src/core/tensors/tensor.ts";
import { bytesAt } from "../bytes.ts";

/** Where its files are. */
export const FOLDER = "/dev/shm";

/** How the names of its files begin. */
export const PREFIX = `samepage-small-${Deno.pid}-`;

/** What is wrong with it. */
export type Fault =
  | "never unmaps"
  | "never unlinks"
  | "never closes an fd"
  | "does not look at what ftruncate returns"
  | "forgets what it has made where a later step fails"
  | "never unmaps what it has wrapped"
  | "keeps the fd of a wrap that fails"
  | "keeps the fd of an opening that fails"
  | "has no hostAddress"
  | "has another address for what it maps";

const NEW = O_RDWR | O_CLOEXEC | 0o300; // O_CREAT | O_EXCL
const MODE = 0o600;
let files = 0;

/** The lane of a line whose commands are over as soon as they are submitted. */
interface Lane {
  newest: number;
}

const driver: Driver<Lane> = {
  api: "small",
  error: (code, fn) => new NativeCallError(`${fn} failed with ${code}.`, { api: "small", fn, code }),
  lines: {
    close() {},
    submitted: (lane, mark) => void (lane.newest = mark),
    poll: ({ newest }) => newest,
    block() {},
    async waitElsewhere() {},
  },
};

/** A command, which is over when it returns. */
export function command(work: () => void): Call<Lane> {
  return {
    fn: "work",
    blocks: true,
    call() {
      work();
      return 0;
    },
  };
}

/** A tensor in its memory; its handle is an address. */
export class SmallTensor extends Tensor<Address> {
  /** Its context. */
  declare readonly target: SmallContext;

  /** The address of its first element. */
  get address(): bigint {
    return this.rawHandle + BigInt(this.layout.byteOffset);
  }

  protected override get hostAddress(): bigint | undefined {
    return this.target.fault === "has no hostAddress" ? undefined : this.address;
  }

  /** Writes all of its bytes. */
  write(bytes: Uint8Array): void {
    this.#submit("write", (own) => own.set(bytes));
  }

  /** Reads them. */
  read(): Uint8Array {
    let bytes = new Uint8Array();
    this.#submit("read", (own) => bytes = own.slice());
    return bytes;
  }

  #submit(access: "read" | "write", work: (bytes: Uint8Array) => void): void {
    const { address, layout: { byteLength } } = this;
    const call = command(() => work(bytesAt(address, byteLength)));
    this.target.line.submit([{ tensor: this, access, argument: "tensor" }], call);
  }

  protected derive(part: Part): SmallTensor {
    return new SmallTensor(this.initOf(part));
  }
}

/** What users open: a folder. */
export class SmallContext extends DeviceContext implements MemoryTarget<SmallTensor> {
  override readonly api = "small";
  readonly kind = "small";
  readonly context = this;
  override readonly targets = [this];
  readonly line: Line<Lane>;
  readonly ports: Memory<SmallTensor, Address>;
  /** What is wrong with it. */
  readonly fault: Fault | undefined;

  constructor(fault?: Fault) {
    super("small", { name: "small", id: {} }, opened(fault));
    this.fault = fault;
    this.line = new Line<Lane>({ driver, name: "small", owners: [this.resource], open: () => ({ newest: 0 }) });
    this.ports = memoryOf(this.line, fault);
    this.opened();
  }

  is(value: Mapped): value is SmallTensor {
    return value.target === this;
  }

  allocate(init: LayoutInit): SmallTensor {
    return allocateTensor(this, init);
  }

  allocateFrame(info: ImageInfo): Frame<SmallTensor> {
    return allocateFrame(this, info);
  }

  /** Takes over the memory of a file, by an fd that stays the caller's. */
  wrap(fd: number, init: LayoutInit): SmallTensor {
    const at = layout(init);
    this.resource.assertLive();
    const { fault } = this;
    const undo: Undo = [];
    const kept = libc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (kept < 0) throw libcError("fcntl");
    const keeps = fault === "keeps the fd of a wrap that fails";
    if (!keeps) owned("small.fd", undo, () => closeFd(kept));
    const address = allOrNothing("wrapping", (undo) => {
      const address = mapPages(NULL, at.byteLength, kept);
      owned(
        "small.map",
        undo,
        () => fault === "never unmaps what it has wrapped" || unmapPages(address, at.byteLength),
      );
      return address;
    }, undo);
    if (keeps) owned("small.fd", undo, () => closeFd(kept));
    const free = () => undoAll(undo, "giving wrapped memory back");
    const allocation = new Allocation({ kind: "small.wrapped", byteLength: at.byteLength, address, free });
    const resource = own({ name: "wrapped small memory", allocation, owners: [this.resource] });
    return tensorOver(this, { handle: address, layouts: [at], resource }) as SmallTensor;
  }
}

/** Opens the folder. */
function opened(fault: Fault | undefined): Undo {
  const undo: Undo = [];
  const fd = libc().open(cString(FOLDER), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) throw libcError("open");
  owned("small.folder", undo, () => closeFd(fd));
  return allOrNothing("opening a folder", () => {
    statusOf(fd);
    return undo;
  }, fault === "keeps the fd of an opening that fails" ? [] : undo);
}

function memoryOf(line: Line<Lane>, fault: Fault | undefined): Memory<SmallTensor, Address> {
  return {
    line,
    exports: [{ kind: "host-pointer" }],
    imports: [{ kind: "host-pointer" }],
    tensor: (init) => new SmallTensor(init),
    allocate: (byteLength) => allocated(byteLength, fault),
    export: (tensor, kind, byteLength) => ({ port: new Port(kind, { value: tensor.address, byteLength }) }),
    import: ({ value, byteLength }) => {
      if (fault !== "has another address for what it maps") return { handle: value as Address };
      const { handle, release } = allocated(byteLength, undefined);
      const [own, theirs] = [bytesAt(handle, byteLength), bytesAt(value, byteLength)];
      const takeBack = (step: number) => step === 0 ? command(() => theirs.set(own)) : undefined;
      return { handle, release, bring: () => command(() => own.set(theirs)), takeBack };
    },
  };
}

/** A file of its own, mapped. */
function allocated(byteLength: number, fault: Fault | undefined) {
  const make = (undo: Undo) => {
    const path = cString(`${FOLDER}/${PREFIX}${files++}`);
    const fd = libc().open(path, NEW, MODE);
    if (fd < 0) throw libcError("open");
    owned("small.file", undo, () => {
      if (fault !== "never unlinks" && libc().unlink(path) !== 0) throw libcError("unlink");
    });
    owned("small.fd", undo, () => fault === "never closes an fd" || closeFd(fd));
    const isSized = libc().ftruncate(fd, BigInt(byteLength)) === 0;
    if (!isSized && fault !== "does not look at what ftruncate returns") throw libcError("ftruncate");
    const handle = mapPages(NULL, byteLength, fd);
    owned("small.map", undo, () => fault === "never unmaps" || unmapPages(handle, byteLength));
    return { handle, address: handle, release: () => undoAll(undo, "giving memory back") };
  };
  return fault === "forgets what it has made where a later step fails" ? make([]) : allOrNothing("allocating", make);
}
