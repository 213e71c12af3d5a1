/**
 * A complete backend for memory without commands: files of /dev/shm, mapped. It has no device and no queue. Read it from the
 * top: the line, the ports, the tensor, the context.
 *
 * @module
 */
import { type Address, NULL } from "../../../../ffi/address.ts";
import { F_DUPFD_CLOEXEC, O_CLOEXEC, O_RDONLY, O_RDWR } from "../../../../ffi/libc/constants.ts";
import { Checks } from "../../../../src/core/checks.ts";
import type { Call, Driver, Memory, MemoryTarget } from "../../../../src/core/contract.ts";
import { Line } from "../../../../src/core/device/line.ts";
import { Port } from "../../../../src/core/device/port.ts";
import { NativeCallError } from "../../../../src/core/errors.ts";
import { DeviceContext } from "../../../../src/core/graph/device_context.ts";
import type { ImageInfo } from "../../../../src/core/layout/frame_info.ts";
import { type Layout, layout, type LayoutInit } from "../../../../src/core/layout/layout.ts";
import { owned } from "../../../../src/core/life/ledger.ts";
import { allOrNothing, type Undo, undoAll } from "../../../../src/core/life/undo.ts";
import { closeFd, statusOf } from "../../../../src/core/native/fd.ts";
import { libc, libcError } from "../../../../src/core/native/libc.ts";
import { mapPages, unmapPages } from "../../../../src/core/native/blocks.ts";
import { cString } from "../../../../src/core/native/text.ts";
import { adoptTensor, attaching, type AttachOptions } from "../../../../src/core/tensors/adopt.ts";
import type { Frame } from "../../../../src/core/tensors/frame.ts";
import type { Mapped } from "../../../../src/core/tensors/mapped.ts";
import { allocateFrame, allocateTensor } from "../../../../src/core/tensors/over.ts";
import { PointerTensor } from "../../../../src/core/tensors/pointer.ts";
import { bytesAt } from "../../bytes.ts";

/** Where its files are. */
export const FOLDER = "/dev/shm";

/** How the names of its files begin. */
export const PREFIX = `samepage-shm-${Deno.pid}-`;

const NEW = O_RDWR | O_CLOEXEC | 0o300; // O_CREAT | O_EXCL
const MODE = 0o600;
let files = 0;

/** A line whose commands are over as soon as they are submitted: its lane is the newest of them. */
interface Lane {
  newest: number;
}

const checks = new Checks("shm");

const driver: Driver<Lane> = {
  api: "shm",
  error: (code, fn) => new NativeCallError(`${fn} failed with ${code}.`, { api: "shm", fn, code }),
  lines: {
    close() {},
    submitted: (lane, mark) => void (lane.newest = mark),
    poll: ({ newest }) => newest,
    block() {},
    async waitElsewhere() {},
  },
};

/** A command, which is over when it returns. */
function command(work: () => void): Call<Lane> {
  return {
    fn: "work",
    blocks: true,
    call() {
      work();
      return 0;
    },
  };
}

/** What the memory gives to others and takes from them: a host pointer, in place. */
function memoryOf(line: Line<Lane>): Memory<ShmTensor, Address> {
  return {
    line,
    exports: [{ kind: "host-pointer" }],
    imports: [{ kind: "host-pointer" }],
    tensor: (init) => new ShmTensor(init),
    allocate: (byteLength) => allocated(byteLength),
    export: (tensor, kind, byteLength) => ({ port: new Port(kind, { value: tensor.address, byteLength }) }),
    import: ({ value }) => ({ handle: value as Address }),
  };
}

/** A file of its own, mapped. Each object is on the undo list the moment it exists, so a failure releases what was made. */
function allocated(byteLength: number) {
  return allOrNothing("allocating", (undo) => {
    const path = cString(`${FOLDER}/${PREFIX}${files++}`);
    const fd = libc().open(path, NEW, MODE);
    if (fd < 0) throw libcError("open");
    owned("shm.file", undo, () => {
      if (libc().unlink(path) !== 0) throw libcError("unlink");
    });
    owned("shm.fd", undo, () => closeFd(fd));
    if (libc().ftruncate(fd, BigInt(byteLength)) !== 0) throw libcError("ftruncate");
    const handle = mapPages(NULL, byteLength, fd);
    owned("shm.map", undo, () => unmapPages(handle, byteLength));
    return { handle, address: handle, release: () => undoAll(undo, "giving memory back") };
  });
}

/** A tensor in its memory; its handle is an address, where the CPU sees it too. */
export class ShmTensor extends PointerTensor {
  /** Its context. */
  declare readonly target: ShmContext;

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
}

/** What users open: the folder. It has one kind of memory, and is that target itself. */
export class ShmContext extends DeviceContext implements MemoryTarget<ShmTensor> {
  override readonly api = "shm";
  readonly kind = "shm";
  readonly context = this;
  override readonly targets = [this];
  readonly line: Line<Lane>;
  readonly ports: Memory<ShmTensor, Address>;

  constructor() {
    super("shm", { name: "shm", id: {} }, opened());
    this.line = new Line<Lane>({ driver, name: "shm", owners: [this.resource], open: () => ({ newest: 0 }) });
    this.ports = memoryOf(this.line);
    this.opened(); // from now on a warning says if it was never disposed
  }

  /** True for a tensor that lives here. */
  is(value: Mapped): value is ShmTensor {
    return value.target === this;
  }

  /** Zeroed memory. */
  allocate(init: LayoutInit): ShmTensor {
    return allocateTensor(this, init);
  }

  /** One block for all planes. */
  allocateFrame(info: ImageInfo): Frame<ShmTensor> {
    return allocateFrame(this, info);
  }

  /** Takes the file of an fd, which stays the caller's. Two tensors over one file are peers. */
  attach(fd: number, init: LayoutInit, options: AttachOptions = {}): ShmTensor {
    return attaching(options, (access) => {
      const at = layout(init);
      this.resource.assertLive();
      const { address, byteLength, identity, undo } = mappedFile(fd, at);
      const owner = { kind: "file", handle: identity, release: () => undoAll(undo, "giving a file back") };
      const plane = { handle: address, layout: at, block: { kind: "shm.attached", byteLength, address } };
      return adoptTensor(this, owner, plane, { name: "attached shared memory", access });
    });
  }
}

/** A file of other code's, mapped, under a duplicate of its fd. */
function mappedFile(fd: number, at: Layout) {
  return allOrNothing("attaching", (undo) => {
    const kept = libc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (kept < 0) throw libcError("fcntl");
    owned("shm.fd", undo, () => closeFd(kept));
    const { identity, byteLength: size } = statusOf(kept);
    const byteLength = Number(size);
    checks.assertWithin(at, byteLength, "init");
    const address = mapPages(NULL, byteLength, kept);
    owned("shm.map", undo, () => unmapPages(address, byteLength));
    return { address, byteLength, identity, undo };
  });
}

/** Opens the folder. What is on the undo list ends with the context. */
function opened(): Undo {
  return allOrNothing("opening a folder", (undo) => {
    const fd = libc().open(cString(FOLDER), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) throw libcError("open");
    owned("shm.folder", undo, () => closeFd(fd));
    statusOf(fd);
    return undo;
  });
}
