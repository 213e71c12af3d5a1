import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  type HostTensor,
  imageInfo,
  LayoutError,
  type Tensor,
} from "@samepage/interop";
import { type DLPackLoan, fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;
const HOST = { contexts: [host] } as const;

/** A row with a tensor of its own. */
function lending(use: (tensor: HostTensor<"f32">) => unknown, fails?: Failure): Row {
  return {
    async run() {
      await using tensor = host.allocate(MATRIX);
      await use(tensor);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

/** A row with a loan that it hands over to itself. */
function taking(use: (address: bigint, loan: DLPackLoan) => unknown, fails: Failure): Row {
  return lending((tensor) => {
    using loan = toDLPack(tensor, { access: "read" });
    use(loan.address, loan);
  }, fails);
}

const wrong = (argument: string, message: RegExp, hint?: RegExp, api = "dlpack"): Failure => (
  { error: ArgumentError, api, argument, message, ...(hint === undefined ? {} : { hint }) }
);
const unusable = (message: RegExp, hint: RegExp): Failure => ({ error: AccessError, api: "core", message, hint });
const gone = (message: RegExp): Failure => ({ error: DisposedError, api: "core", message });

export default table(import.meta, {
  "a typed array for a tensor": {
    run: () => toDLPack(any(new Uint8Array(4))),
    fails: wrong("tensor", /expected a tensor, got a Uint8Array/),
  },
  "a proxy of a tensor": lending(
    (tensor) => toDLPack(new Proxy(tensor, {})),
    wrong("tensor", /expected a tensor/),
  ),
  "a frame for a tensor": {
    run() {
      using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }));
      toDLPack(any<Tensor>(frame));
    },
    fails: wrong("tensor", /expected a tensor, got a Frame/),
  },
  "a tensor that was disposed": {
    run() {
      const tensor = host.allocate(MATRIX);
      tensor[Symbol.dispose]();
      toDLPack(tensor);
    },
    fails: gone(/was disposed/),
  },
  "an unknown option of a loan": lending(
    (tensor) => toDLPack(tensor, any({ device: 1 })),
    wrong("options", /unknown property device/, /access, stream, version/, "core"),
  ),
  "an access that is none": lending(
    (tensor) => toDLPack(tensor, { access: any("all") }),
    wrong("access", /expected "read"/, undefined, "core"),
  ),
  "memory for writing alone": lending(
    (tensor) => toDLPack(tensor, { access: "write" }),
    wrong("access", /DLPack has no memory for "write" alone/),
  ),
  "a version that is a text": lending(
    (tensor) => toDLPack(tensor, { version: any("1") }),
    wrong("version", /expected 0 or 1, got "1"/),
  ),
  "a version of DLPack that is not known": lending(
    (tensor) => toDLPack(tensor, { version: any(2) }),
    wrong("version", /expected 0 or 1, got 2/),
  ),
  "read-only memory without a flag for that": lending(
    (tensor) => toDLPack(tensor, { access: "read", version: 0 }),
    wrong("version", /cannot say that it may only be read/, /version 1/),
  ),
  "a struct that a tensor has already": lending(
    (tensor) => {
      const address = toDLPack(tensor).handOver();
      using _taken = fromDLPack(address, { contexts: [host] });
      fromDLPack(address, { contexts: [host] });
    },
    wrong("address", /a tensor has this struct already/, /Ask its producer/),
  ),
  "a stream of the host's": lending(
    (tensor) => toDLPack(tensor, { stream: 1 }),
    wrong("stream", /host has no streams/, /Leave it out/),
  ),
  "half a stream": lending(
    (tensor) => toDLPack(tensor, { stream: 1.5 }),
    wrong("stream", /expected a whole number, got 1\.5/),
  ),
  "writing what may be read": lending((tensor) => {
    using part = tensor.borrow("read");
    toDLPack(part, { access: "read-write" });
  }, {
    ...unusable(/was lent for "read" and cannot be used for "read-write"/, /read-write/),
    argument: "access",
  }),
  "a view of what is lent": lending((tensor) => {
    using _loan = toDLPack(tensor);
    tensor.view();
  }, unusable(/are lent to its DLPack loan/, /Dispose that first/)),
  "a loan of what is lent": lending((tensor) => {
    using _loan = toDLPack(tensor);
    toDLPack(tensor);
  }, unusable(/are lent to its DLPack loan/, /Dispose that first/)),
  "a view of what a consumer has": lending((tensor) => {
    using _same = fromDLPack(toDLPack(tensor).handOver(), HOST);
    tensor.view();
  }, unusable(/are lent to host tensor \[2,3\] f32/, /Dispose host tensor \[2,3\] f32 first/)),
  "handing a loan over twice": lending((tensor) => {
    const loan = toDLPack(tensor, { access: "read" });
    using _same = fromDLPack(loan.handOver(), HOST);
    loan.handOver();
  }, { ...gone(/DLPack loan of host tensor \[2,3\] f32 was handed over/), hint: /Use it before that/ }),
  "taking back a loan that a tensor has": lending((tensor) => {
    const loan = toDLPack(tensor);
    using _same = fromDLPack(loan.handOver(), HOST);
    loan.takeBack();
  }, {
    ...unusable(/cannot be taken back: fromDLPack\(\) has made a tensor of it/, /Dispose that tensor/),
    ...{ api: "dlpack", fn: "takeBack" },
  }),
  "the address of a loan that was disposed": {
    says: ["true", "DLPack loan of host tensor [2,3] f32 (released)"],
    ...lending((tensor) => {
      const loan = toDLPack(tensor);
      loan[Symbol.dispose]();
      loan[Symbol.dispose]();
      say(loan.isReleased);
      say(loan.toString());
      say(loan.address);
    }, gone(/was disposed/)),
  },
  "a number for an address": {
    run: () => fromDLPack(any(5), HOST),
    fails: wrong("address", /expected a bigint, got a number/),
  },
  "null for an address": { run: () => fromDLPack(0n, HOST), fails: wrong("address", /expected a handle, got null/) },
  "an address below zero": { run: () => fromDLPack(-1n, HOST), fails: wrong("address", /expected a handle, got -1/) },
  "an address where nothing is": {
    run: () => fromDLPack(0x10n, HOST),
    fails: { ...wrong("address", /cannot be read/, /still there/), fn: "process_vm_readv" },
  },
  "bytes that are not a struct": {
    run() {
      using zeros = host.allocate({ shape: [4096], dtype: "u8" });
      fromDLPack(zeros.address, HOST);
    },
    fails: wrong("address", /expected DLPack 1, got version 0\.0/, /version: 0/),
  },
  "no options": {
    run: () => fromDLPack(1n, any(undefined)),
    fails: wrong("options", /expected an object/, undefined, "core"),
  },
  "no contexts": {
    run: () => fromDLPack(1n, any({})),
    fails: wrong("contexts", /expected an array of contexts, got undefined/),
  },
  "contexts of no API that the memory is of": taking(
    (address) => fromDLPack(address, { contexts: [] }),
    wrong("contexts", /the memory is of kDLCPU/, /host/),
  ),
  "an API's name for a context": taking(
    (address) => fromDLPack(address, { contexts: any(["host"]) }),
    wrong("contexts", /expected an open context, got a string/, /host/),
  ),
  "nothing for a context": taking(
    (address) => fromDLPack(address, { contexts: any([undefined, null]) }),
    wrong("contexts", /expected an open context, got undefined/, /host/),
  ),
  "a promise to wait for": taking(
    (address) => fromDLPack(address, { ...HOST, after: any(Promise.resolve()) }),
    wrong("after", /expected a fence/, /host\.signal/, "core"),
  ),
  "writing memory that a producer lets be read": taking(
    (address) => fromDLPack(address, { ...HOST, access: "read-write" }),
    { error: AccessError, api: "dlpack", argument: "access", message: /allows reading only/, hint: /"read"/ },
  ),
  "a DLManagedTensorVersioned as an older struct": taking(
    (address) => fromDLPack(address, { ...HOST, version: 0 }),
    { error: LayoutError, api: "dlpack", argument: "dtype", message: /dtype/, hint: /whole numbers/ },
  ),
});
